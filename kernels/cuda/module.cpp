#include <cuda.h>
#include <cuda_runtime_api.h>

#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cuda/check.h>
#include <ingot/kernels/cuda/module.h>

namespace ingot::cuda {

namespace {

// The driver's functions, found through the CUDA runtime: nothing is linked against libcuda.
struct Driver {
  decltype(&::cuLibraryLoadData) load_library =
      find<decltype(&::cuLibraryLoadData)>("cuLibraryLoadData");
  decltype(&::cuLibraryUnload) unload_library =
      find<decltype(&::cuLibraryUnload)>("cuLibraryUnload");
  decltype(&::cuLibraryGetKernel) get_kernel =
      find<decltype(&::cuLibraryGetKernel)>("cuLibraryGetKernel");
  decltype(&::cuLaunchKernel) launch = find<decltype(&::cuLaunchKernel)>("cuLaunchKernel");
  decltype(&::cuGetErrorString) error_string =
      find<decltype(&::cuGetErrorString)>("cuGetErrorString");

 private:
  template <class F>
  static F find(const char* name) {
    void* address = nullptr;
    cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
    INGOT_CUDA_CHECK(
        cudaGetDriverEntryPointByVersion(name, &address, 12000, cudaEnableDefault, &found));
#else
    INGOT_CUDA_CHECK(cudaGetDriverEntryPoint(name, &address, cudaEnableDefault, &found));
#endif
    INGOT_CHECK_AS(DeviceError, found == cudaDriverEntryPointSuccess && address != nullptr,
                   "cuda: the driver has no {}; update it", name);
    return reinterpret_cast<F>(address);
  }
};

const Driver& driver() {
  static const Driver found;
  return found;
}

std::string error_text(CUresult status) {
  const char* text = nullptr;
  if (driver().error_string(status, &text) != CUDA_SUCCESS || text == nullptr) {
    return fmt::format("error {}", static_cast<int>(status));
  }
  return text;
}

}  // namespace

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

void launch_kernel(CUkern_st* kernel, unsigned blocks, unsigned threads, void* parameter,
                   std::size_t bytes) {
  void* config[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, parameter, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                    CU_LAUNCH_PARAM_END};
  const CUresult status = driver().launch(reinterpret_cast<CUfunction>(kernel), blocks, 1, 1,
                                          threads, 1, 1, 0, current_stream(), nullptr, config);
  INGOT_CHECK_AS(DeviceError, status == CUDA_SUCCESS, "CUDA: {} in the launch of a compiled kernel",
                 error_text(status));
}

}  // namespace ingot::cuda
