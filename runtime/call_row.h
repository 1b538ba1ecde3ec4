// call_row: one call of a user's row, as op<Row> makes it. Owns: the seam between the template
// and the library. Must not know: rows' formulas.
#pragma once

#include <ingot/kernels/ops/op_info.h>
#include <ingot/runtime/tensor.h>

namespace ingot {

// The operands are promoted and cast as those of built-in ops; the op's line is that of the last
// operand.
Tensor call_row(const OpInfo& op, const Arg* const* operands, int n);

}  // namespace ingot
