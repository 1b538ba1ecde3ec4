// Elementwise ops on CUDA. Owns: the form in which operands reach a kernel: dense runs where
// memory allows it, else a collapsed nest of axes. Must not know: rows.
#pragma once

#include <ingot/kernels/cuda/elementwise_task.h>
#include <ingot/kernels/kernel_table.h>

namespace ingot {
inline namespace INGOT_ISA {

void cuda_elementwise(const KernelArgs& args);

// Runs the kernels of one row over operands whose dtypes are those of args, any strides.
void run_cuda_elementwise(const KernelArgs& args, const ElementwiseKernels& kernels, DType compute);

}  // namespace INGOT_ISA
}  // namespace ingot
