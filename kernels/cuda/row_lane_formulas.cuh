#pragma once
// The formulas of kernels/ops/row_formulas.h for a row that lies on the lanes of a block. Owns:
// softmax, log_softmax, their gradients, logsumexp, layer_norm and its gradient, cross_entropy and
// its gradient, the squares behind var. Must not know: storage, strides. Freestanding.
//
// Loads and stores are functors: load(i, left) -> RowVector, store(i, left, vector). A formula
// whose result is a row ends in to(f, in...): the row of f(in...) of each element, of operands that
// are rows, numbers or Absent. Every thread of the block calls a formula, also those without a row
// (at.n == 0).
#include <ingot/kernels/cuda/row_lanes.cuh>
#include <ingot/kernels/ops/row_formulas.h>

namespace ingot {
inline namespace INGOT_ISA {

// An operand that is read where it is needed, not held.
template <int kSlots, class Load>
struct RowReads {
  LaneOf<kSlots> at;
  Load load;
};
// A weight or bias that is not there.
struct Absent {};

// The vector of an operand at element i, and an element of that.
template <int kSlots, class Load, class I>
__device__ __forceinline__ auto vector_at(const RowValues<kSlots, Load>& x, int slot, I i, I left) {
  return x.get(slot, i, left);
}
template <int kSlots, class Load, class I>
__device__ __forceinline__ auto vector_at(const RowReads<kSlots, Load>& x, int, I i, I left) {
  return x.load(i, left);
}
template <class N, class I>
__device__ __forceinline__ N vector_at(N x, int, I, I) {
  return x;
}
template <class T, int kWidth>
__device__ __forceinline__ Num<T> element_at(const RowVector<T, kWidth>& x, int e) {
  return x.v[e];
}
template <class N>
__device__ __forceinline__ N element_at(N x, int) {
  return x;
}

// f(in...) of each element.
template <class T, int kWidth, class F, class... In>
__device__ __forceinline__ RowVector<T, kWidth> map_vector(F f, const In&... in) {
  RowVector<T, kWidth> y;
#pragma unroll
  for (int e = 0; e < kWidth; ++e) y.v[e] = f(element_at(in, e)...);
  return y;
}

template <int kSlots, class Load, class Store>
struct ToStore {
  const LaneOf<kSlots>& at;
  const Store& store;

  template <class F, class... In>
  __device__ __forceinline__ void operator()(F f, const In&... in) const {
    each_vector<kSlots>(at, [&](int slot, auto i) {
      const auto left = at.n - i;
      if (left <= 0) return;
      store(i, left,
            map_vector<typename Load::Value, Load::width>(f, vector_at(in, slot, i, left)...));
    });
  }
};
// By one of the formula's operands.
template <int kSlots, class Load, class Store>
__device__ __forceinline__ ToStore<kSlots, Load, Store> to_store(const LaneOf<kSlots>& at,
                                                                 const RowValues<kSlots, Load>&,
                                                                 const Store& store) {
  return {at, store};
}

template <class N, class W>
__device__ __forceinline__ N times(N x, W weight) {
  return x * weight;
}
template <class N>
__device__ __forceinline__ N times(N x, Absent) {
  return x;
}
// x * weight + bias, rounded once where both are there.
template <class N>
__device__ __forceinline__ N scaled(N x, N weight, N bias) {
  return fma(x, weight, bias);
}
template <class N>
__device__ __forceinline__ N scaled(N x, N weight, Absent) {
  return x * weight;
}
template <class N>
__device__ __forceinline__ N scaled(N x, Absent, N bias) {
  return x + bias;
}
template <class N>
__device__ __forceinline__ N scaled(N x, Absent, Absent) {
  return x;
}

// exp(x) of an element; of 16-bit rows, whose results keep 11 bits at most, by the power of two
// that a GPU has a unit for.
template <class Load, class T>
__device__ __forceinline__ Num<T> row_exp(Num<T> x) {
#if defined(__CUDA_ARCH__)
  if constexpr (Load::is_16_bit) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x.v * math::kLog2E));
    return Num<float>(y);
  }
#endif
  return exp(x);
}

