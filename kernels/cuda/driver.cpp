#include <cuda_runtime_api.h>

#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cuda/check.h>
#include <ingot/kernels/cuda/driver.h>

namespace ingot::cuda {

namespace {

template <class F>
void find(F& function, const char* name) {
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
  function = reinterpret_cast<F>(address);
}

Driver find_all() {
  Driver d{};
  find(d.load_library, "cuLibraryLoadData");
  find(d.unload_library, "cuLibraryUnload");
  find(d.get_kernel, "cuLibraryGetKernel");
  find(d.launch, "cuLaunchKernelEx");
  find(d.set_node, "cuGraphExecKernelNodeSetParams");
  find(d.error_string, "cuGetErrorString");
  return d;
}

}  // namespace

const Driver& driver() {
  static const Driver found = find_all();
  return found;
}

std::string error_text(CUresult status) {
  const char* text = nullptr;
  if (driver().error_string(status, &text) != CUDA_SUCCESS || text == nullptr) {
    return fmt::format("error {}", static_cast<int>(status));
  }
  return text;
}

}  // namespace ingot::cuda
