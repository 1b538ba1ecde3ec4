#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cpu/kernels.h>
#include <ingot/kernels/kernel_table.h>

namespace ingot {

Kernel kernel_for(const OpInfo& op, DeviceType device) {
  INGOT_CHECK(device == DeviceType::cpu, "{}: this build has no CUDA kernels", op.name);
  const Kernel kernel = cpu_kernel(op);
  INGOT_CHECK(kernel != nullptr, "{}: no kernel for cpu", op.name);
  return kernel;
}

}  // namespace ingot
