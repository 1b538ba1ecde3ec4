// From a reduction's row to its kernels, along rows and down columns. Owns: the kernels, their
// loads and their launches. Must not know: which reductions there are.
//
// An Op has Value, Reducer, state(task, value, place, centre) and store(task, result, state).
#pragma once

#include <ingot/kernels/cuda/column_lanes.cuh>
#include <ingot/kernels/cuda/reduce_task.h>
#include <ingot/kernels/cuda/row_io.cuh>

namespace ingot {
inline namespace INGOT_ISA {

// Elements of any type as From, computed with as T; always one at a time.
template <class T, class From = T>
struct AnyLoad {
  using Value = T;
  static constexpr int width = 4;
  const void* x;
  int dtype;
  Int64 begin;

  template <class I>
  __device__ __forceinline__ RowVector<T, width> operator()(I i, I left) const {
    RowVector<T, width> y;
#pragma unroll
    for (int e = 0; e < width; ++e) {
      y.v[e] = e < left ? convert<T>(load_as<From>(x, begin + i + e, dtype)) : Num<T>(0);
    }
    return y;
  }
};

template <class Load>
struct LoadFrom;
template <class S, bool kWhole>
struct LoadFrom<RowLoad<S, kWhole>> {
  static __device__ __forceinline__ RowLoad<S, kWhole> at(const ReduceTask& p, Int64 begin) {
    return {static_cast<const S*>(p.in) + begin, p.vectors};
  }
};
template <class T, class From>
struct LoadFrom<AnyLoad<T, From>> {
  static __device__ __forceinline__ AnyLoad<T, From> at(const ReduceTask& p, Int64 begin) {
    return {p.in, p.storage, begin};
  }
};

template <class T>
__device__ __forceinline__ Num<T> element_of(const void* x, Int64 i) {
  return Num<T>(static_cast<const T*>(x)[i]);
}

// The end of a reduction to values.
template <class T>
__device__ __forceinline__ void store_value(const ReduceTask& p, Int64 result, Num<T> value) {
  if constexpr (is_float<T>) {
    if (p.divides) value = value / Num<T>(p.by);
    if (p.divisor != nullptr) value = value / element_of<T>(p.divisor, 0);
    if (p.add != nullptr) value = element_of<T>(p.add, result) + value;
  }
  store_as(p.out, result, p.out_dtype, value);
}

// Whether an op has kernels for whole vectors, where loads need no branch and so many are on their
// way at once.
template <class Op>
inline constexpr bool takes_whole = requires {
  typename Op::whole_vectors;
};
template <class Load>
inline constexpr bool is_whole_load = false;
template <class S>
inline constexpr bool is_whole_load<RowLoad<S, true>> = true;

template <class Op, class Load>
struct RowPieceLoad {
  static constexpr int width = Load::width;
  static constexpr RowFill fill = is_whole_load<Load> ? RowFill::vectors : RowFill::any;
  const ReduceTask& p;
  Load load;
  Int64 begin;  // place of element 0
  const Int64* places;
  Num<typename Op::Value> centre;

  __device__ __forceinline__ States<typename Op::Reducer, width> operator()(int i, int left) const {
    const auto v = load(i, left);
    States<typename Op::Reducer, width> s;
#pragma unroll
    for (int e = 0; e < width; ++e) {
      Int64 place = begin + i + e;
      if (Op::placed && places != nullptr && e < left) place = places[i + e];
      s.v[e] = Op::state(p, v.v[e], place, centre);
    }
    return s;
  }
};

template <class Op, class Load>
__global__ void __launch_bounds__(kMostRowLanes, row_blocks(4, 4, 1, kMostRowLanes))
    reduce_rows_kernel(const ReduceTask p, const RowShape shape, int shift) {
  wait_for_previous();
  using T = typename Op::Value;
  int lane = static_cast<int>(threadIdx.x);
  Int64 q = blockIdx.x;
  if (static_cast<int>(blockDim.x) != shape.lanes) {  // several rows, of 2^shift lanes
    q = (q * static_cast<int>(blockDim.x) + lane) >> shift;
    lane &= shape.lanes - 1;
  }
  const bool live = q < p.groups * p.pieces;
  Int64 row = live ? q : 0, begin = 0;
  if (p.pieces > 1) {
    row = row / p.pieces;
    begin = live ? (q - row * p.pieces) * p.piece : 0;
  }
  const Int64 left = p.n - begin < p.piece ? p.n - begin : p.piece;
  const auto at =
      row_lane<RowLanes::any, Load::width>(live ? static_cast<int>(left) : 0, lane, shape);
  const Int64 first = row_begin(p.at, row) + begin;
  Num<T> centre(0);
  if (Op::centred && live) centre = element_of<T>(p.centre, row);
  const RowPieceLoad<Op, Load> load{p, LoadFrom<Load>::at(p, first), begin,
                                    p.places == nullptr ? nullptr : p.places + first, centre};
  const auto state = reduce_once<typename Op::Reducer>(at, load);
  if (live && at.lane == 0) Op::store(p, q, state);
}

// Rows of whole vectors that lanes hold few of: a thread is a lane of several warps of the rows'
// shape, one after the other, so that more loads are on their way. The order is that of the shape.
template <class Op, class Load>
inline constexpr int turn_vectors = vectors_ahead<typename Op::Reducer::State, Load::width, 8>;
struct RowTurns {
  RowShape row;
  int warps;     // of a block
  int per_row;   // warps of the shape that a row takes, or
  int per_warp;  // rows of such a warp
  int together;  // rows of a block
};
inline RowTurns row_turns(RowShape row, int turns) {
  const int lanes = row.lanes;
  RowTurns r{row, 4, lanes > kWarp ? lanes / kWarp : 1, lanes < kWarp ? kWarp / lanes : 1, 0};
  const int least = (r.per_row + turns - 1) / turns;
  if (least > 2) r.warps = least;
  r.together = r.warps * turns / r.per_row * r.per_warp;
  return r;
}

// The largest block of such a kernel: a row of 16 warps.
inline constexpr int turn_threads(int turns) {
  return turns > 4 ? kMostRowLanes / 4 : kMostRowLanes / turns;
}

template <class Op, class Load, int kSlots>
__global__ void __launch_bounds__(turn_threads(turn_vectors<Op, Load> / kSlots),
                                  turn_threads(turn_vectors<Op, Load> / kSlots) > 256
                                      ? 2
                                      : 768 / turn_threads(turn_vectors<Op, Load> / kSlots))
    reduce_turns_kernel(const ReduceTask p, const RowTurns shape) {
  wait_for_previous();
  using R = typename Op::Reducer;
  constexpr int kTurns = turn_vectors<Op, Load> / kSlots;
  // Of four elements lanes hold several vectors in rows of whole warps only: of any number here.
  constexpr bool kWarps = Load::width == 4 && kSlots > 1;
  constexpr RowLanes kKnown = kWarps ? RowLanes::few_warps : RowLanes::any;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kWarp, place = thread % kWarp;
  const Int64 rows = p.groups * p.pieces, first_row = Int64(blockIdx.x) * shape.together;
  const int row_in_warp = place / shape.row.lanes;  // 0 where a row takes whole warps
  const int lane_in_warp = place - row_in_warp * shape.row.lanes;

  States<R, Load::width> s[kTurns][kSlots];
  int row_in_block[kTurns];
  RowLane<int> at[kTurns];
#pragma unroll
  for (int t = 0; t < kTurns; ++t) {
    const int unit = t * shape.warps + warp, outer = unit / shape.per_row;
    row_in_block[t] = outer * shape.per_warp + row_in_warp;
    const int lane = (unit - outer * shape.per_row) * kWarp + lane_in_warp;
    const Int64 q = first_row + row_in_block[t];
    const bool live = row_in_block[t] < shape.together && q < rows;
    Int64 row = live ? q : 0, begin = 0;
    if (p.pieces > 1) {
      // Pieces are of 8192 elements or more: few enough to be counted in 32 bits.
      row = static_cast<unsigned>(row) / static_cast<unsigned>(p.pieces);
      begin = live ? (q - row * p.pieces) * p.piece : 0;
    }
    const Int64 left = p.n - begin < p.piece ? p.n - begin : p.piece;
    at[t] = row_lane<kKnown, Load::width>(live ? static_cast<int>(left) : 0, lane, shape.row);
    if (kSlots <= 2) at[t].end = at[t].n;  // no slot more than the shape has
    const RowPieceLoad<Op, Load> load{p, LoadFrom<Load>::at(p, row_begin(p.at, row) + begin), begin,
                                      nullptr, Num<typename Op::Value>(0)};
#pragma unroll
    for (int slot = 0; slot < kSlots; ++slot) {
      const int i = at[t].first + slot * at[t].step;
      s[t][slot] = load(i, at[t].end - i);
    }
  }

  constexpr int kMostUnits = 32;  // 4 warps in 8 turns, or what a row of 16 warps takes
  __shared__ typename R::State of_unit[kMostUnits];
#pragma unroll
  for (int t = 0; t < kTurns; ++t) {
    typename R::State sum = R::identity();
#pragma unroll
    for (int slot = 0; slot < kSlots; ++slot) {
      const int i = at[t].first + slot * at[t].step;
      sum = R::merge(sum, s[t][slot].template fold<RowFill::vectors>(at[t].end - i));
    }
    if (shape.row.lanes < kWarp) {
      for (int step = shape.row.lanes / 2; step > 0; step /= 2) {
        sum = R::merge(sum, shuffle_xor(sum, step));
      }
    } else {
      sum = fold_threads<R, kWarp / 2>(sum);
    }
    if (shape.per_row > 1) {
      if (place == 0) of_unit[t * shape.warps + warp] = sum;
    } else if (at[t].lane == 0 && row_in_block[t] < shape.together) {
      const Int64 q = first_row + row_in_block[t];
      if (q < rows) Op::store(p, q, sum);
    }
  }
  if (shape.per_row == 1) return;
  __syncthreads();
  const int span = shape.per_row > 4 ? kMostRowLanes / kWarp : 4;
  const int mine = thread / span, other = thread - mine * span;
  const bool live = mine < shape.together;
  auto sum = live && other < shape.per_row ? of_unit[mine * shape.per_row + other] : R::identity();
  if (shape.per_row > 4) sum = fold_threads<R, kMostRowLanes / kWarp / 2, 4>(sum);
  sum = fold_threads<R, 2>(sum);
  if (live && other == 0 && first_row + mine < rows) Op::store(p, first_row + mine, sum);
}

template <class Op, class Load>
struct ColumnPieceLoad {
  static constexpr int width = Load::width;
  static constexpr bool ahead = is_whole_load<Load>;
  const ReduceTask& p;
  Load load;
  const Int64* places;
  int left;  // columns
  RowVector<typename Op::Value, width> centre;
  int lanes;    // of the rows
  Int64 apart;  // elements between rows of neighbouring u

  __device__ __forceinline__ States<typename Op::Reducer, width> operator()(Int64 first,
                                                                            int u) const {
    const auto v = load(first * p.step + u * apart, Int64(left));
    const Int64 r = first + u * lanes;
    States<typename Op::Reducer, width> s;
#pragma unroll
    for (int e = 0; e < width; ++e) {
      Int64 place = r;
      if (Op::placed && places != nullptr && e < left) place = places[r * p.step + e];
      s.v[e] = Op::state(p, v.v[e], place, centre.v[e]);
    }
    return s;
  }
};

template <class Op, class Load>
__global__ void __launch_bounds__(kColumnThreads)
    reduce_columns_kernel(const ReduceTask p, const ColumnGrid grid) {
  wait_for_previous();
  using T = typename Op::Value;
  constexpr int width = Load::width;
  const ColumnBlock at(p.n, p.pieces, p.piece, grid, width);
  const Int64 rest = p.cols - at.col, first = row_begin(p.at, at.group) + at.col;
  const int left = rest < 0 ? 0 : rest < width ? static_cast<int>(rest) : width;
  const Int64 result = at.group * p.cols + at.col;
  RowVector<T, width> centre;
#pragma unroll
  for (int e = 0; e < width; ++e) {
    centre.v[e] = Op::centred && e < left ? element_of<T>(p.centre, result + e) : Num<T>(0);
  }
  const ColumnPieceLoad<Op, Load> load{p,
                                       LoadFrom<Load>::at(p, first),
                                       p.places == nullptr ? nullptr : p.places + first,
                                       left,
                                       centre,
                                       at.rows.lanes,
                                       at.rows.lanes * p.step};
  const auto states = reduce_column<typename Op::Reducer, width>(at.rows, load);
  if (at.rows.lane != 0) return;
#pragma unroll
  for (int e = 0; e < width; ++e) {
    if (e < left) Op::store(p, at.piece * p.groups * p.cols + result + e, states.v[e]);
  }
}

template <class Op, class Load>
void launch_rows_of(const ReduceTask& task) {
  const Int64 rows = task.groups * task.pieces;
  const RowShape shape = row_shape(task.pieces > 1 ? task.piece : task.n, Load::width);
  if constexpr (is_whole_load<Load> && Load::width > 2) {
    constexpr int kVectors = turn_vectors<Op, Load>;
    const auto go = [&](auto kernel, int slots) {
      const RowTurns turns = row_turns(shape, kVectors / slots);
      launch(kernel,
             {(rows + turns.together - 1) / turns.together,
              static_cast<unsigned>(turns.warps * kWarp)},
             task, turns);
    };
    if (shape.slots == 1) return go(reduce_turns_kernel<Op, Load, 1>, 1);
    if (shape.slots == 2) return go(reduce_turns_kernel<Op, Load, 2>, 2);
    if (shape.slots == 3 || shape.slots == 4) return go(reduce_turns_kernel<Op, Load, 4>, 4);
    if constexpr (kVectors == 8) {
      if (shape.slots > 0) return go(reduce_turns_kernel<Op, Load, 8>, 8);
    }
  }
  const int together = rows_per_block(shape.lanes);
  launch(reduce_rows_kernel<Op, Load>,
         {(rows + together - 1) / together, static_cast<unsigned>(shape.lanes * together)}, task,
         shape, log2_of(shape.lanes));
}

template <class Op, class Load>
void launch_columns_of(const ReduceTask& task) {
  const ColumnGrid grid(task.cols, Load::width);
  launch(reduce_columns_kernel<Op, Load>, {task.groups * task.pieces * grid.strips, kColumnThreads},
         task, grid);
}

template <class Op, class Load, bool kColumns>
void launch_reduction(const ReduceTask& task) {
  if constexpr (kColumns) {
    launch_columns_of<Op, Load>(task);
  } else {
    launch_rows_of<Op, Load>(task);
  }
}

template <class Op, class S, bool kColumns>
void launch_floats(const ReduceTask& task) {
  if constexpr (takes_whole<Op>) {
    constexpr int width = 16 / sizeof(S);
    const bool divides =
        kColumns ? task.cols % width == 0 : task.n % width == 0 && task.piece % width == 0;
    if (task.vectors && divides) return launch_reduction<Op, RowLoad<S, true>, kColumns>(task);
  }
  launch_reduction<Op, RowLoad<S, false>, kColumns>(task);
}

// By what is stored: the floating types by themselves, integers and bool as i64. Op is a template
// over the type that is computed with.
template <template <class> class Op, bool kColumns, bool kIntegers = true>
void launch_reduction_of(const ReduceTask& task) {
  switch (static_cast<DType>(task.storage)) {
    case DType::f32:
      return launch_floats<Op<float>, float, kColumns>(task);
    case DType::f64:
      return launch_floats<Op<double>, double, kColumns>(task);
    case DType::f16:
      return launch_floats<Op<float>, Half, kColumns>(task);
    case DType::bf16:
      return launch_floats<Op<float>, BFloat16, kColumns>(task);
    default:
      if constexpr (kIntegers) {
        return launch_reduction<Op<Int64>, AnyLoad<Int64>, kColumns>(task);
      }
  }
}

}  // namespace INGOT_ISA
}  // namespace ingot
