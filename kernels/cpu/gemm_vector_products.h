// Owns: products with one row (m == 1): a row times a large row-major B, and a row times a B of
// contiguous columns (dot products side by side).
// Must not know: threads. The order of sums is that of gemm.h. Included by kernel units only.
#pragma once

#include <ingot/kernels/cpu/gemm_pack.h>

namespace ingot {
inline namespace INGOT_ISA {
namespace product {

// c[0..cols) of a row times B with contiguous rows. Eight rows of B are read side by side in long
// runs, and the chains of a strip of columns wait in the first-level cache.
template <class T>
void row_times_rows(const T* a, Index a_col, const T* b, Index b_row, T* c, Index k, Index cols) {
  constexpr int W = kLanes<T>, kRows = 8;
  constexpr Index kStrip = 4096 / sizeof(T);
  alignas(kVectorBytes) T sum[kStrip];
  for (Index j = 0; j < cols; j += kStrip) {
    const Index width = min_of(kStrip, cols - j), whole = width - width % W;
    for (Index k0 = 0; k0 < k; k0 += kGemmBlockK) {
      const Index k1 = min_of(k, k0 + kGemmBlockK);
      for (Index e = 0; e < width; ++e) sum[e] = T(0);
      for (Index p = k0; p < k1; p += kRows) {
        const int rows = static_cast<int>(min_of(kRows, k1 - p));
        const T* at = b + p * b_row + j;
        Vector<T> av[kRows];
        for (int r = 0; r < rows; ++r) av[r] = splat<T>(a[(p + r) * a_col]);
        if (rows == kRows) {
          for (Index e = 0; e < whole; e += W) {
            Vector<T> s = load<T>(sum + e);
#pragma GCC unroll 8
            for (int r = 0; r < kRows; ++r) {
              s = multiply_add<T>(av[r], load<T>(at + r * b_row + e), s);
            }
            store<T>(sum + e, s);
          }
        } else {
          for (int r = 0; r < rows; ++r) {
            for (Index e = 0; e < whole; e += W) {
              store<T>(sum + e,
                       multiply_add<T>(av[r], load<T>(at + r * b_row + e), load<T>(sum + e)));
            }
          }
        }
        if (whole < width) {
          Vector<T> s = {};
          copy_row(reinterpret_cast<T*>(&s), sum + whole, width - whole);
          for (int r = 0; r < rows; ++r) {
            Vector<T> bv = {};
            copy_row(reinterpret_cast<T*>(&bv), at + r * b_row + whole, width - whole);
            s = multiply_add<T>(av[r], bv, s);
          }
          copy_row(sum + whole, reinterpret_cast<const T*>(&s), width - whole);
        }
      }
      for (Index e = 0; e < width; ++e) c[j + e] = k0 ? c[j + e] + sum[e] : sum[e];
    }
  }
}

// R dot products of `k` <= kDotBlock contiguous elements with the same `a`: kDotLanes chains each.
template <class T, int R>
INGOT_INLINE void dot_block(const T* a, const T* b, Index b_col, Index k, T* sums) {
  constexpr int W = kLanes<T>, kVectors = kDotLanes / W;
  Vector<T> sum[R][kVectors] = {};
  Index p = 0;
  for (; p + kDotLanes <= k; p += kDotLanes) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const Vector<T> av = load<T>(a + p + v * W);
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
        sum[r][v] = multiply_add<T>(av, load<T>(b + r * b_col + p + v * W), sum[r][v]);
      }
    }
  }
  if (p < k) {
    T rest[1 + R][kDotLanes] = {};
    copy_row(rest[R], a + p, k - p);
    for (int r = 0; r < R; ++r) {
      copy_row(rest[r], b + r * b_col + p, k - p);
      for (int v = 0; v < kVectors; ++v) {
        sum[r][v] = multiply_add<T>(load<T>(rest[R] + v * W), load<T>(rest[r] + v * W), sum[r][v]);
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int half = kVectors / 2; half > 0; half /= 2) {
#pragma GCC unroll 4
      for (int v = 0; v < half; ++v) sum[r][v] = sum[r][v] + sum[r][v + half];
    }
    sums[r] = sum_of_lanes<T>(sum[r][0]);
  }
}

// c[0..cols) of a row times B with contiguous columns.
template <class T>
void row_times_columns(const T* a, Index a_col, const T* b, Index b_col, T* c, Index k,
                       Index cols) {
  constexpr int kVectors = kDotLanes / kLanes<T>, R = kVectors < 8 ? 8 / kVectors : 1;
  T gathered[kDotBlock];
  for (Index k0 = 0; k0 < k; k0 += kDotBlock) {
    const Index here = min_of(k - k0, kDotBlock);
    const T* a_block = a + k0 * a_col;
    if (a_col != 1) {
      for (Index p = 0; p < here; ++p) gathered[p] = a_block[p * a_col];
      a_block = gathered;
    }
    T sums[R];
    const auto add = [&](Index j, int n) {
      for (int r = 0; r < n; ++r) c[j + r] = k0 ? c[j + r] + sums[r] : sums[r];
    };
    Index j = 0;
    for (; j + R <= cols; j += R) {
      dot_block<T, R>(a_block, b + j * b_col + k0, b_col, here, sums);
      add(j, R);
    }
    for (; j < cols; ++j) {
      dot_block<T, 1>(a_block, b + j * b_col + k0, b_col, here, sums);
      add(j, 1);
    }
  }
}

}  // namespace product
}  // namespace INGOT_ISA
}  // namespace ingot
