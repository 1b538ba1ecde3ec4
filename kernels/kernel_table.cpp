#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cpu/kernels.h>
#include <ingot/kernels/cuda/kernels.h>
#include <ingot/kernels/kernel_table.h>
#include <ingot/kernels/ops/user_row.h>

namespace ingot {

Kernel kernel_for(const OpInfo& op, DeviceType device) {
  const Kernel kernel = device == DeviceType::cpu ? cpu_kernel(op)
                        : op.user != nullptr      ? op.user->on_cuda
                                                  : isa_cuda::cuda_kernel(op);
  INGOT_CHECK(kernel != nullptr, "{}: no kernel for {}", op.name,
              device == DeviceType::cuda ? "cuda" : "cpu");
  return kernel;
}

}  // namespace ingot
