// A GPU's records with times chosen by hand, as an observer would deliver them.
// Owns: FakeGpu, which keeps the host's lane and the GPU's records in step; the GPU's clock may be
// ahead and run at another rate. Times are in microseconds.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <ingot/profiler/attach_gpu.h>
#include <ingot/profiler/record.h>

#include "fake_timeline.h"

namespace ingot::profiler {

inline constexpr std::uint64_t kFakeWindow = 5;

class FakeGpu {
 public:
  explicit FakeGpu(int tid = 1) : host_(tid), tid_(tid) { records_.source = "fake"; }

  // observer time = offset + rate * host time.
  FakeGpu& clock(double offset_us, double rate) {
    offset_ = offset_us;
    rate_ = rate;
    return *this;
  }

  FakeLane& host() { return host_; }
  GpuRecords& records() { return records_; }

  // An op whose one kernel is launched by an API call of call_us and runs from start to start + us.
  FakeGpu& op(const OpInfo& info, double start, double us, Cost cost = {}, double call_us = 3,
              int stream = 7) {
    host_.slice(
        SliceKind::op, info.name,
        [&] {
          host_.wait(1);
          launch(info.name, start, us, cost, call_us, stream, &info);
        },
        &info);
    return *this;
  }

  FakeGpu& launch(std::string_view name, double start, double us, Cost cost = {},
                  double call_us = 3, int stream = 7, const OpInfo* op = nullptr,
                  std::string_view fused_from = {}) {
    const std::uint64_t id = launch_id(kFakeWindow, tid_, event_);
    host_.slice(
        SliceKind::launch, name,
        [&] {
          Slice& s = host_.lane().slices.back();
          s.event = event_++;
          s.gpu = 0;
          s.fused_from = fused_from;
          s.has_cost = cost.flops + cost.bytes + cost.transcendentals > 0;
          s.cost = cost;
          call("cudaLaunchKernelExC", call_us, id);
          work(start, us, stream).name = "void kernel<float>(float*)";
        },
        op);
    return *this;
  }

  // The launch of a CUDA graph whose nodes run one after the other from `start`; they carry the ids
  // that were given, in order.
  FakeGpu& graph(std::uint64_t graph, double start, const std::vector<double>& node_us,
                 double call_us = 2) {
    const std::uint64_t id = launch_id(kFakeWindow, tid_, event_);
    host_.slice(SliceKind::launch, "cuda_graph", [&] {
      Slice& s = host_.lane().slices.back();
      s.event = event_++;
      s.gpu = 0;
      s.graph = graph;
      call("cudaGraphLaunch", call_us, id);
      double at = start;
      std::uint64_t node = 1;
      for (double us : node_us) {
        GpuWork& w = work(at, us, 7);
        w.name = "node_kernel";
        w.graph_node = (graph + 100) << 32 | node++;
        at += us;
      }
    });
    return *this;
  }

  // An API call that launches nothing, or something outside of all ops.
  FakeGpu& call(std::string_view name, double us, std::uint64_t link = 0) {
    ApiCall c;
    c.name = name;
    c.begin = to_observer(host_.now() + 0.2);
    host_.wait(us);
    c.end = to_observer(host_.now() - 0.1);
    c.correlation = ++correlation_;
    c.tid = tid_;
    records_.calls.push_back(c);
    if (link != 0) records_.links.push_back({c.correlation, link});
    return *this;
  }

  // Of the last API call.
  GpuWork& work(double start, double us, int stream) {
    GpuWork& w = records_.work.emplace_back();
    w.begin = to_observer(start);
    w.end = to_observer(start + us);
    w.stream = stream;
    w.correlation = correlation_;
    return w;
  }

  Timeline take(std::vector<StepTime> steps = {}, GraphOps graphs = {}) {
    Timeline t;
    t.texts = std::make_shared<std::deque<std::string>>();
    const double end = host_.now() + 100;
    t.lanes.push_back(host_.take());
    t.steps = std::move(steps);
    t.graphs = std::move(graphs);
    for (const Slice& s : t.lanes[0].slices) {
      t.end = std::max(t.end, s.end);
      ++t.events;
    }
    for (const StepTime& s : t.steps) t.end = std::max(t.end, s.end);
    records_.first = {0, to_observer(0), 60};
    records_.last = {static_cast<std::uint64_t>(from_us(end)), to_observer(end), 70};
    attach_gpu(t, std::move(records_), TickMap(), kFakeWindow);
    finish(t, tid_);
    return t;
  }

 private:
  std::int64_t to_observer(double us) const { return from_us(offset_ + rate_ * us); }

  FakeLane host_;
  GpuRecords records_;
  int tid_;
  double offset_ = 0, rate_ = 1;
  std::uint32_t event_ = 0, correlation_ = 0;
};

}  // namespace ingot::profiler
