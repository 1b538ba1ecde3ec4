#pragma once
// ROWS: the composites that work along an axis, one function for one row. Owns: the formulas of
// softmax, log_softmax, logsumexp, layer_norm, cross_entropy and their gradients. Must not know:
// strides, threads, 16-bit storage. Freestanding: generated code calls these functions by name.
//
// Rows are contiguous, of the compute type (float or double). A result may be exactly one of the
// operands, never overlap one in part. Sums are in the order of reduce_rows.h.
#include <ingot/kernels/ops/math_f32.h>
#include <ingot/kernels/ops/math_f64.h>
#include <ingot/kernels/ops/reduce_rows.h>

namespace ingot {
inline namespace INGOT_ISA {
namespace rows {

// y[i] = f(in[i]...), f a function of values alone.
template <class T, class F, class... In>
INGOT_INLINE void map_row(Int64 n, T* y, F f, const In*... in) {
  INGOT_LOOP_INDEPENDENT
  for (Int64 i = 0; i < n; ++i) y[i] = f(Num<T>(in[i])...).v;
}

inline constexpr Int64 kMapWidth = 16;

template <class T>
struct ShortRow {
  T v[kMapWidth];
};
template <class T>
INGOT_INLINE ShortRow<T> padded(Int64 n, const T* x) {
  ShortRow<T> row;
  for (Int64 l = 0; l < kMapWidth; ++l) row.v[l] = x[l < n ? l : 0];
  return row;
}

// The same for an f of many instructions, of which a scalar tail would take longer than all the
// rest of a short row: the last n % 16 elements are computed in a whole vector, with elements
// before them, or padded. All operands are read before the result is written: it may be one of
// them.
template <class T, class F, class... In>
INGOT_INLINE void map_row_in_vectors(Int64 n, T* y, F f, const In*... in) {
  const Int64 rest = n % kMapWidth;
  if (rest == 0) return map_row(n, y, f, in...);
  T last[kMapWidth];
  if (n < kMapWidth) {
    const auto compute = [&](const auto&... row) {
      for (Int64 l = 0; l < kMapWidth; ++l) last[l] = f(Num<T>(row.v[l])...).v;
    };
    compute(padded(n, in)...);
    for (Int64 l = 0; l < n; ++l) y[l] = last[l];
    return;
  }
  const Int64 from = n - kMapWidth;
  for (Int64 l = 0; l < kMapWidth; ++l) last[l] = f(Num<T>(in[from + l])...).v;
  map_row(n - rest, y, f, in...);
  for (Int64 l = 0; l < kMapWidth; ++l) y[from + l] = last[l];
}

template <class T>
struct CentredExp {
  const T* x;
  Num<T> centre;
  INGOT_HD Num<T> value(Num<T> v) const { return exp(v - centre); }
  INGOT_HD Num<T> operator()(Int64 i) const { return value(Num<T>(x[i])); }
  INGOT_HD void fill(Int64 begin, Int64 n, T* piece) const {
    const CentredExp self = *this;
    map_row_in_vectors(
        n, piece, [=](Num<T> v) { return self.value(v); }, x + begin);
  }
};

template <class T>
INGOT_INLINE Num<T> max_row(Int64 n, const T* x) {
  return reduce_row<MaxRow>(n, Elements<T>{x});
}
template <class T>
INGOT_INLINE Num<T> sum_row(Int64 n, const T* x) {
  return reduce_row<SumRow>(n, Elements<T>{x});
}

// exp(x - max) / sum(exp(x - max)). NaN throughout when the row holds NaN or +inf, or only -inf.
template <class T>
INGOT_INLINE void softmax_row(Int64 n, const T* x, T* y) {
  CentredExp<T>{x, max_row(n, x)}.fill(0, n, y);
  const Num<T> total = sum_row(n, y);
  map_row(
      n, y, [=](Num<T> e) { return e / total; }, y);
}

// (x - max) - log(sum(exp(x - max)))
template <class T>
INGOT_INLINE void log_softmax_row(Int64 n, const T* x, T* y) {
  const Num<T> m = max_row(n, x);
  const Num<T> log_total = log(reduce_row<SumRow>(n, CentredExp<T>{x, m}));
  map_row(
      n, y, [=](Num<T> v) { return (v - m) - log_total; }, x);
}

// y * (dy - sum(dy * y))
template <class T>
INGOT_INLINE void softmax_backward_row(Int64 n, const T* dy, const T* y, T* dx) {
  const Num<T> total = reduce_row<SumRow>(n, Products<T>{dy, y});
  map_row(
      n, dx, [=](Num<T> g, Num<T> p) { return p * (g - total); }, dy, y);
}

// dy - exp(y) * sum(dy)
template <class T>
INGOT_INLINE void log_softmax_backward_row(Int64 n, const T* dy, const T* y, T* dx) {
  const Num<T> total = sum_row(n, dy);
  map_row_in_vectors(
      n, dx, [=](Num<T> g, Num<T> l) { return g - exp(l) * total; }, dy, y);
}

template <class T>
struct RowLogSum {
  Num<T> max, log_total;  // log_total = log(sum(exp(x - max)))

  // An infinite maximum is the result; -inf that of an empty row.
  INGOT_HD Num<T> logsumexp() const {
    return select(abs(max) == Num<T>(math::infinity()), max, max + log_total);
  }
};

template <class T>
INGOT_INLINE RowLogSum<T> row_log_sum(Int64 n, const T* x) {
  const Num<T> m = max_row(n, x);
  return {m, log(reduce_row<SumRow>(n, CentredExp<T>{x, m}))};
}

// max + log(sum(exp(x - max)))
template <class T>
INGOT_INLINE Num<T> logsumexp_row(Int64 n, const T* x) {
  return row_log_sum(n, x).logsumexp();
}

// The sum divided once, then corrected by the mean of what is left: exact for a constant row, of
// which the first quotient may be off by a rounding. mean() itself is the first quotient.
template <class T>
INGOT_INLINE Num<T> centre_row(Int64 n, const T* x) {
  const Num<T> count(n);
  const Num<T> mean = sum_row(n, x) / count;
  return mean + reduce_row<SumRow>(n, Centred<T>{x, mean}) / count;
}

// The sum of squared differences from the centre. In the row's own type: squares of differences
// beyond 1.8e19 overflow and below 1e-23 underflow in f32, on every path alike.
template <class T>
INGOT_INLINE Num<T> squares_row(Int64 n, const T* x, Num<T> centre) {
  return reduce_row<SumRow>(n, CentredSquare<T>{x, centre});
}

template <class T>
struct RowMoments {
  Num<T> mean, rstd;  // 1 / sqrt(variance + eps), the variance divided by n

  INGOT_HD Num<T> normal(Num<T> x) const { return (x - mean) * rstd; }
};

template <class T>
INGOT_INLINE RowMoments<T> row_moments(Int64 n, const T* x, Num<T> eps) {
  const Num<T> mean = centre_row(n, x);
  return {mean, rsqrt(squares_row(n, x, mean) / Num<T>(n) + eps)};
}

// (x - mean) * rstd * weight + bias; weight and bias may be null.
template <class T>
INGOT_INLINE RowMoments<T> layer_norm_row(Int64 n, const T* x, const T* weight, const T* bias,
                                          Num<T> eps, T* y) {
  using N = Num<T>;
  const RowMoments<T> m = row_moments(n, x, eps);
  if (weight && bias) {
    map_row(
        n, y, [=](N v, N w, N b) { return m.normal(v) * w + b; }, x, weight, bias);
  } else if (weight) {
    map_row(
        n, y, [=](N v, N w) { return m.normal(v) * w; }, x, weight);
  } else if (bias) {
    map_row(
        n, y, [=](N v, N b) { return m.normal(v) + b; }, x, bias);
  } else {
    map_row(
        n, y, [=](N v) { return m.normal(v); }, x);
  }
  return m;
}

// With g = dy * weight (null: dy) and h = (x - mean) * rstd:
// rstd * ((g - mean(g)) - h * mean(g * h)).
template <class T>
INGOT_INLINE void layer_norm_backward_row(Int64 n, const T* dy, const T* x, const T* weight,
                                          RowMoments<T> m, T* dx) {
  using N = Num<T>;
  const N count(n);
  N mean_g, mean_gh;
  const auto value = [&](N g, N v) { return m.rstd * ((g - mean_g) - m.normal(v) * mean_gh); };
  if (weight) {
    const Products<T> g{dy, weight};
    mean_g = reduce_row<SumRow>(n, g) / count;
    mean_gh = reduce_row<SumRow>(n, [=](Int64 i) { return g(i) * m.normal(N(x[i])); }) / count;
    map_row(
        n, dx, [=](N d, N w, N v) { return value(d * w, v); }, dy, weight, x);
  } else {
    mean_g = sum_row(n, dy) / count;
    mean_gh = reduce_row<SumRow>(n, [=](Int64 i) { return N(dy[i]) * m.normal(N(x[i])); }) / count;
    map_row(
        n, dx, [=](N d, N v) { return value(d, v); }, dy, x);
  }
}

// One row's term of the gradient of weight, which is a column sum (add_rows): dy * h.
template <class T>
INGOT_INLINE Num<T> layer_norm_weight_term(Num<T> dy, Num<T> x, RowMoments<T> m) {
  return dy * m.normal(x);
}

template <class T>
struct RowLoss {
  Num<T> loss, logsumexp;
};

// With l = -log_softmax(x), w the class weights (null: all 1) and s the label smoothing:
// (1 - s) w[target] l[target] + s / n * sum_c(w[c] l[c]), 0 <= target < n.
template <class T>
INGOT_INLINE RowLoss<T> cross_entropy_row(Int64 n, const T* x, Int64 target, const T* weight,
                                          Num<T> smoothing) {
  const RowLogSum<T> row = row_log_sum(n, x);
  const auto l = [=](Int64 i) { return row.log_total - (Num<T>(x[i]) - row.max); };
  Num<T> loss = weight ? Num<T>(weight[target]) * l(target) : l(target);
  if (smoothing.v != 0) {
    const Num<T> all =
        weight ? reduce_row<SumRow>(n, [=](Int64 i) { return Num<T>(weight[i]) * l(i); })
               : reduce_row<SumRow>(n, l);
    loss = (Num<T>(1) - smoothing) * loss + smoothing / Num<T>(n) * all;
  }
  return {loss, row.logsumexp()};
}

// The sum of the class weights, needed by the gradient under smoothing.
template <class T>
INGOT_INLINE Num<T> class_weight_sum(Int64 n, const T* weight) {
  return weight ? sum_row(n, weight) : Num<T>(n);
}

// dx of cross_entropy_row for the gradient g of its loss; logsumexp as it returned it.
template <class T>
INGOT_INLINE void cross_entropy_backward_row(Int64 n, const T* x, Int64 target, const T* weight,
                                             Num<T> smoothing, Num<T> weight_sum, Num<T> logsumexp,
                                             Num<T> g, T* dx) {
  using N = Num<T>;
  const N each = smoothing / N(n);
  const N hit = weight ? (N(1) - smoothing) * N(weight[target]) : N(1) - smoothing;
  const N share = weight ? each * N(weight[target]) : each;
  const N scale = hit + each * weight_sum;
  const auto p = [=](N v) { return scale * exp(v - logsumexp); };
  const N at_target = g * (p(N(x[target])) - (share + hit));
  if (smoothing.v == 0) {
    map_row_in_vectors(
        n, dx, [=](N v) { return g * p(v); }, x);
  } else if (weight) {
    map_row_in_vectors(
        n, dx, [=](N v, N w) { return g * (p(v) - each * w); }, x, weight);
  } else {
    map_row_in_vectors(
        n, dx, [=](N v) { return g * (p(v) - each); }, x);
  }
  dx[target] = at_target.v;
}

}  // namespace rows
}  // namespace INGOT_ISA
}  // namespace ingot
