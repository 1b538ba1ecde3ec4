// A GPU's records become part of a timeline: API calls nest in the lanes of their threads, work
// finds the event that launched it and, of a CUDA graph, the op whose node it is.
// Owns: attribution, always by id. Must not know: who observed the GPU, tables.
#pragma once

#include <ingot/profiler/clock.h>
#include <ingot/profiler/gpu_records.h>
#include <ingot/profiler/timeline.h>

namespace ingot::profiler {

// Before finish(). `clock` maps ticks to ns since the window opened; `window` is its number.
void attach_gpu(Timeline& timeline, GpuRecords records, const TickMap& clock, std::uint64_t window);

// Called by finish(), once lanes are nested: owners, delays, totals, counts.
void link_gpu(Timeline& timeline);

bool launches_kernel(std::string_view api_call);  // cudaLaunchKernelExC, cuLaunchKernelEx, ...
bool launches_graph(std::string_view api_call);
// The host's time in this call, as far as it is a wait for the GPU: all of a synchronisation; of a
// launch or copy what is beyond 20 us, which is the time that the driver's queue was full.
std::int64_t waiting_ns(const Slice& api_call);

}  // namespace ingot::profiler
