#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cpu/kernels.h>
#include <ingot/kernels/cuda/kernels.h>
#include <ingot/kernels/kernel_table.h>

namespace ingot {

Kernel kernel_for(const OpInfo& op, DeviceType device) {
  const Kernel kernel = device == DeviceType::cuda ? isa_cuda::cuda_kernel(op) : cpu_kernel(op);
  INGOT_CHECK(kernel != nullptr, "{}: no kernel for {}", op.name,
              device == DeviceType::cuda ? "cuda" : "cpu");
  return kernel;
}

}  // namespace ingot
