// Timelines with times chosen by hand, so that every figure computed from them is known exactly.
// Owns: FakeLane. Times are in microseconds.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <ingot/profiler/timeline.h>

namespace ingot::profiler {

inline std::int64_t from_us(double us) { return static_cast<std::int64_t>(us * 1e3 + 0.5); }

class FakeLane {
 public:
  explicit FakeLane(int tid = 1) {
    lane_.tid = tid;
    lane_.number = tid;
    lane_.name = "fake";
  }

  double now() const { return now_; }
  FakeLane& wait(double us) {
    now_ += us;
    return *this;
  }

  // What `inside` adds happens within the slice.
  template <class F>
  FakeLane& slice(SliceKind kind, std::string_view name, F&& inside, const OpInfo* op = nullptr) {
    std::size_t index = lane_.slices.size();
    Slice s;
    s.kind = kind;
    s.name = name;
    s.op = op;
    s.begin = from_us(now_);
    s.depth = depth_++;
    lane_.slices.push_back(s);
    inside();
    lane_.slices[index].end = from_us(now_);
    --depth_;
    return *this;
  }
  FakeLane& kernel(std::string_view name, double us, Cost cost = {}, const OpInfo* op = nullptr) {
    slice(
        SliceKind::kernel, name, [&] { wait(us); }, op);
    lane_.slices.back().has_cost = cost.flops + cost.bytes + cost.transcendentals > 0;
    lane_.slices.back().cost = cost;
    return *this;
  }
  // host_us of host work, then the kernel body.
  FakeLane& op(const OpInfo& info, double host_us, double kernel_us, Cost cost = {}) {
    return slice(
        SliceKind::op, info.name,
        [&] {
          wait(host_us);
          kernel(info.name, kernel_us, cost, &info);
        },
        &info);
  }

  Lane take() { return std::move(lane_); }
  Lane& lane() { return lane_; }

 private:
  Lane lane_;
  double now_ = 0;
  int depth_ = 0;
};

inline Timeline timeline_of(std::vector<Lane> lanes, std::vector<StepTime> steps = {},
                            int step_tid = 1) {
  Timeline t;
  t.texts = std::make_shared<std::deque<std::string>>();
  t.lanes = std::move(lanes);
  t.steps = std::move(steps);
  for (const Lane& lane : t.lanes) {
    for (const Slice& s : lane.slices) {
      t.end = std::max(t.end, s.end);
      ++t.events;
    }
  }
  for (const StepTime& s : t.steps) t.end = std::max(t.end, s.end);
  finish(t, step_tid);
  return t;
}

}  // namespace ingot::profiler
