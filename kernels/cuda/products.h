// Matrix products on CUDA. Owns: who computes one: the small kernel, cublasLt or the plain kernel.
// Must not know: how cublasLt is called, how operands are read.
#pragma once

#include <ingot/kernels/kernel_table.h>

namespace ingot {
inline namespace INGOT_ISA {

// matmul, addmm, linear.
void cuda_product(const KernelArgs& args);

}  // namespace INGOT_ISA
}  // namespace ingot
