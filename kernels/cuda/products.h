// Matrix products on CUDA. Owns: how operands, batches and a bias become calls of cublasLt.
// Must not know: how cublasLt is called.
#pragma once

#include <ingot/kernels/kernel_table.h>

namespace ingot {
inline namespace INGOT_ISA {

void cuda_matmul(const KernelArgs& args);
void cuda_addmm(const KernelArgs& args);
void cuda_linear(const KernelArgs& args);

}  // namespace INGOT_ISA
}  // namespace ingot
