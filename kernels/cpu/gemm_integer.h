// Owns: products of integers. Sums wrap, so any order gives the same bits and the loops are plain.
// Must not know: threads, floating point. Included by kernel units only.
#pragma once

#include <ingot/kernels/cpu/gemm.h>
#include <ingot/kernels/ops/scalar.h>

namespace ingot {
inline namespace INGOT_ISA {
namespace product {

// Rows [i0, i1) and columns [j0, j1) of C.
template <class T>
void integer_tile(const GemmArgs& g, Int64 i0, Int64 i1, Int64 j0, Int64 j1) {
  using N = Num<T>;
  constexpr Int64 kStrip = 256;
  const N alpha(static_cast<Int64>(g.alpha)), beta(static_cast<Int64>(g.beta_for_bias));
  const T* bias = g.beta_for_bias == 0 ? nullptr : static_cast<const T*>(g.bias);
  N sum[kStrip];
  for (Int64 j = j0; j < j1; j += kStrip) {
    const Int64 width = j1 - j < kStrip ? j1 - j : kStrip;
    for (Int64 i = i0; i < i1; ++i) {
      for (Int64 e = 0; e < width; ++e) sum[e] = N(0);
      for (Int64 p = 0; p < g.k; ++p) {
        const N a(static_cast<const T*>(g.a)[i * g.a_row + p * g.a_col]);
        const T* b = static_cast<const T*>(g.b) + p * g.b_row + j * g.b_col;
        if (g.b_col == 1) {
          for (Int64 e = 0; e < width; ++e) sum[e] = sum[e] + a * N(b[e]);
        } else {
          for (Int64 e = 0; e < width; ++e) sum[e] = sum[e] + a * N(b[e * g.b_col]);
        }
      }
      T* c = static_cast<T*>(g.c) + i * g.c_row + j;
      for (Int64 e = 0; e < width; ++e) {
        N x = alpha * sum[e];
        if (bias) x = x + beta * N(bias[i * g.bias_row + (j + e) * g.bias_col]);
        if (g.relu) x = max(x, N(0));
        c[e] = x.v;
      }
    }
  }
}

}  // namespace product
}  // namespace INGOT_ISA
}  // namespace ingot
