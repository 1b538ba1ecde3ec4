// A finished window and what is computed from it, once, when first asked for.
// Owns: the records until the timeline exists, then the timeline. Const functions may be called
// from several threads. Must not know: sessions, schedules.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include <ingot/profiler/gpu_records.h>
#include <ingot/profiler/lane_source.h>
#include <ingot/profiler/profiler.h>
#include <ingot/profiler/timeline.h>

namespace ingot::profiler {

struct StepMark {
  std::int64_t number = 0;
  std::uint64_t begin = 0, end = 0;  // ticks
};

class Window {
 public:
  Window(RawWindow raw, GpuRecords gpu, std::vector<StepMark> steps, int step_tid,
         const ObserverCost& cost, bool with_modules);

  bool empty() const { return empty_; }  // neither a step nor an event
  // Takes several times the memory of the records, whose place it takes.
  const Timeline& timeline() const;
  // Gives f the lanes one after the other. While there is no timeline, it takes no memory: only a
  // GPU's work is attributed in one.
  void read(const std::function<void(const LaneSource&)>& f) const;
  // The given one, or that of the CPU or GPU; found only when the cost of some kernel is known.
  Roofline roofline(const Options& options) const;

 private:
  struct Records {
    LinkedWindow linked;
    Timeline outline;
  };
  std::shared_ptr<const Records> records() const;  // null once there is a timeline
  std::shared_ptr<const Records> link() const;
  void build() const;

  mutable RawWindow raw_;
  mutable GpuRecords gpu_;
  std::vector<StepMark> steps_;
  int step_tid_;
  ObserverCost cost_;
  DecodeOptions decoding_;
  bool has_gpu_, empty_;
  mutable std::once_flag linked_, built_;
  mutable std::mutex records_mutex_;  // of `records_`; a reader keeps what it found
  mutable std::shared_ptr<const Records> records_;
  mutable Timeline timeline_;
};

}  // namespace ingot::profiler
