// Matrix products on CUDA. Owns: who computes one: the small kernel, cublasLt or the plain kernel.
// Must not know: how cublasLt is called, how operands are read.
#pragma once

#include <ingot/kernels/cuda/product_epilogue.h>
#include <ingot/kernels/kernel_table.h>

namespace ingot {
inline namespace INGOT_ISA {

// matmul, addmm, linear.
void cuda_product(const KernelArgs& args);

// The same with an epilogue, by cublasLt in one launch; the result's memory is the epilogue's.
// False where it cannot: see takes_epilogue, and cublasLt may have no algorithm. The result then
// holds nothing of use.
bool cuda_product_with(const KernelArgs& args, const ProductEpilogue& epilogue);

}  // namespace INGOT_ISA
}  // namespace ingot
