// A finished window and what is computed from it, once, when first asked for.
// Owns: the records until the timeline exists, then the timeline. Const functions may be called
// from several threads. Must not know: sessions, schedules.
#pragma once

#include <mutex>
#include <vector>

#include <ingot/profiler/gpu_records.h>
#include <ingot/profiler/profiler.h>
#include <ingot/profiler/recorder.h>
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

  const Timeline& timeline() const;
  // The given one, or that of the CPU or GPU; found only when the cost of some kernel is known.
  Roofline roofline(const Options& options) const;

 private:
  void build() const;

  mutable RawWindow raw_;
  mutable GpuRecords gpu_;
  std::vector<StepMark> steps_;
  int step_tid_;
  ObserverCost cost_;
  bool with_modules_;
  mutable std::once_flag built_;
  mutable Timeline timeline_;
};

}  // namespace ingot::profiler
