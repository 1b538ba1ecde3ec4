#include <algorithm>
#include <atomic>
#include <utility>

#include <ingot/profiler/attach_gpu.h>
#include <ingot/profiler/gpu_observer.h>
#include <ingot/profiler/window.h>

namespace ingot::profiler {
namespace {

// Ids of slices, unlike those of any other window.
std::uint64_t take_ids(std::uint64_t n) {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(n);
}

std::vector<StepTime> step_times(const std::vector<StepMark>& marks, const TickMap& clock) {
  std::vector<StepTime> steps;
  std::int64_t last = 0;
  for (const StepMark& mark : marks) {
    StepTime step{mark.number, clock.ns(mark.begin), clock.ns(mark.end)};
    step.begin = std::max(step.begin, last);
    step.end = last = std::max(step.end, step.begin);
    steps.push_back(step);
  }
  return steps;
}

std::uint64_t all_slices(const LaneSource& source) {
  std::uint64_t n = 0;
  for (std::size_t lane = 0; lane < source.outline().lanes.size(); ++lane) {
    n += source.slices(lane) + source.beside(lane);
  }
  return n;
}

}  // namespace

Window::Window(RawWindow raw, GpuRecords gpu, std::vector<StepMark> steps, int step_tid,
               const ObserverCost& cost, bool with_modules)
    : raw_(std::move(raw)),
      gpu_(std::move(gpu)),
      steps_(std::move(steps)),
      step_tid_(step_tid),
      cost_(cost),
      decoding_{.modules = with_modules},
      has_gpu_(!gpu_.source.empty()),
      empty_(steps_.empty() && raw_.threads.empty() && raw_.dropped == 0 && gpu_.work.empty()) {}

std::shared_ptr<const Window::Records> Window::records() const {
  const std::lock_guard lock(records_mutex_);
  return records_;
}

std::shared_ptr<const Window::Records> Window::link() const {
  std::call_once(linked_, [this] {
    auto made = std::make_shared<Records>();
    made->linked = link_ends(std::move(raw_));
    Timeline& t = made->outline;
    t = outline(made->linked);
    t.steps = step_times(steps_, made->linked.raw.clock);
    t.event_cost_ns = cost_.event_ns;
    t.empty_event_ns = cost_.inside_ns;
    if (!has_gpu_) {
      place_steps(t, made->linked, decoding_, step_tid_);
      t.first_id = take_ids(all_slices(RecordSource(made->linked, t, decoding_)));
    }
    const std::lock_guard lock(records_mutex_);
    records_ = std::move(made);
  });
  return records();
}

const Timeline& Window::timeline() const {
  std::call_once(built_, [this] { build(); });
  return timeline_;
}

void Window::build() const {
  const std::shared_ptr<const Records> records = link();
  const LinkedWindow& linked = records->linked;
  Timeline t = decode(linked, decoding_);
  t.steps = records->outline.steps;
  t.event_cost_ns = cost_.event_ns;
  t.empty_event_ns = cost_.inside_ns;
  if (has_gpu_) attach_gpu(t, std::move(gpu_), linked.raw.clock, linked.raw.number);
  finish(t, step_tid_);
  t.first_id = has_gpu_ ? take_ids(all_slices(TimelineSource(t))) : records->outline.first_id;
  timeline_ = std::move(t);
  gpu_ = {};
  const std::lock_guard lock(records_mutex_);
  records_ = nullptr;
}

void Window::read(const std::function<void(const LaneSource&)>& f) const {
  const std::shared_ptr<const Records> records = has_gpu_ ? nullptr : link();
  if (records == nullptr) return f(TimelineSource(timeline()));
  f(RecordSource(records->linked, records->outline, decoding_));
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
