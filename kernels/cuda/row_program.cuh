#pragma once
// What generated kernels over rows are written in: whole rows in registers, through elementwise
// rows, reductions and formulas. Owns: held rows with their loads and stores, the formulas of
// row_lane_formulas.cuh from held rows to held rows. The bits are those of the eager kernels, whose
// lanes, trees and elements these are. Must not know: programs, addresses. Freestanding.
#include <ingot/kernels/cuda/narrow_rows.h>
#include <ingot/kernels/cuda/row_lane_formulas.cuh>

namespace ingot {
inline namespace INGOT_ISA {

// A row of S in registers, rounded to S and widened again, vectors of kWidth elements. kWhole: its
// length is a multiple of that.
template <class S, int kWidth, bool kWhole>
struct HeldRow {
  using Stored = S;
  using Value = typename ComputeTypeOf<S>::type;
  static constexpr int width = kWidth;
  static constexpr bool whole = kWhole, is_16_bit = sizeof(S) == 2;
};

// Element i of a row at x + i * step; kDense: the step is 1, and whole rows begin at whole vectors.
template <class S, int kWidth, bool kWhole, bool kDense>
struct HeldLoad {
  using Value = typename ComputeTypeOf<S>::type;
  const S* x;
  Int64 step;

  __device__ __forceinline__ RowVector<Value, kWidth> operator()(int i, int left) const {
    RowVector<Value, kWidth> y;
    if (kDense && kWhole && left > 0) {
      widen_all(*reinterpret_cast<const Pack<S, kWidth>*>(x + i), y.v);
      return y;
    }
#pragma unroll
    for (int e = 0; e < kWidth; ++e) {
      y.v[e] = e < left && !(kDense && kWhole) ? widen(x[kDense ? i + e : (i + e) * step])
                                               : Num<Value>(0);
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

// Element e of a slot; a number is the same everywhere.
template <int kSlots, class Load>
__device__ __forceinline__ auto held_element(const RowValues<kSlots, Load>& x, int slot, int e) {
  return x.get(slot, 0, 0).v[e];
}
template <class T>
__device__ __forceinline__ Num<T> held_element(Num<T> x, int, int) {
  return x;
}

// y = f(in...) for each element, rounded to what y is stored as.
template <int kSlots, class Load, class F, class... In>
__device__ __forceinline__ void map_held(RowValues<kSlots, Load>& y, F f, const In&... in) {
#pragma unroll
  for (int slot = 0; slot < kSlots; ++slot) {
    RowVector<typename Load::Value, Load::width> v;
#pragma unroll
    for (int e = 0; e < Load::width; ++e) {
      v.v[e] = f(held_element(in, slot, e)...);
    }
    if constexpr (!is_same_type<typename Load::Stored, typename Load::Value>) {
      widen_all(narrow_all<typename Load::Stored, Load::width>(v.v), v.v);
    }
    y.put(slot, v);
  }
}
template <class Row, int kSlots, class Load, class... In>
__device__ __forceinline__ void row_held(RowValues<kSlots, Load>& y, const In&... in) {
  map_held(
      y, [](auto... x) { return Row::value(x...); }, in...);
}

template <int kSlots, class Load>
__device__ __forceinline__ void store_held(const LaneOf<kSlots>& at, typename Load::Stored* y,
                                           const RowValues<kSlots, Load>& x) {
  using S = typename Load::Stored;
  each_vector<kSlots, Load::width>(at, [&](int slot, int i) {
    const int left = at.n - i;
    const auto v = x.get(slot, 0, 0);
    if (Load::whole) {
      if (left > 0) {
        *reinterpret_cast<Pack<S, Load::width>*>(y + i) = narrow_all<S, Load::width>(v.v);
      }
    } else {
#pragma unroll
      for (int e = 0; e < Load::width; ++e) {
        if (e < left) y[i + e] = narrow<S>(v.v[e]);
      }
    }
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
  const auto s = log_sum_lanes<true, kSlots, kUse>(at, x);
  const CommonDivisor<Load> total(s.total);
  map_held(
      y, [&](auto e) { return total.divide(e); }, x);
}
template <int kUse, int kSlots, class Load>
__device__ __forceinline__ void log_softmax_held(const LaneOf<kSlots>& at,
                                                 RowValues<kSlots, Load> x,
                                                 RowValues<kSlots, Load>& y) {
  const auto s = log_sum_lanes<false, kSlots, kUse>(at, x).sums;
  map_held(
      y, [&](auto v) { return (v - s.max) - s.log_total; }, x);
}
template <int kUse, int kSlots, class Load>
__device__ __forceinline__ void softmax_backward_held(const LaneOf<kSlots>& at,
                                                      const RowValues<kSlots, Load>& dy,
                                                      const RowValues<kSlots, Load>& y,
                                                      RowValues<kSlots, Load>& dx) {
  const auto total = product_sum_lanes<kSlots, kUse>(at, dy, y);
  map_held(
      dx, [&](auto g, auto p) { return p * (g - total); }, dy, y);
}
template <int kUse, int kSlots, class Load>
__device__ __forceinline__ void log_softmax_backward_held(const LaneOf<kSlots>& at,
                                                          const RowValues<kSlots, Load>& dy,
                                                          const RowValues<kSlots, Load>& y,
                                                          RowValues<kSlots, Load>& dx) {
  const auto total = reduce_held<rows::SumRow, kUse>(at, dy);
  map_held(
      dx, [&](auto g, auto l) { return g - exp(l) * total; }, dy, y);
}

// A weight or bias that is not there.
struct Absent {};
template <class N, class W>
__device__ __forceinline__ N times(N x, W weight) {
  return x * weight;
}
template <class N>
__device__ __forceinline__ N times(N x, Absent) {
  return x;
}
__device__ __forceinline__ Absent held_element(Absent, int, int) { return {}; }

template <class N, class B>
__device__ __forceinline__ N plus(N x, B bias) {
  return x + bias;
}
template <class N>
__device__ __forceinline__ N plus(N x, Absent) {
  return x;
}

template <int kSlots, class Load, class Weight, class Bias>
__device__ __forceinline__ void layer_norm_held(const RowValues<kSlots, Load>& x,
                                                const Weight& weight, const Bias& bias,
                                                rows::RowMoments<typename Load::Value> m,
                                                RowValues<kSlots, Load>& y) {
  map_held(
      y, [&](auto v, auto w, auto b) { return plus(times(m.normal(v), w), b); }, x, weight, bias);
}
template <int kUse, int kSlots, class Load, class Weight>
__device__ __forceinline__ void layer_norm_backward_held(
    const LaneOf<kSlots>& at, const RowValues<kSlots, Load>& dy, const RowValues<kSlots, Load>& x,
    const Weight& weight, rows::RowMoments<typename Load::Value> m, RowValues<kSlots, Load>& dx) {
  using N = Num<typename Load::Value>;
  const auto gradient = [&](int slot, int, int) {
    auto g = dy.get(slot, 0, 0);
#pragma unroll
    for (int e = 0; e < Load::width; ++e) g.v[e] = times(g.v[e], held_element(weight, slot, e));
    return g;
  };
  const auto sums = norm_gradient_sums<kSlots, kUse>(at, gradient, x, m);
  const N per(inverse_count<typename Load::Value>(at.n));
  const N mean_g = sums.a * per, mean_gh = sums.b * per;
  map_held(
      dx,
      [&](N g, N v, auto w) { return m.rstd * ((times(g, w) - mean_g) - m.normal(v) * mean_gh); },
      dy, x, weight);
}

}  // namespace INGOT_ISA
}  // namespace ingot
