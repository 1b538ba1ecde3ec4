// The two observers of GPUs that there are. Owns: their makers, for start() to choose from. Must
// not know: sessions.
#pragma once

#include <memory>
#include <string>

#include <ingot/profiler/gpu_observer.h>

namespace ingot::profiler {

// Null with a sentence in `reason` when CUPTI is missing or refuses.
std::unique_ptr<GpuObserver> make_cupti_observer(std::size_t max_bytes, std::string* reason);
// Two CUDA events around each launch; `reason` says why it is not CUPTI.
std::unique_ptr<GpuObserver> make_event_observer(std::size_t max_bytes, std::string reason);

}  // namespace ingot::profiler
