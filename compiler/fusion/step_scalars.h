// The host numbers of a fused group as 8-byte cells of the type that it computes in.
// Owns: the conversion. Must not know: groups.
#pragma once

#include <ingot/kernels/core/dims.h>
#include <ingot/kernels/core/dtype.h>

namespace ingot::compiler {

union Cell {
  i64 i;
  double d;
  float f;
  int i32;
  unsigned char u8;
  bool b;
};

// Groups do not compute in 16 bits.
Cell make_cell(Scalar s, DType t);

}  // namespace ingot::compiler
