#pragma once
// The column template: neighbouring columns on up to 8 lanes of a vector each, the rows of a block
// of them dealt to the row lanes in turn. Owns: the order of every reduction down columns on CUDA.
// Must not know: storage. Freestanding, for generated kernels too.
//
// The tree: row lane y takes rows y, y + lanes, ... of its piece in order; then lanes are folded in
// halves. Pieces, where there are some, are rows of a column reduction again.
#include <ingot/kernels/cuda/column_shape.h>
#include <ingot/kernels/cuda/row_lanes.cuh>

namespace ingot {
inline namespace INGOT_ISA {

struct ColumnLane {
  Int64 begin, end;  // rows of the piece
  int lane, lanes;   // of the rows
};

// The states of this thread's columns over all rows of the piece, in the threads of row lane 0.
// load(row) -> States. To be called once in a kernel, by all kColumnThreads threads; thread t is
// row lane t / (kColumnThreads / lanes).
template <class R, int kWidth, class Load>
__device__ __forceinline__ States<R, kWidth> reduce_column(const ColumnLane& at, const Load& load) {
  using State = typename R::State;
  constexpr int kAhead = vectors_ahead<State, kWidth, 8>;
  States<R, kWidth> sum;
#pragma unroll
  for (int e = 0; e < kWidth; ++e) sum.v[e] = R::identity();
  const auto add = [&](const States<R, kWidth>& s) {
#pragma unroll
    for (int e = 0; e < kWidth; ++e) sum.v[e] = R::merge(sum.v[e], s.v[e]);
  };
  Int64 r = at.begin + at.lane;
#pragma unroll 1
  for (; r + (kAhead - 1) * at.lanes < at.end; r += kAhead * at.lanes) {
    States<R, kWidth> s[kAhead];
#pragma unroll
    for (int u = 0; u < kAhead; ++u) s[u] = load(r + u * at.lanes);
#pragma unroll
    for (int u = 0; u < kAhead; ++u) add(s[u]);
  }
#pragma unroll 1
  for (; r < at.end; r += at.lanes) add(load(r));

  __shared__ State of_lane[kWidth][kColumnThreads];
  const int thread = static_cast<int>(threadIdx.x), side = kColumnThreads / at.lanes;
#pragma unroll
  for (int e = 0; e < kWidth; ++e) of_lane[e][thread] = sum.v[e];
  for (int half = at.lanes / 2; half > 0; half /= 2) {
    __syncthreads();
    if (at.lane < half) {
#pragma unroll
      for (int e = 0; e < kWidth; ++e) {
        sum.v[e] = R::merge(sum.v[e], of_lane[e][thread + half * side]);
        of_lane[e][thread] = sum.v[e];
      }
    }
  }
  return sum;
}

// Where a block of a column reduction stands: strips of columns, innermost, then pieces, then
// groups.
struct ColumnBlock {
  Int64 group, piece, col;  // the thread's first column
  ColumnLane rows;

  __device__ __forceinline__ ColumnBlock(Int64 n, Int64 cols, Int64 pieces, Int64 piece_rows,
                                         int lanes, int width) {
    const int side = static_cast<int>(threadIdx.x) % lanes;
    const Int64 strips = (cols + lanes * width - 1) / (lanes * width);
    const Int64 block = blockIdx.x, outer = block / strips;
    group = outer / pieces;
    piece = outer - group * pieces;
    col = ((block - outer * strips) * lanes + side) * width;
    rows.begin = piece * piece_rows;
    rows.end = rows.begin + piece_rows < n ? rows.begin + piece_rows : n;
    rows.lane = static_cast<int>(threadIdx.x) / lanes;
    rows.lanes = kColumnThreads / lanes;
  }
};

}  // namespace INGOT_ISA
}  // namespace ingot
