#pragma once
// What generated kernels over rows are written in: whole rows in registers, through elementwise
// rows, reductions and formulas. Owns: held rows with their loads and stores, the formulas of
// row_lane_formulas.cuh from held rows to held rows. The bits are those of the eager kernels, whose
// lanes, trees and elements these are. Must not know: programs, addresses. Freestanding.
#include <ingot/kernels/cuda/narrow_rows.h>
#include <ingot/kernels/cuda/row_lane_formulas.cuh>

namespace ingot {
inline namespace INGOT_ISA {

// A row of S in registers, rounded to S and widened again, vectors of kWidth elements.
template <class S, int kWidth, RowFill kFill>
struct HeldRow {
  using Stored = S;
  using Value = typename ComputeTypeOf<S>::type;
  static constexpr int width = kWidth;
  static constexpr RowFill fill = kFill;
  static constexpr bool is_16_bit = sizeof(S) == 2;
};

// Element i of a row at x + i * step; kDense: the step is 1, and rows of whole vectors begin at
// whole vectors.
template <class S, int kWidth, RowFill kFill, bool kDense>
struct HeldLoad {
  using Value = typename ComputeTypeOf<S>::type;
  const S* x;
  Int64 step;

  __device__ __forceinline__ RowVector<Value, kWidth> operator()(int i, int left) const {
    constexpr bool kVectors = kDense && kFill != RowFill::any;
    RowVector<Value, kWidth> y;
    if constexpr (kVectors) {
      if (kFill == RowFill::lanes || left > 0) {
        widen_all(*reinterpret_cast<const Pack<S, kWidth>*>(x + i), y.v);
        return y;
      }
    }
#pragma unroll
    for (int e = 0; e < kWidth; ++e) {
      y.v[e] = e < left && !kVectors ? widen(x[kDense ? i + e : (i + e) * step]) : Num<Value>(0);
    }
    return y;
  }
};

// One value a row; 0 without a row.
template <class Lane, class S>
__device__ __forceinline__ auto load_value(const Lane& at, const S* x) {
  return at.n > 0 ? widen(*x) : Num<typename ComputeTypeOf<S>::type>(0);
}
template <class Lane, class S, class T>
__device__ __forceinline__ void store_value(const Lane& at, S* y, Num<T> x) {
  if (at.lane == 0 && at.n > 0) *y = narrow<S>(x);
}

// As eager has it once it has been stored as S.
template <class S, class T>
__device__ __forceinline__ Num<T> rounded(Num<T> x) {
  if constexpr (is_same_type<S, Half> || is_same_type<S, BFloat16>) {
    return widen(narrow<S>(x));
  } else {
    return x;
  }
}

// A row over operands that all are of S, by what a GPU computes it with for S.
template <class Row, class S>
struct RowOver {
  template <class... N>
  static __device__ __forceinline__ auto value(N... in) {
    if constexpr (NarrowRow<Row, S>::exists) {
      return NarrowRow<Row, S>::value(in...);
    } else {
      return Row::value(in...);
    }
  }
};
template <class To>
struct CastTo {
  template <class From>
  static __device__ __forceinline__ Num<To> value(Num<From> x) {
    return convert<To>(x);
  }
};

// A formula's row into registers, rounded to what it is stored as.
template <int kSlots, class Load>
struct ToHeld {
  const LaneOf<kSlots>& at;
  RowValues<kSlots, Load>& y;

  template <class F, class... In>
  __device__ __forceinline__ void operator()(F f, const In&... in) const {
    using S = typename Load::Stored;
    using T = typename Load::Value;
    each_vector<kSlots>(at, [&](int slot, int i) {
      auto v = map_vector<T, Load::width>(f, vector_at(in, slot, i, at.n - i)...);
      if constexpr (!is_same_type<S, T>) widen_all(narrow_all<S, Load::width>(v.v), v.v);
      y.put(slot, v);
    });
  }
};
template <int kSlots, class Load>
__device__ __forceinline__ ToHeld<kSlots, Load> to_held(const LaneOf<kSlots>& at,
                                                        RowValues<kSlots, Load>& y) {
  return {at, y};
}
// Or one that is computed where it is read, which must be once. It has copies of its operands.
template <class S, int kWidth, class Vector>
struct LazyRow {
  Vector vector;
};
template <class S, int kWidth, class Vector>
__device__ __forceinline__ auto vector_at(const LazyRow<S, kWidth, Vector>& x, int slot, int i,
                                          int left) {
  return x.vector(slot, i, left);
}
template <class S, int kWidth>
struct ToLazy {
  template <class F, class... In>
  __device__ __forceinline__ auto operator()(F f, const In&... in) const {
    using T = typename ComputeTypeOf<S>::type;
    const auto vector = [=](int slot, int i, int left) {
      auto v = map_vector<T, kWidth>(f, vector_at(in, slot, i, left)...);
      if constexpr (!is_same_type<S, T>) widen_all(narrow_all<S, kWidth>(v.v), v.v);
      return v;
    };
    return LazyRow<S, kWidth, decltype(vector)>{vector};
  }
};
template <class Row, class S, int kWidth, class... In>
__device__ __forceinline__ auto row_lazy(const In&... in) {
  return ToLazy<S, kWidth>()([](auto... x) { return Row::value(x...); }, in...);
}
template <class Row, int kSlots, class Load, class... In>
__device__ __forceinline__ void row_held(const LaneOf<kSlots>& at, RowValues<kSlots, Load>& y,
                                         const In&... in) {
  to_held(at, y)([](auto... x) { return Row::value(x...); }, in...);
}

template <RowFill kFill, class S, class T, int kWidth>
__device__ __forceinline__ void store_vector(S* y, int i, int left, const RowVector<T, kWidth>& v) {
  if constexpr (kFill != RowFill::any) {
    if (kFill == RowFill::lanes || left > 0) {
      *reinterpret_cast<Pack<S, kWidth>*>(y + i) = narrow_all<S, kWidth>(v.v);
    }
  } else {
#pragma unroll
    for (int e = 0; e < kWidth; ++e) {
      if (e < left) y[i + e] = narrow<S>(v.v[e]);
    }
  }
}
template <int kSlots, class Load>
__device__ __forceinline__ void store_held(const LaneOf<kSlots>& at, typename Load::Stored* y,
                                           const RowValues<kSlots, Load>& x) {
  each_vector<kSlots>(at, [&](int slot, int i) {
    store_vector<Load::fill>(y, i, at.n - i, x.get(slot, i, at.n - i));
  });
}
// Vector after vector, so that none is held.
template <int kSlots, RowFill kFill, class S, int kWidth, class Vector>
__device__ __forceinline__ void store_lazy(const LaneOf<kSlots>& at, S* y,
                                           const LazyRow<S, kWidth, Vector>& x) {
  each_vector<kSlots>(at, [&](int slot, int i) {
    const int left = at.n - i;
    store_vector<kFill>(y, i, left, x.vector(slot, i, left));
  });
}

// Formulas: kUse as for reduce_lanes, of which each may take three.
template <class Row, int kUse, int kSlots, class Load>
__device__ __forceinline__ auto reduce_held(const LaneOf<kSlots>& at,
                                            const RowValues<kSlots, Load>& x) {
  return reduce_values_over<Row, kUse, kSlots>(at, x, [](auto v) { return v; });
}
template <int kUse, int kSlots, class Load, class N>
__device__ __forceinline__ N variance_held(const LaneOf<kSlots>& at,
                                           const RowValues<kSlots, Load>& x, N freedom) {
  const N centre = centre_lanes<kSlots, kUse>(at, x);
  return squares_lanes<kSlots, kUse + 2>(at, x, centre) / freedom;
}
template <int kUse, int kSlots, class Load>
__device__ __forceinline__ auto logsumexp_held(const LaneOf<kSlots>& at,
                                               RowValues<kSlots, Load> x) {
  return log_sum_lanes<false, kSlots, kUse>(at, x).sums.logsumexp();
}
template <int kUse, int kSlots, class Load>
__device__ __forceinline__ void softmax_held(const LaneOf<kSlots>& at, RowValues<kSlots, Load> x,
                                             RowValues<kSlots, Load>& y) {
  softmax_row<kUse>(at, x, to_held(at, y));
}
template <int kUse, int kSlots, class Load>
__device__ __forceinline__ void log_softmax_held(const LaneOf<kSlots>& at,
                                                 RowValues<kSlots, Load> x,
                                                 RowValues<kSlots, Load>& y) {
  log_softmax_row<kUse>(at, x, to_held(at, y));
}
template <int kUse, int kSlots, class Load>
__device__ __forceinline__ void softmax_backward_held(const LaneOf<kSlots>& at,
                                                      const RowValues<kSlots, Load>& dy,
                                                      const RowValues<kSlots, Load>& y,
                                                      RowValues<kSlots, Load>& dx) {
  softmax_backward_row<kUse>(at, dy, y, to_held(at, dx));
}
template <int kUse, int kSlots, class Load>
__device__ __forceinline__ void log_softmax_backward_held(const LaneOf<kSlots>& at,
                                                          const RowValues<kSlots, Load>& dy,
                                                          const RowValues<kSlots, Load>& y,
                                                          RowValues<kSlots, Load>& dx) {
  log_softmax_backward_row<kUse>(at, dy, y, to_held(at, dx));
}
template <int kSlots, class Load, class Weight, class Bias>
__device__ __forceinline__ void layer_norm_held(const LaneOf<kSlots>& at,
                                                const RowValues<kSlots, Load>& x,
                                                const Weight& weight, const Bias& bias,
                                                rows::RowMoments<typename Load::Value> m,
                                                RowValues<kSlots, Load>& y) {
  layer_norm_row(x, weight, bias, m, to_held(at, y));
}
template <class S, int kWidth, class Values, class Weight, class Bias>
__device__ __forceinline__ auto layer_norm_lazy(const Values& x, const Weight& weight,
                                                const Bias& bias,
                                                rows::RowMoments<typename Values::Value> m) {
  return layer_norm_row(x, weight, bias, m, ToLazy<S, kWidth>());
}
template <int kUse, int kSlots, class Load, class Weight>
__device__ __forceinline__ void layer_norm_backward_held(
    const LaneOf<kSlots>& at, const RowValues<kSlots, Load>& dy, const RowValues<kSlots, Load>& x,
    const Weight& weight, rows::RowMoments<typename Load::Value> m, RowValues<kSlots, Load>& dx) {
  layer_norm_backward_row<kUse>(at, dy, x, weight, m, to_held(at, dx));
}

}  // namespace INGOT_ISA
}  // namespace ingot
