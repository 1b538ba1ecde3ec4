#include "cubin.h"

#include <chrono>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdexcept>

#include <ingot/kernels/cuda/check.h>

namespace bench::gpu {

namespace {

// A function of the driver, which is not linked.
template <class F>
F driver(const char* name) {
  void* address = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  INGOT_CUDA_CHECK(
      cudaGetDriverEntryPointByVersion(name, &address, 12000, cudaEnableDefault, &found));
#else
  INGOT_CUDA_CHECK(cudaGetDriverEntryPoint(name, &address, cudaEnableDefault, &found));
#endif
  if (found != cudaDriverEntryPointSuccess) throw std::runtime_error("the driver is too old");
  return reinterpret_cast<F>(address);
}

}  // namespace

double load_ms(const std::string& cubin, const char* kernel) {
  static const auto load = driver<decltype(&::cuModuleLoadData)>("cuModuleLoadData");
  static const auto find = driver<decltype(&::cuModuleGetFunction)>("cuModuleGetFunction");
  static const auto unload = driver<decltype(&::cuModuleUnload)>("cuModuleUnload");
  (void)ingot::cuda::current_stream();  // the context exists from here on
  const auto start = std::chrono::steady_clock::now();
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  const bool fine = load(&module, cubin.data()) == CUDA_SUCCESS &&
                    find(&function, module, kernel) == CUDA_SUCCESS;
  const std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - start;
  if (module != nullptr) (void)unload(module);
  if (!fine) throw std::runtime_error("the driver does not load a limit's kernel");
  return ms.count();
}

}  // namespace bench::gpu
