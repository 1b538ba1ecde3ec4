// Attrs: everything an op is told besides its tensors.
// Owns: the split between structural attributes (they select a kernel and are matched by compiled
// code) and run-time values (they may change from call to call). Must not know: single ops.
#pragma once

#include <ingot/kernels/core/dims.h>

namespace ingot {

inline constexpr int kMaxScalars = 4;

struct Attrs {
  // Structural. Each op's row says what it keeps here.
  Dims dims;                // axes, sizes or a permutation
  Dims strides;             // as_strided
  i64 a = 0, b = 0, c = 0;  // a dim, a flag, a step, a dtype
  // Run time: the count and the kinds are structural, the values are not.
  Scalar s[kMaxScalars];
  int n_scalars = 0;

  void add_scalar(Scalar value) { s[n_scalars++] = value; }
  bool same_structure(const Attrs& o) const {
    if (a != o.a || b != o.b || c != o.c || n_scalars != o.n_scalars || !(dims == o.dims) ||
        !(strides == o.strides)) {
      return false;
    }
    for (int i = 0; i < n_scalars; ++i) {
      if (s[i].kind() != o.s[i].kind()) return false;
    }
    return true;
  }
};

// Of an op that is told nothing. Compared by address where that saves a comparison by value.
inline constexpr Attrs kNoAttrs{};

// A random op's place in its generator's stream (Philox key and 64-bit counter offset).
struct Ticket {
  std::uint64_t seed = 0, offset = 0;
};

}  // namespace ingot
