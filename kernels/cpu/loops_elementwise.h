// The kernel of elementwise ops: broadcasts, scalars and casts around a row's inner loop.
// Owns: cpu_elementwise for the built-in rows and its form for a loop given by the caller (a
// user's row). Must not know: rows.
#pragma once

#include <ingot/kernels/kernel_table.h>

namespace ingot {

// out[0] = row(in...) over the broadcast shape, computed in elementwise_dtype(). Operands of
// another dtype (f16, bf16; integers where the row needs floats) are cast tile by tile, and results
// are rounded once. out[0] may be one of the operands (same address and strides), not overlap one
// otherwise. Throws Error when the row does not exist for the dtype.
void cpu_elementwise(const KernelArgs& args);

// The same with a loop of the caller's.
void run_elementwise(const KernelArgs& args, LoopFn loop, DType compute);

}  // namespace ingot
