// A build without CUDA has no groups on a GPU.
#include <ingot/compiler/cuda/attach.h>
#include <ingot/compiler/user_op.h>
#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cuda/device.h>
#include <ingot/kernels/kernel_table.h>

namespace ingot::compiler {

void attach_cuda_kernels(const std::vector<GeneratedCudaStep*>&, bool, KernelBatch*, PlanReport*) {}
void compile_cuda_kernels(const std::vector<jit::KernelSource>&, int, bool) {}

void run_user_row_on_cuda(const KernelArgs& args) {
  detail::fail<DeviceError>("{}: {}", args.op.name, cuda::unavailable_reason());
}

}  // namespace ingot::compiler
