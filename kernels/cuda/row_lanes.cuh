#pragma once
// The row template: a row spread over the lanes of a block by row_shape(), its values in registers
// or read again, reductions over it in one fixed order. Owns: that order, the tree of every row
// reduction on CUDA. Must not know: storage, formulas. Freestanding: generated kernels instantiate
// these templates with loads and stores of their own and get the same bits.
//
// The tree: a vector's elements are folded in halves (element e with e + width / 2, and so on), the
// vectors of a lane are added in order, then lanes in halves inside each warp, then warps in
// halves, those that a power of two has more being identities. Reducers bring State, identity() and
// merge(a, b), which must commute in every bit but a NaN's.
#include <ingot/kernels/cuda/row_shape.h>
#include <ingot/kernels/ops/reduce_rows.h>

namespace ingot {
inline namespace INGOT_ISA {

template <class T, int kWidth>
struct RowVector {
  Num<T> v[kWidth];
};

template <class Row, class T>
struct ValueReducer {
  using State = Num<T>;
  static __device__ __forceinline__ State identity() { return Row::template identity<T>(); }
  static __device__ __forceinline__ State merge(State a, State b) { return Row::combine(a, b); }
};

// Two sums at once.
template <class T>
struct TwoSums {
  struct State {
    Num<T> a, b;
  };
  static __device__ __forceinline__ State identity() { return {Num<T>(0), Num<T>(0)}; }
  static __device__ __forceinline__ State merge(State x, State y) { return {x.a + y.a, x.b + y.b}; }
};

// The first largest value with its place. NaN is the largest.
template <class T>
struct ExtremeState {
  Num<T> value;
  Int64 place;
};
template <class T>
struct ExtremeReducer {
  using State = ExtremeState<T>;
  static __device__ __forceinline__ State identity() {
    return {rows::MaxRow::identity<T>(), IntegerRange<Int64>::greatest};
  }
  static __device__ __forceinline__ State merge(State a, State b) {
    bool later = b.value.v > a.value.v, equal = a.value.v == b.value.v;
    if constexpr (is_float<T>) {
      const bool a_nan = a.value.v != a.value.v, b_nan = b.value.v != b.value.v;
      later = later | (b_nan & !a_nan);
      equal = equal | (a_nan & b_nan);
    }
    return later | (equal & (b.place < a.place)) ? b : a;
  }
};

template <class T>
__device__ __forceinline__ Num<T> shuffle_xor(Num<T> x, int mask) {
  return Num<T>(__shfl_xor_sync(0xffffffffu, x.v, mask));
}
template <class T>
__device__ __forceinline__ ExtremeState<T> shuffle_xor(ExtremeState<T> x, int mask) {
  return {shuffle_xor(x.value, mask), __shfl_xor_sync(0xffffffffu, x.place, mask)};
}
template <class Pair>
__device__ __forceinline__ auto shuffle_xor(Pair x, int mask) -> decltype(Pair{x.a, x.b}) {
  return {shuffle_xor(x.a, mask), shuffle_xor(x.b, mask)};
}

// What `left` elements a row has from the beginning of a lane's vector on.
enum class RowFill {
  any,      // any number
  vectors,  // none, or a whole vector
  lanes     // a whole vector: every lane has a row and each slot of it is filled
};

// One state for each element of a vector.
template <class R, int kWidth>
struct States {
  typename R::State v[kWidth];

  // Folded in halves, element 0 with width / 2 and so on; those at `left` and beyond are left out.
  template <RowFill kFill, class I>
  __device__ __forceinline__ typename R::State fold(I left) {
    if constexpr (kFill == RowFill::any) {
#pragma unroll
      for (int e = 0; e < kWidth; ++e) v[e] = e < left ? v[e] : R::identity();
    }
#pragma unroll
    for (int half = kWidth / 2; half > 0; half /= 2) {
#pragma unroll
      for (int e = 0; e < half; ++e) v[e] = R::merge(v[e], v[e + half]);
    }
    return kFill != RowFill::vectors || left > 0 ? v[0] : R::identity();
  }
};

// x of 2 * kFrom neighbouring threads folded in halves, down to pairs kTo apart.
template <class R, int kFrom, int kTo = 1>
__device__ __forceinline__ typename R::State fold_threads(typename R::State x) {
#pragma unroll
  for (int step = kFrom; step >= kTo; step /= 2) x = R::merge(x, shuffle_xor(x, step));
  return x;
}

// What all lanes of a row make together, known to each of them. Every thread of the block takes
// part. kUse: different for each call of a kernel, since each has shared memory of its own and so
// needs one barrier only; no call may stand in a loop.
template <class R, int kUse>
__device__ __forceinline__ typename R::State reduce_lanes(typename R::State x, int lanes,
                                                          RowLanes known = RowLanes::any) {
  if (known == RowLanes::any ? lanes < kWarp : known == RowLanes::part) {
#pragma unroll
    for (int step = kWarp / 4; step > 0; step /= 2) {
      if (step < lanes) x = R::merge(x, shuffle_xor(x, step));
    }
    return x;
  }
  x = fold_threads<R, kWarp / 2>(x);
  if (known == RowLanes::any ? lanes == kWarp : known == RowLanes::warp) return x;
  constexpr unsigned kMostWarps = kMostRowLanes / kWarp, kFewWarps = kFewLanes / kWarp;
  __shared__ typename R::State of_warp[kMostWarps];
  const unsigned thread = threadIdx.x, warp = thread / kWarp;
  const unsigned warps = static_cast<unsigned>(lanes) / kWarp;
  if (thread % kWarp == 0) of_warp[warp] = x;
  __syncthreads();
  // Where rows share a block they have 2 warps.
  const unsigned first = static_cast<int>(blockDim.x) == lanes ? 0 : warp & ~1u;
  // Every 4 or 16 threads fold all of them; identities change nothing.
  const bool many = known == RowLanes::any ? warps > kFewWarps : known == RowLanes::many_warps;
  const unsigned other = thread & ((many ? kMostWarps : kFewWarps) - 1);
  x = other < warps ? of_warp[first + other] : R::identity();
  if (many) x = fold_threads<R, kMostWarps / 2, kFewWarps>(x);
  return fold_threads<R, kFewWarps / 2>(x);
}

// A thread's place in its row. Index: int where rows are short enough.
template <class I>
struct RowLane {
  using Index = I;
  Index n;  // elements of the row; 0 where the block has more places than there are rows
  int lane, lanes;
  RowLanes known;
  int first, step;  // the element of the first vector, and how far it is to the next one
  Index end;        // the lane's vectors begin before it
};

// Lane `lane` of a row of n elements in vectors of kWidth, by row_shape().
template <RowLanes kKnown, int kWidth, class I>
__device__ __forceinline__ RowLane<I> row_lane(I n, int lane, RowShape shape) {
  RowLane<I> at{n, lane, shape.lanes, kKnown, lane * kWidth, shape.lanes * kWidth, n};
  if (shape.slots == 0) return at;
  constexpr bool kPart = kKnown == RowLanes::part || kKnown == RowLanes::warp;
  const int warp = kPart ? 0 : static_cast<int>(static_cast<unsigned>(lane) / kWarp);
  const int run = shape.slots * kWarp * kWidth;
  at.first = warp * run + (lane - warp * kWarp) * kWidth;
  at.step = (kKnown > RowLanes::part ? kWarp : shape.span()) * kWidth;
  if ((warp + 1) * run < n) at.end = (warp + 1) * run;
  return at;
}
template <bool kShort>
struct RowIndexType {
  using type = int;
};
template <>
struct RowIndexType<false> {
  using type = Int64;
};
template <int kSlots>
using LaneOf = RowLane<typename RowIndexType<(kSlots > 0)>::type>;

// f(slot, i) for each vector of the lane, i its first element. In registers (kSlots > 0) also for
// those beyond the end of the row.
template <int kSlots, class Lane, class F>
__device__ __forceinline__ void each_vector(const Lane& at, F f) {
  if constexpr (kSlots > 0) {
#pragma unroll
    for (int slot = 0; slot < kSlots; ++slot) f(slot, at.first + slot * at.step);
  } else {
#pragma unroll 1
    for (typename Lane::Index i = at.first; i < at.end; i += at.step) f(0, i);
  }
}

// One operand of a row. Load: width, Value, fill, and load(i, left) -> RowVector, of which the
// first `left` elements are the row's and the others anything.
template <int kSlots, class Load>
class RowValues {
 public:
  using Value = typename Load::Value;
  static constexpr int width = Load::width;
  static constexpr RowFill fill = Load::fill;
  using Vector = RowVector<Value, width>;
  static constexpr bool held = true;
  RowValues() = default;
  template <class From>
  __device__ __forceinline__ RowValues(const LaneOf<kSlots>& at, const From& load) {
    each_vector<kSlots>(at, [&](int slot, int i) { v_[slot] = load(i, at.n - i); });
  }
  __device__ __forceinline__ Vector get(int slot, int, int) const { return v_[slot]; }
  __device__ __forceinline__ void put(int slot, const Vector& v) { v_[slot] = v; }

 private:
  Vector v_[kSlots];
};
template <class Load>
class RowValues<0, Load> {
 public:
  using Value = typename Load::Value;
  static constexpr int width = Load::width;
  static constexpr RowFill fill = Load::fill;
  using Vector = RowVector<Value, width>;
  static constexpr bool held = false;
  __device__ __forceinline__ RowValues(const LaneOf<0>&, const Load& load) : load_(load) {}
  __device__ __forceinline__ Vector get(int, Int64 i, Int64 left) const { return load_(i, left); }

 private:
  Load load_;
};

// The reduction of the states of a row: states(slot, i, left) -> States for the vector at i.
template <class R, int kUse, int kSlots, class Load, class F>
__device__ __forceinline__ typename R::State reduce_over(const LaneOf<kSlots>& at, F states) {
  typename R::State sum = R::identity();
  each_vector<kSlots>(at, [&](int slot, auto i) {
    States<R, Load::width> s = states(slot, i, at.n - i);
    sum = R::merge(sum, s.template fold<Load::fill>(at.n - i));
  });
  return reduce_lanes<R, kUse>(sum, at.lanes, at.known);
}

// The same for value(x) of each element of one operand.
template <class Row, int kUse, int kSlots, class Values, class F>
__device__ __forceinline__ auto reduce_values_over(const LaneOf<kSlots>& at, const Values& x,
                                                   F value) -> Num<typename Values::Value> {
  using R = ValueReducer<Row, typename Values::Value>;
  constexpr int kWidth = Values::width;
  return Row::finish(reduce_over<R, kUse, kSlots, Values>(at, [&](int slot, auto i, auto left) {
    const typename Values::Vector v = x.get(slot, i, left);
    States<R, kWidth> s;
#pragma unroll
    for (int e = 0; e < kWidth; ++e) s.v[e] = value(v.v[e]);
    return s;
  }));
}

// How many vectors are on their way at once, at most kMost: what their states leave room for in
// registers.
template <class State, int kWidth, int kMost>
inline constexpr int vectors_ahead = sizeof(State) * kWidth <= 16   ? kMost
                                     : sizeof(State) * kWidth <= 32 ? kMost / 2
                                                                    : 2;

// One piece of a plain reduction, each element seen once, in the same order as reduce_over's.
// load(i, left) -> States of the vector at i.
template <class R, class Load>
__device__ __forceinline__ typename R::State reduce_once(const RowLane<int>& at, const Load& load) {
  using Vector = States<R, Load::width>;
  constexpr int kAhead = vectors_ahead<typename R::State, Load::width, 4>;
  typename R::State sum = R::identity();
  const int step = at.step;
#pragma unroll 1
  for (int i = at.first; i < at.end; i += kAhead * step) {
    Vector s[kAhead];
#pragma unroll
    for (int u = 0; u < kAhead; ++u) s[u] = load(i + u * step, at.end - (i + u * step));
#pragma unroll
    for (int u = 0; u < kAhead; ++u)
      sum = R::merge(sum, s[u].template fold<Load::fill>(at.end - (i + u * step)));
  }
  return reduce_lanes<R, 0>(sum, at.lanes, at.known);
}

}  // namespace INGOT_ISA
}  // namespace ingot
