// CPU kernels of the rows in kernels/ops/structured/reductions.h.
// Owns: the entry point, what each reduction computes in and how its result is finished. Must not
// know: allocation of results.
#pragma once

#include <ingot/kernels/kernel_table.h>

namespace ingot {

// sum, mean, prod, amax, amin, any, all, argmax, argmin, max, min (with index) and var, by op.
// Operands have any strides; results are row-major, as the rows infer them.
void cpu_reduce(const KernelArgs& args);

// out = the sum of `in` over `axes`, in the dtype of out; row-major.
void sum_over(const BufferView& in, const Dims& axes, const BufferView& out);

}  // namespace ingot
