// The profiler of a build without CUDA.
#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cuda/device.h>
#include <ingot/profiler/gpu_observer.h>

namespace ingot::profiler {

std::string GpuObserver::unavailable() { return cuda::unavailable_reason(); }

bool GpuObserver::in_use() { return false; }

GpuRecords GpuObserver::finish() { return collect(); }

std::unique_ptr<GpuObserver> GpuObserver::start(std::size_t) {
  ingot::detail::fail<DeviceError>("profiler: {}", unavailable());
}

const Roofline& gpu_roofline() {
  static const Roofline none;
  return none;
}

}  // namespace ingot::profiler
