#include <cuda_runtime_api.h>

#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cuda/check.h>
#include <ingot/kernels/cuda/driver.h>

namespace ingot::cuda {

namespace {

constexpr unsigned kVersion = 12000;

// Null: the driver has no such function.
void* address_of(const char* name, [[maybe_unused]] unsigned version) {
  void* address = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  INGOT_CUDA_CHECK(
      cudaGetDriverEntryPointByVersion(name, &address, version, cudaEnableDefault, &found));
#else
  INGOT_CUDA_CHECK(cudaGetDriverEntryPoint(name, &address, cudaEnableDefault, &found));
#endif
  return found == cudaDriverEntryPointSuccess ? address : nullptr;
}

template <class F>
void find(F& function, const char* name) {
  void* const address = address_of(name, kVersion);
  INGOT_CHECK_AS(DeviceError, address != nullptr, "cuda: the driver has no {}; update it", name);
  function = reinterpret_cast<F>(address);
}

template <class F>
void find_if_there(F& function, const char* name, unsigned version) {
  function = reinterpret_cast<F>(address_of(name, version));
}

Driver find_all() {
  Driver d{};
  find(d.load_library, "cuLibraryLoadData");
  find(d.unload_library, "cuLibraryUnload");
  find(d.get_kernel, "cuLibraryGetKernel");
  find(d.launch, "cuLaunchKernelEx");
  find(d.get_node, "cuGraphKernelNodeGetParams");
  find(d.set_node, "cuGraphExecKernelNodeSetParams");
  find_if_there(d.kernel_parameter, "cuKernelGetParamInfo", 12040);
  find_if_there(d.function_parameter, "cuFuncGetParamInfo", 12040);
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
