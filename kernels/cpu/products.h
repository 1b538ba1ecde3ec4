// Kernels of the product ops: shapes and strides of matmul, addmm and linear brought to gemm calls.
// Must not know: how a product is computed.
#pragma once

#include <ingot/kernels/kernel_table.h>

namespace ingot {

void cpu_matmul(const KernelArgs& args);
void cpu_addmm(const KernelArgs& args);
void cpu_linear(const KernelArgs& args);

}  // namespace ingot