// x / d for many x and one d, a normal number: with 1 / d rounded, two multiply-adds round the
// quotient as a division would (Markstein, "Computation of elementary functions on the IBM RISC
// System/6000", 1990), but for subnormal results. 16-bit rows do without.
template <class Load>
class CommonDivisor {
 public:
  using N = Num<typename Load::Value>;
  __device__ __forceinline__ explicit CommonDivisor(N d)
      : d_(d), inverse_(math::quotient(typename Load::Value(1), d.v)) {}
  __device__ __forceinline__ N divide(N x) const {
    const N q = x * inverse_;
    if constexpr (Load::is_16_bit) return q;
    return fma(fma(-q, d_, x), inverse_, q);
  }

 private:
  N d_, inverse_;
};

template <class T>
struct LaneLogSum {
  rows::RowLogSum<T> sums;
  Num<T> total;  // sum(exp(x - max))
};

// The maximum and the sum of the exponentials. kKeep: x becomes these exponentials where it is
// held. kUse, here and below: of the first of its reductions, as for reduce_lanes.
template <bool kKeep, int kSlots, int kUse = 0, class Load>
__device__ __forceinline__ auto log_sum_lanes(const LaneOf<kSlots>& at,
                                              RowValues<kSlots, Load>& x) {
  using T = typename Load::Value;
  using Values = RowValues<kSlots, Load>;
  const Num<T> m =
      reduce_values_over<rows::MaxRow, kUse, kSlots>(at, x, [](Num<T> v) { return v; });
  const auto e = [=](Num<T> v) { return row_exp<Load>(v - m); };
  Num<T> total;
  if constexpr (kKeep && Values::held) {
    each_vector<kSlots>(at, [&](int slot, auto i) {
      auto v = x.get(slot, i, at.n - i);
      for (int l = 0; l < Load::width; ++l) v.v[l] = e(v.v[l]);
      x.put(slot, v);
    });
    total = reduce_values_over<rows::SumRow, kUse + 1, kSlots>(at, x, [](Num<T> v) { return v; });
  } else {
    total = reduce_values_over<rows::SumRow, kUse + 1, kSlots>(at, x, e);
  }
  return LaneLogSum<T>{{m, log(total)}, total};
}

// x is spoilt where it is held.
template <int kUse, int kSlots, class Load, class To>
__device__ __forceinline__ void softmax_row(const LaneOf<kSlots>& at, RowValues<kSlots, Load>& x,
                                            const To& to) {
  using N = Num<typename Load::Value>;
  constexpr bool kHeld = RowValues<kSlots, Load>::held;
  const auto s = log_sum_lanes<kHeld, kSlots, kUse>(at, x);
  const CommonDivisor<Load> total(s.total);
  const N m = s.sums.max;
  to([=](N v) { return total.divide(kHeld ? v : row_exp<Load>(v - m)); }, x);
}

template <int kUse, int kSlots, class Load, class To>
__device__ __forceinline__ void log_softmax_row(const LaneOf<kSlots>& at,
                                                RowValues<kSlots, Load>& x, const To& to) {
  using T = typename Load::Value;
  const rows::RowLogSum<T> s = log_sum_lanes<false, kSlots, kUse>(at, x).sums;
  to([=](Num<T> v) { return (v - s.max) - s.log_total; }, x);
}

template <int kSlots, class Load>
__device__ __forceinline__ auto logsumexp_lanes(const LaneOf<kSlots>& at, const Load& load) {
  RowValues<kSlots, Load> x(at, load);
  return log_sum_lanes<false, kSlots>(at, x).sums.logsumexp();
}

// sum(dy * y)
template <int kSlots, int kUse = 0, class Load>
__device__ __forceinline__ auto product_sum_lanes(const LaneOf<kSlots>& at,
                                                  const RowValues<kSlots, Load>& dy,
                                                  const RowValues<kSlots, Load>& y) {
  using R = ValueReducer<rows::SumRow, typename Load::Value>;
  return reduce_over<R, kUse, kSlots, Load>(at, [&](int slot, auto i, auto left) {
    const auto g = dy.get(slot, i, left), p = y.get(slot, i, left);
    States<R, Load::width> s;
#pragma unroll
    for (int l = 0; l < Load::width; ++l) s.v[l] = g.v[l] * p.v[l];
    return s;
  });
}

template <int kUse, int kSlots, class Load, class To>
__device__ __forceinline__ void softmax_backward_row(const LaneOf<kSlots>& at,
                                                     const RowValues<kSlots, Load>& dy,
                                                     const RowValues<kSlots, Load>& y,
                                                     const To& to) {
  using N = Num<typename Load::Value>;
  const N total = product_sum_lanes<kSlots, kUse>(at, dy, y);
  to([=](N g, N p) { return p * (g - total); }, dy, y);
}

