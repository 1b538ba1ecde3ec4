// Owns: the packed forms of A and B in scratch memory. B: panels of kTileCols columns, each panel
// k rows of whole vectors. A: k rows of `rows` elements. Must not know: threads, C.
// Copies only: packing never changes a bit of the product. Included by kernel units only.
#pragma once

#include <ingot/kernels/cpu/gemm_kernel.h>

namespace ingot {
inline namespace INGOT_ISA {
namespace product {

INGOT_INLINE Index min_of(Index a, Index b) { return a < b ? a : b; }
INGOT_INLINE Index max_of(Index a, Index b) { return a > b ? a : b; }
INGOT_INLINE Index round_up(Index x, Index to) { return (x + to - 1) / to * to; }

// Columns of a panel that holds `cols` columns: whole vectors. What lies beyond `cols` is a copy of
// other columns or zero; its products are never stored.
template <class T>
INGOT_INLINE Index panel_width(Index cols) {
  return round_up(min_of(cols, kTileCols<T>), kLanes<T>);
}

// Elements of a packed B block.
template <class T>
INGOT_INLINE Index packed_b_size(Index k, Index cols) {
  return k * round_up(cols, kLanes<T>);
}

// Copies the last elements, fewer than a vector, in pieces of fixed size: a loop or a call of
// memcpy would cost more than the rest of a narrow product.
template <int Bytes, class T>
INGOT_INLINE void copy_tail(T* to, const T* from, Index n) {
  constexpr Index kPiece = Bytes / static_cast<Index>(sizeof(T));
  if constexpr (kPiece > 0) {
    if (n & kPiece) {
      __builtin_memcpy(to, from, Bytes);
      to += kPiece, from += kPiece;
    }
    copy_tail<Bytes / 2>(to, from, n);
  }
}

template <class T>
INGOT_INLINE void copy_row(T* to, const T* from, Index n) {
  constexpr int W = kLanes<T>;
  Index j = 0;
  for (; j + W <= n; j += W) store<T>(to + j, load<T>(from + j));
  copy_tail<kVectorBytes / 2>(to + j, from + j, n - j);
}

// Rows of B are contiguous: read row after row, so that memory is read in long runs.
template <class T>
void pack_b_rows(T* to, const T* b, Index b_row, Index k, Index cols) {
  for (Index p = 0; p < k; ++p, b += b_row) {
    T* panel = to;
    for (Index j = 0; j < cols; j += kTileCols<T>) {
      const Index here = min_of(kTileCols<T>, cols - j), width = panel_width<T>(here);
      T* row = panel + p * width;
      copy_row(row, b + j, here);
      for (Index e = here; e < width; ++e) row[e] = T(0);
      panel += k * width;
    }
  }
}

// Columns of B are contiguous: squares of vectors are transposed in registers.
template <class T>
void pack_b_columns(T* to, const T* b, Index b_col, Index k, Index cols) {
  constexpr int W = kLanes<T>;
  for (Index j = 0; j < cols; j += kTileCols<T>) {
    const Index width = panel_width<T>(cols - j);
    for (Index v = 0; v < width; v += W) {
      const T* column[W];
      for (int e = 0; e < W; ++e) column[e] = b + min_of(j + v + e, cols - 1) * b_col;
      Index p = 0;
      for (; p + W <= k; p += W) {
        Vector<T> square[W];
#pragma GCC unroll 16
        for (int e = 0; e < W; ++e) square[e] = load<T>(column[e] + p);
        transpose<T>(square);
#pragma GCC unroll 16
        for (int e = 0; e < W; ++e) store<T>(to + (p + e) * width + v, square[e]);
      }
      for (; p < k; ++p) {
        for (int e = 0; e < W; ++e) to[p * width + v + e] = column[e][p];
      }
    }
    to += k * width;
  }
}

template <class T>
void pack_b_any(T* to, const T* b, Index b_row, Index b_col, Index k, Index cols) {
  for (Index j = 0; j < cols; j += kTileCols<T>) {
    const Index here = min_of(kTileCols<T>, cols - j), width = panel_width<T>(here);
    for (Index p = 0; p < k; ++p) {
      for (Index e = 0; e < width; ++e) {
        to[p * width + e] = e < here ? b[p * b_row + (j + e) * b_col] : T(0);
      }
    }
    to += k * width;
  }
}

template <class T>
void pack_b(T* to, const T* b, Index b_row, Index b_col, Index k, Index cols) {
  if (b_col == 1) {
    pack_b_rows(to, b, b_row, k, cols);
  } else if (b_row == 1) {
    pack_b_columns(to, b, b_col, k, cols);
  } else {
    pack_b_any(to, b, b_row, b_col, k, cols);
  }
}

template <class T>
void pack_a(T* to, const T* a, Index a_row, Index a_col, Index rows, Index k) {
  for (Index p = 0; p < k; ++p, a += a_col, to += rows) {
    if (a_row == 1) {
      copy_row(to, a, rows);
    } else {
      for (Index i = 0; i < rows; ++i) to[i] = a[i * a_row];
    }
  }
}

}  // namespace product
}  // namespace INGOT_ISA
}  // namespace ingot
