// A timeline in the trace-event format, with the fields that PyTorch's profiler (Kineto) writes, so
// that its readers work: Perfetto, chrome://tracing, speedscope, HTA.
// Owns: names of fields and categories. Must not know: how events were recorded.
#pragma once

#include <string>

#include <ingot/profiler/lane_source.h>

namespace ingot::profiler {

struct TraceInfo {
  std::string process = "ingot";  // its name
  int pid = 0;
  bool record_shapes = false, profile_memory = false, with_stack = false, with_flops = false,
       with_modules = false;
};

// Categories: cpu_op, user_annotation (ranges, modules, steps), cpu_kernel (kernel bodies),
// compile, replay, setup, overhead, cpu_instant_event (memory). Of a GPU: launch (a kernel's event
// on the host), cuda_runtime and cuda_driver (API calls), and on a lane per device and stream
// kernel, gpu_memcpy, gpu_memset, cuda_sync, with a flow (ac2g) from each call to its work. Times
// are microseconds after baseTimeNanoseconds, exact to the nanosecond; slices of one lane nest:
// work that overlaps other work of its stream has a lane beside. Throws FileError.
void write_chrome_trace(const LaneSource& source, const TraceInfo& info, const std::string& path);

// "outer;inner nanoseconds" a line, for each stack of slices; host time, or that of kernel bodies.
// A stack has one line, or several, to be added up, where there are very many different ones.
void write_stacks(const LaneSource& source, bool device, bool with_source, const std::string& path);

}  // namespace ingot::profiler