template <int kUse, int kSlots, class Load, class To>
__device__ __forceinline__ void log_softmax_backward_row(const LaneOf<kSlots>& at,
                                                         const RowValues<kSlots, Load>& dy,
                                                         const RowValues<kSlots, Load>& y,
                                                         const To& to) {
  using N = Num<typename Load::Value>;
  const N total = reduce_values_over<rows::SumRow, kUse, kSlots>(at, dy, [](N g) { return g; });
  to([=](N g, N l) { return g - exp(l) * total; }, dy, y);
}

// centre_row(): the quotient, corrected by the mean of what is left.
template <int kSlots, int kUse = 0, class Values>
__device__ __forceinline__ auto centre_lanes(const LaneOf<kSlots>& at, const Values& x) {
  using N = Num<typename Values::Value>;
  const N count(at.n);
  const N mean =
      reduce_values_over<rows::SumRow, kUse, kSlots>(at, x, [](N v) { return v; }) / count;
  const N rest =
      reduce_values_over<rows::SumRow, kUse + 1, kSlots>(at, x, [=](N v) { return v - mean; });
  return mean + rest / count;
}

template <int kSlots, int kUse = 2, class Values, class N>
__device__ __forceinline__ N squares_lanes(const LaneOf<kSlots>& at, const Values& x, N centre) {
  return reduce_values_over<rows::SumRow, kUse, kSlots>(at, x, [=](N v) {
    const N d = v - centre;
    return d * d;
  });
}

