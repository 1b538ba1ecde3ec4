// The host numbers of a fused group: what they are, and as 8-byte cells of the type that it
// computes in. Owns: the conversion. Must not know: groups.
#pragma once

#include <ingot/kernels/core/dims.h>
#include <ingot/kernels/core/dtype.h>

namespace ingot::compiler {

// A host number, converted to the compute dtype when the group runs: one of an op's attrs.s, or
// what a reduction divides by.
struct ScalarUse {
  enum Kind : std::uint8_t { attribute, count, freedom };
  int op;      // place in Segment::ops
  int number;  // which of its attrs.s
  DType dtype;
  Kind kind = attribute;
};

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
