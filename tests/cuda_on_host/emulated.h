// What the tests call of kernels/cuda as it is built for the host.
// Owns: the declarations in isa_emulated, the stand-in for cublasLt. Must not know: single kernels.
#pragma once

#include <cstdint>

#include <ingot/kernels/cuda/product_epilogue.h>
#include <ingot/kernels/kernel_table.h>

namespace ingot {

inline namespace isa_emulated {
Kernel cuda_kernel(const OpInfo& op);
bool cuda_product_with(const KernelArgs& args, const ProductEpilogue& epilogue);
}  // namespace isa_emulated

namespace emulation {
// Whether this thread's products find an algorithm in cublasLt (a plain loop here); without one
// they go to the kernel of gemm_simple.cu.
void set_library(bool finds);
// Products that the stand-in has computed for this thread.
std::int64_t library_calls();
}  // namespace emulation

}  // namespace ingot
