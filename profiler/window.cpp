#include <algorithm>
#include <atomic>
#include <utility>

#include <ingot/profiler/decode.h>
#include <ingot/profiler/window.h>

namespace ingot::profiler {

Window::Window(RawWindow raw, std::vector<StepMark> steps, int step_tid, const ObserverCost& cost,
               bool with_modules)
    : raw_(std::move(raw)),
      steps_(std::move(steps)),
      step_tid_(step_tid),
      cost_(cost),
      with_modules_(with_modules) {}

const Timeline& Window::timeline() const {
  std::call_once(built_, [this] { build(); });
  return timeline_;
}

void Window::build() const {
  static std::atomic<std::uint64_t> next_id{1};
  Timeline t = decode(raw_, {.modules = with_modules_});
  std::int64_t last = 0;
  for (const StepMark& mark : steps_) {
    StepTime step{mark.number, raw_.clock.ns(mark.begin), raw_.clock.ns(mark.end)};
    step.begin = std::max(step.begin, last);
    step.end = last = std::max(step.end, step.begin);
    t.steps.push_back(step);
  }
  t.event_cost_ns = cost_.event_ns;
  t.empty_event_ns = cost_.inside_ns;
  finish(t, step_tid_);
  std::uint64_t slices = 0;
  for (const Lane& lane : t.lanes) slices += lane.slices.size() + lane.across.size();
  t.first_id = next_id.fetch_add(slices);
  timeline_ = std::move(t);
  raw_ = {};
}

Roofline Window::roofline(const Options& options) const {
  if (options.roofline) return *options.roofline;
  for (const Lane& lane : timeline().lanes) {
    for (const Slice& s : lane.slices) {
      if (s.has_cost) return measured_roofline();
    }
  }
  return {};
}

}  // namespace ingot::profiler
