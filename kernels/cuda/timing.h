// What time on a GPU is measured with: events, and a kernel that does nothing. Owns: the events'
// creation, recording and reading, each one call of the CUDA runtime. Must not know: who measures
// what.
#pragma once

#include <ingot/kernels/cuda/device.h>

namespace ingot::isa_cuda {
void launch_empty();  // one block of 32 threads on the current stream
}

namespace ingot::cuda {

// Of the current device; nullptr when the runtime has none left.
EventHandle make_timing_event() noexcept;
void free_event(EventHandle event) noexcept;
// After what was given to the current stream. False, and nothing is recorded, while a CUDA graph is
// being made from this thread's launches.
bool record_time(EventHandle event) noexcept;
void wait_for_event(EventHandle event);
// Milliseconds from one event to another of the same device, both reached; negative: unknown.
double elapsed_ms(EventHandle from, EventHandle to) noexcept;

}  // namespace ingot::cuda
