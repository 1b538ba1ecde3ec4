// From fused steps on the GPU to compiled kernels: generates, asks the cubin cache, attaches what
// it gives. Owns: the process's cubin caches. Without NVRTC the steps run their ops one by one and
// the report says so. Must not know: tries, frames.
#pragma once

#include <ingot/compiler/build_plan.h>
#include <ingot/compiler/cuda/generated_cuda_step.h>

namespace ingot::compiler {

void attach_cuda_kernels(const std::vector<GeneratedCudaStep*>& steps, bool disk_cache,
                         PlanReport* report);

}  // namespace ingot::compiler