// 1 / n, and 1 / sqrt(x) within 2 last places: a division and a root take longer than a whole
// thread's share of a row.
template <class T, class I>
__device__ __forceinline__ T inverse_count(I n) {
  return math::quotient(T(1), static_cast<T>(n));
}
template <class T>
__device__ __forceinline__ Num<T> inverse_root(Num<T> x) {
#if defined(__CUDA_ARCH__)
  if constexpr (is_same_type<T, float>) {
    float y;
    asm("rsqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(x.v));
    return Num<float>(y);
  }
#endif
  return rsqrt(x);
}

// Mean and variance in two passes: the second one, around the first quotient, gives what the mean
// is off by and the squares, which are then moved to it. Squares that overflow stay infinite.
template <int kSlots, int kUse = 0, class Values, class N>
__device__ __forceinline__ auto moments_lanes(const LaneOf<kSlots>& at, const Values& x, N eps) {
  using T = typename Values::Value;
  using R = TwoSums<T>;
  const N per(inverse_count<T>(at.n));
  const N first =
      reduce_values_over<rows::SumRow, kUse, kSlots>(at, x, [](N v) { return v; }) * per;
  const auto sums = reduce_over<R, kUse + 1, kSlots, Values>(at, [&](int slot, auto i, auto left) {
    const auto v = x.get(slot, i, left);
    States<R, Values::width> s;
#pragma unroll
    for (int e = 0; e < Values::width; ++e) {
      const N d = v.v[e] - first;
      s.v[e] = {d, d * d};
    }
    return s;
  });
  const N off = sums.a * per;
  const N around = max(sums.b - sums.a * off, N(0));
  const N squares = select(sums.b == N(math::infinity()), sums.b, around);
  return rows::RowMoments<T>{first + off, inverse_root(squares * per + eps)};
}

// After moments_lanes.
template <class Values, class Weight, class Bias, class To>
__device__ __forceinline__ auto layer_norm_row(const Values& x, const Weight& weight,
                                               const Bias& bias,
                                               rows::RowMoments<typename Values::Value> m,
                                               const To& to) {
  using N = Num<typename Values::Value>;
  return to([=](N v, auto w, auto b) { return scaled(m.normal(v), w, b); }, x, weight, bias);
}

// sum(g) and sum(g * h); g(slot, i, left): a vector of dy * weight.
template <int kSlots, int kUse = 0, class Load, class G>
__device__ __forceinline__ auto norm_gradient_sums(const LaneOf<kSlots>& at, const G& g_of,
                                                   const RowValues<kSlots, Load>& x,
                                                   rows::RowMoments<typename Load::Value> m) {
  using R = TwoSums<typename Load::Value>;
  return reduce_over<R, kUse, kSlots, Load>(at, [&](int slot, auto i, auto left) {
    const auto g = g_of(slot, i, left);
    const auto v = x.get(slot, i, left);
    States<R, Load::width> s;
#pragma unroll
    for (int l = 0; l < Load::width; ++l) s.v[l] = {g.v[l], g.v[l] * m.normal(v.v[l])};
    return s;
  });
}

template <int kUse, int kSlots, class Load, class Weight, class To>
__device__ __forceinline__ void layer_norm_backward_row(
    const LaneOf<kSlots>& at, const RowValues<kSlots, Load>& dy, const RowValues<kSlots, Load>& x,
    const Weight& weight, rows::RowMoments<typename Load::Value> m, const To& to) {
  using T = typename Load::Value;
  using N = Num<T>;
  const auto gradient = [&](int slot, auto i, auto left) {
    return map_vector<T, Load::width>([](N g, auto w) { return times(g, w); },
                                      vector_at(dy, slot, i, left),
                                      vector_at(weight, slot, i, left));
  };
  const auto sums = norm_gradient_sums<kSlots, kUse>(at, gradient, x, m);
  const N per(inverse_count<T>(at.n)), mean_g = sums.a * per, mean_gh = sums.b * per;
  to([=](N g, N v, auto w) { return m.rstd * ((times(g, w) - mean_g) - m.normal(v) * mean_gh); },
     dy, x, weight);
}

// x[target] and weight[target] of a row.
template <class T>
struct TargetValues {
  Num<T> x, weight;
};
// cross_entropy_row(). of_target() -> TargetValues, called when the row has been read, so that both
// are on their way at once.
template <int kSlots, class Load, class OfTarget>
__device__ __forceinline__ auto cross_entropy_lanes(const LaneOf<kSlots>& at, const Load& load,
                                                    const OfTarget& of_target, const Load& weight,
                                                    Num<typename Load::Value> smoothing) {
  using T = typename Load::Value;
  using R = ValueReducer<rows::SumRow, T>;
  constexpr int kWidth = Load::width;
  RowValues<kSlots, Load> x(at, load);
  const rows::RowLogSum<T> row = log_sum_lanes<false, kSlots>(at, x).sums;
  const auto l = [=](Num<T> v) { return row.log_total - (v - row.max); };
  const TargetValues<T> target = of_target();
  Num<T> loss = weight.given() ? target.weight * l(target.x) : l(target.x);
  if (smoothing.v != 0) {
    const Num<T> all = reduce_over<R, 2, kSlots, Load>(at, [&](int slot, auto i, auto left) {
      const auto v = x.get(slot, i, left);
      States<R, kWidth> s;
      for (int e = 0; e < kWidth; ++e) s.v[e] = l(v.v[e]);
      if (weight.given()) {
        const auto w = weight(i, left);
        for (int e = 0; e < kWidth; ++e) s.v[e] = w.v[e] * s.v[e];
      }
      return s;
    });
    loss = (Num<T>(1) - smoothing) * loss + smoothing / Num<T>(at.n) * all;
  }
  return rows::RowLoss<T>{loss, row.logsumexp()};
}

// cross_entropy_backward_row(), every element by itself.
template <int kSlots, class Load, class Store>
__device__ __forceinline__ void cross_entropy_backward_lanes(
    const LaneOf<kSlots>& at, const Load& load, Int64 target, const Load& weight,
    Num<typename Load::Value> target_weight, Num<typename Load::Value> smoothing,
    Num<typename Load::Value> weight_sum, Num<typename Load::Value> logsumexp,
    Num<typename Load::Value> g, const Store& store) {
  using N = Num<typename Load::Value>;
  const N each = smoothing / N(at.n);
  const N hit = weight.given() ? (N(1) - smoothing) * target_weight : N(1) - smoothing;
  const N share = weight.given() ? each * target_weight : each;
  const N scale = hit + each * weight_sum;
  each_vector<kSlots>(at, [&](int, auto i) {
    const auto left = at.n - i;
    if (left <= 0) return;
    auto v = load(i, left);
    auto w = v;
    if (weight.given() && smoothing.v != 0) w = weight(i, left);
    for (int e = 0; e < Load::width; ++e) {
      const N p = scale * exp(v.v[e] - logsumexp);
      N y = p;
      if (i + e == target) {
        y = p - (share + hit);
      } else if (smoothing.v != 0) {
        y = p - (weight.given() ? each * w.v[e] : each);
      }
      v.v[e] = g * y;
    }
    store(i, left, v);
  });
}

}  // namespace INGOT_ISA
}  // namespace ingot
