#include <ingot/kernels/core/check_at.h>
#include <ingot/kernels/cuda/device.h>
#include <ingot/runtime/check_cuda.h>

namespace ingot {

void check_cuda(const char* op, Device device, Loc loc) {
  if (!device.is_cuda()) {
    detail::fail_at<DeviceError>(op, loc, "{} is no CUDA device", device.str());
  }
  if (!cuda::is_available()) {
    detail::fail_at<DeviceError>(op, loc, "{}", cuda::unavailable_reason());
  }
  if (device.index() < 0 || device.index() >= cuda::device_count()) {
    detail::fail_at<DeviceError>(op, loc, "{}: there are {} CUDA devices", device.str(),
                                 cuda::device_count());
  }
}

}  // namespace ingot
