// A build without CUDA has no groups on a GPU.
#include <ingot/compiler/cuda/attach.h>

namespace ingot::compiler {

void attach_cuda_kernels(const std::vector<CudaStep*>&, bool, PlanReport*) {}

}  // namespace ingot::compiler
