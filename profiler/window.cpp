#include <algorithm>
#include <atomic>
#include <utility>

#include <ingot/profiler/attach_gpu.h>
#include <ingot/profiler/decode.h>
#include <ingot/profiler/gpu_observer.h>
#include <ingot/profiler/window.h>

namespace ingot::profiler {

Window::Window(RawWindow raw, GpuRecords gpu, std::vector<StepMark> steps, int step_tid,
               const ObserverCost& cost, bool with_modules)
    : raw_(std::move(raw)),
      gpu_(std::move(gpu)),
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
  if (!gpu_.source.empty()) attach_gpu(t, std::move(gpu_), raw_.clock, raw_.number);
  finish(t, step_tid_);
  std::uint64_t slices = 0;
  for (const Lane& lane : t.lanes) slices += lane.slices.size() + lane.across.size();
  t.first_id = next_id.fetch_add(slices);
  timeline_ = std::move(t);
  raw_ = {};
  gpu_ = {};
}

Roofline Window::roofline(const Options& options) const {
  if (options.roofline) return *options.roofline;
  const bool on_gpu = timeline().on_gpu();
  if (on_gpu && !timeline().graphs.empty()) return gpu_roofline();
  for (const Lane& lane : timeline().lanes) {
    for (const Slice& s : lane.slices) {
      if (s.has_cost) return on_gpu ? gpu_roofline() : measured_roofline();
    }
  }
  return {};
}

}  // namespace ingot::profiler
