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
  int side;          // threads side by side
};

// Of a row lane: load(r, u) -> States of row r + u * at.lanes, added up in order from row
// at.begin + at.lane on. Load::ahead: whether the next loads are on their way while the last ones
// are added, which takes registers.
template <class R, int kWidth, class Load>
__device__ __forceinline__ States<R, kWidth> reduce_row_lane(const ColumnLane& at,
                                                             const Load& load) {
  constexpr int kAhead = vectors_ahead<typename R::State, kWidth, 8>;
  using Vector = States<R, kWidth>;
  Vector sum;
#pragma unroll
  for (int e = 0; e < kWidth; ++e) sum.v[e] = R::identity();
  const auto add = [&](const Vector& s) {
#pragma unroll
    for (int e = 0; e < kWidth; ++e) sum.v[e] = R::merge(sum.v[e], s.v[e]);
  };
  const Int64 pace = kAhead * at.lanes, whole = at.end - (kAhead - 1) * at.lanes;
  Int64 r = at.begin + at.lane;
  Vector s[kAhead];
  const auto load_all = [&](Vector* to) {
#pragma unroll
    for (int u = 0; u < kAhead; ++u) to[u] = load(r, u);
    r += pace;
  };
  const auto add_all = [&] {
#pragma unroll
    for (int u = 0; u < kAhead; ++u) add(s[u]);
  };
  if constexpr (Load::ahead) {
    if (r < whole) {
      load_all(s);
#pragma unroll 1
      while (r < whole) {
        Vector next[kAhead];
        load_all(next);
        add_all();
#pragma unroll
        for (int u = 0; u < kAhead; ++u) s[u] = next[u];
      }
      add_all();
    }
  } else {
#pragma unroll 1
    while (r < whole) {
      load_all(s);
      add_all();
    }
  }
  if constexpr (Load::ahead) {
    if (r >= at.end) return sum;
#pragma unroll
    for (int u = 0; u < kAhead - 1; ++u) {
      if (r + u * at.lanes < at.end) s[u] = load(r, u);
    }
#pragma unroll
    for (int u = 0; u < kAhead - 1; ++u) {
      if (r + u * at.lanes < at.end) add(s[u]);
    }
  } else {
#pragma unroll 1
    for (; r < at.end; r += at.lanes) add(load(r, 0));
  }
  return sum;
}

// The states of this thread's columns over all rows of the piece, in the threads of row lane 0. To
// be called once in a kernel, by all kColumnThreads threads; thread t is row lane t / side.
template <class R, int kWidth, class Load>
__device__ __forceinline__ States<R, kWidth> reduce_column(const ColumnLane& at, const Load& load) {
  States<R, kWidth> sum = reduce_row_lane<R, kWidth>(at, load);
  // In halves: warps first, by the first one alone, then its own threads.
  constexpr int kWarps = kColumnThreads / kWarp;
  __shared__ typename R::State of_warp[kWidth][kColumnThreads];
  const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int e = 0; e < kWidth; ++e) of_warp[e][thread] = sum.v[e];
  __syncthreads();
  if (thread >= kWarp) return sum;
#pragma unroll
  for (int e = 0; e < kWidth; ++e) {
    typename R::State x[kWarps];
#pragma unroll
    for (int w = 0; w < kWarps; ++w) x[w] = of_warp[e][w * kWarp + thread];
#pragma unroll
    for (int half = kWarps / 2; half > 0; half /= 2) {
#pragma unroll
      for (int w = 0; w < half; ++w) x[w] = R::merge(x[w], x[w + half]);
    }
    for (int step = kWarp / 2; step >= at.side; step /= 2) {
      x[0] = R::merge(x[0], shuffle_xor(x[0], step));
    }
    sum.v[e] = x[0];
  }
  return sum;
}

// Where a block of a column reduction stands: strips of columns, innermost, then pieces, then
// groups.
struct ColumnBlock {
  Int64 group, piece, col;  // the thread's first column
  ColumnLane rows;

  __device__ __forceinline__ ColumnBlock(Int64 n, Int64 pieces, Int64 piece_rows, ColumnGrid grid,
                                         int width) {
    const int thread = static_cast<int>(threadIdx.x);
    rows.side = 1 << grid.shift;
    rows.lanes = kColumnThreads >> grid.shift;
    rows.lane = thread >> grid.shift;
    const unsigned block = blockIdx.x, outer = block / grid.strips;
    const unsigned of_group = static_cast<unsigned>(pieces), whole = outer / of_group;
    group = whole;
    piece = outer - whole * of_group;
    const Int64 lane = Int64(block - outer * grid.strips) << grid.shift;
    col = (lane + (thread & (rows.side - 1))) * width;
    rows.begin = piece * piece_rows;
    rows.end = rows.begin + piece_rows < n ? rows.begin + piece_rows : n;
  }
};

}  // namespace INGOT_ISA
}  // namespace ingot
