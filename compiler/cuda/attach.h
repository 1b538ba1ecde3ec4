// From fused steps on the GPU to compiled kernels: generates, asks the cubin cache, attaches what
// it gives. Owns: the process's cubin caches. Without NVRTC the steps run their ops one by one and
// the report says so. Must not know: tries, frames.
#pragma once

#include <vector>

#include <ingot/compiler/build_plan.h>
#include <ingot/compiler/cuda/generated_cuda_step.h>
#include <ingot/compiler/jit/kernel_source.h>

namespace ingot::compiler {

class KernelBatch;

// With a batch the steps stay without kernels, and it gets what they would have asked for.
void attach_cuda_kernels(const std::vector<GeneratedCudaStep*>& steps, bool disk_cache,
                         KernelBatch* batch, PlanReport* report);
// Puts them into the cache, where plans find them.
void compile_cuda_kernels(const std::vector<jit::KernelSource>& units, int architecture,
                          bool disk_cache);

}  // namespace ingot::compiler
