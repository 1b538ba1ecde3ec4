#include <fmt/format.h>

#include <ingot/kernels/cuda/driver.h>
#include <ingot/kernels/cuda/module.h>

namespace ingot::cuda {

std::shared_ptr<const DeviceModule> DeviceModule::load(std::string_view image, std::string& error) {
  // The driver reads the size from the image's own header.
  const std::string copy(image);
  CUlibrary library = nullptr;
  const CUresult status =
      driver().load_library(&library, copy.data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  if (status != CUDA_SUCCESS) {
    error = fmt::format("the driver does not load the kernel: {}", error_text(status));
    return nullptr;
  }
  return std::shared_ptr<const DeviceModule>(new DeviceModule(library));
}

DeviceModule::~DeviceModule() { (void)driver().unload_library(library_); }

CUkern_st* DeviceModule::find(const char* name) const {
  CUkernel kernel = nullptr;
  if (driver().get_kernel(&kernel, library_, name) != CUDA_SUCCESS) return nullptr;
  return kernel;
}

}  // namespace ingot::cuda
