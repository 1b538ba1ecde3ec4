#pragma once
// The tree of reduce_rows.h for several sequences side by side: columns of a matrix, and rows so
// short that a loop over rows is the longer one. The bits are those of reduce_row. Owns: these
// loops. Must not know: threads, dtypes of storage. Freestanding.
#include <ingot/kernels/ops/reduce_rows.h>

namespace ingot {
inline namespace INGOT_ISA {
namespace rows {

// Several short rows side by side: n <= kReduceLanes elements each, `stride` apart; out[r] for each
// row. The tree of so few elements has one element on a lane.
template <class R, class T>
INGOT_INLINE void reduce_short_rows(Int64 rows, Int64 n, const T* x, Int64 stride, T* out) {
  constexpr Int64 kRows = 64;
  alignas(64) T lanes[kReduceLanes][kRows];
  for (Int64 begin = 0; begin < rows; begin += kRows) {
    const Int64 count = rows - begin < kRows ? rows - begin : kRows;
    const T* from = x + begin * stride;
    const Num<T> start = R::template identity<T>();
    if (n == 0) {
      for (Int64 r = 0; r < count; ++r) lanes[0][r] = start.v;
    }
    for (Int64 l = 0; l < n; ++l) {
      for (Int64 r = 0; r < count; ++r) {
        lanes[l][r] = R::combine(start, Num<T>(from[r * stride + l])).v;
      }
    }
    for (Int64 half = kReduceLanes / 2; half > 0; half /= 2) {
      for (Int64 l = 0; l < half && l + half < n; ++l) {
        for (Int64 r = 0; r < count; ++r) {
          lanes[l][r] = R::combine(Num<T>(lanes[l][r]), Num<T>(lanes[l + half][r])).v;
        }
      }
    }
    for (Int64 r = 0; r < count; ++r) out[begin + r] = R::finish(Num<T>(lanes[0][r])).v;
  }
}

// Columns. One block of at most kReduceBlock rows is start_columns, add_rows for its rows in order,
// fold_columns; lane l of column j is lanes[l * cols + j]. The results of the blocks of a column
// are reduced like those of a row. A block of fewer than kReduceLanes rows uses that many lanes.
INGOT_INLINE Int64 lanes_of_block(Int64 rows) {
  return rows < 1 ? 1 : rows < kReduceLanes ? rows : kReduceLanes;
}

template <class R, class T>
INGOT_INLINE void start_columns(Int64 block_rows, Int64 cols, T* lanes) {
  const Int64 n = lanes_of_block(block_rows) * cols;
  for (Int64 k = 0; k < n; ++k) lanes[k] = R::template identity<T>().v;
}

// Rows [first, first + rows) of the block: load(r, j) -> Num<T>, r from 0.
template <class R, class T, class Load>
INGOT_INLINE void add_rows(Int64 first, Int64 rows, Int64 cols, T* lanes, const Load& load) {
  const auto one = [&](Int64 r) {
    T* lane = lanes + (first + r) % kReduceLanes * cols;
    INGOT_LOOP_INDEPENDENT
    for (Int64 j = 0; j < cols; ++j) lane[j] = R::combine(Num<T>(lane[j]), load(r, j)).v;
  };
  constexpr Int64 kStep = kReduceLanes;
  Int64 r = 0;
  for (; r < rows && (first + r) % kStep != 0; ++r) one(r);
  // Four rows of one lane at a time save most of the traffic of the lanes.
  for (; r + 4 * kStep <= rows; r += 4 * kStep) {
    for (Int64 q = r; q < r + kStep; ++q) {
      T* lane = lanes + (q - r) * cols;
      INGOT_LOOP_INDEPENDENT
      for (Int64 j = 0; j < cols; ++j) {
        const Num<T> two = R::combine(R::combine(Num<T>(lane[j]), load(q, j)), load(q + kStep, j));
        lane[j] = R::combine(R::combine(two, load(q + 2 * kStep, j)), load(q + 3 * kStep, j)).v;
      }
    }
  }
  for (; r < rows; ++r) one(r);
}

// The same for rows without gaps, x[r * cols + j]: sixteen rows are one long one, so that few
// columns cost no more than many.
template <class R, class T>
INGOT_INLINE void add_dense_rows(Int64 first, Int64 rows, Int64 cols, T* lanes, const T* x) {
  const auto element = [&](Int64 r, Int64 j) { return Num<T>(x[r * cols + j]); };
  Int64 r = (kReduceLanes - first % kReduceLanes) % kReduceLanes;
  if (r > rows) r = rows;
  add_rows<R>(first, r, cols, lanes, element);
  const Int64 wide = kReduceLanes * cols;
  for (; r + 4 * kReduceLanes <= rows; r += 4 * kReduceLanes) {
    const T* at = x + r * cols;
    INGOT_LOOP_INDEPENDENT
    for (Int64 k = 0; k < wide; ++k) {
      const Num<T> two =
          R::combine(R::combine(Num<T>(lanes[k]), Num<T>(at[k])), Num<T>(at[k + wide]));
      lanes[k] = R::combine(R::combine(two, Num<T>(at[k + 2 * wide])), Num<T>(at[k + 3 * wide])).v;
    }
  }
  x += r * cols;
  add_rows<R>(first + r, rows - r, cols, lanes, element);
}

template <class R, class T>
INGOT_INLINE void fold_columns(Int64 block_rows, Int64 cols, T* lanes, T* out) {
  Int64 used = lanes_of_block(block_rows);
  for (Int64 half = kReduceLanes / 2; half > 0; half /= 2) {
    const Int64 pairs = used > half ? used - half : 0;
    const T* upper = lanes + half * cols;
    INGOT_LOOP_INDEPENDENT
    for (Int64 k = 0; k < pairs * cols; ++k) {
      lanes[k] = R::combine(Num<T>(lanes[k]), Num<T>(upper[k])).v;
    }
    if (used > half) used = half;
  }
  for (Int64 j = 0; j < cols; ++j) out[j] = R::finish(Num<T>(lanes[j])).v;
}

}  // namespace rows
}  // namespace INGOT_ISA
}  // namespace ingot
