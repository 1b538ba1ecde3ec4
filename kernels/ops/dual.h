#pragma once
// Owns Dual<S>: a value with its exact derivative in one direction, over any scalar type S. It is
// the oracle of the gradient tests and what the gradient of a gradient row is made of. Must not
// know rows. `active` says whether the derivative can be other than zero: it folds away when
// inlined, and keeps 0 * inf out of derivatives and unread operands out of the marking.
#include <ingot/kernels/ops/domains.h>

namespace ingot {
inline namespace INGOT_ISA {

template <class S>
struct Dual {
  S v;
  S d;
  bool active;
  Dual() = default;
  template <class A>
  INGOT_HD explicit Dual(A constant) : v(constant), d(0), active(false) {}
  INGOT_HD Dual(S value, S derivative, bool is_active)
      : v(value), d(derivative), active(is_active) {}
  static INGOT_HD Dual constant(S value) { return Dual(value, S(0), false); }
  static INGOT_HD Dual variable(S value) { return Dual(value, S(1), true); }
};

// f(x) with the derivative `slope` at x, f(a, b) with the partial derivatives by_a and by_b.
template <class S>
INGOT_INLINE constexpr Dual<S> chain(S value, Dual<S> x, S slope) {
  return x.active ? Dual<S>(value, x.d * slope, true) : Dual<S>::constant(value);
}
template <class S>
INGOT_INLINE constexpr Dual<S> chain(S value, Dual<S> a, S by_a, Dual<S> b, S by_b) {
  if (a.active && b.active) return Dual<S>(value, a.d * by_a + b.d * by_b, true);
  if (a.active) return Dual<S>(value, a.d * by_a, true);
  if (b.active) return Dual<S>(value, b.d * by_b, true);
  return Dual<S>::constant(value);
}

template <class S>
INGOT_INLINE constexpr Dual<S> operator-(Dual<S> x) {
  return x.active ? Dual<S>(-x.v, -x.d, true) : Dual<S>::constant(-x.v);
}
template <class S>
INGOT_INLINE constexpr Dual<S> operator+(Dual<S> a, Dual<S> b) {
  const S value = a.v + b.v;
  if (a.active && b.active) return Dual<S>(value, a.d + b.d, true);
  return a.active ? Dual<S>(value, a.d, true) : Dual<S>(value, b.d, b.active);
}
template <class S>
INGOT_INLINE constexpr Dual<S> operator-(Dual<S> a, Dual<S> b) {
  return a + -b;
}
template <class S>
INGOT_INLINE constexpr Dual<S> operator*(Dual<S> a, Dual<S> b) {
  return chain(a.v * b.v, a, b.v, b, a.v);
}
template <class S>
INGOT_INLINE constexpr Dual<S> operator/(Dual<S> a, Dual<S> b) {
  return chain(a.v / b.v, a, S(1) / b.v, b, -(a.v / (b.v * b.v)));
}

#define INGOT_DUAL_COMPARE(op)                                    \
  template <class S>                                              \
  INGOT_INLINE constexpr auto operator op(Dual<S> a, Dual<S> b) { \
    return a.v op b.v;                                            \
  }
INGOT_DUAL_COMPARE(==)
INGOT_DUAL_COMPARE(!=)
INGOT_DUAL_COMPARE(<)
INGOT_DUAL_COMPARE(<=)
INGOT_DUAL_COMPARE(>)
INGOT_DUAL_COMPARE(>=)
#undef INGOT_DUAL_COMPARE

template <class C, class S>
INGOT_INLINE constexpr Dual<S> select(C condition, Dual<S> a, Dual<S> b) {
  return Dual<S>(select(condition, a.v, b.v), select(condition, a.d, b.d), a.active || b.active);
}
// A condition that is itself an operand: a mask of ones and zeros without derivative.
template <class S>
INGOT_INLINE constexpr Dual<S> select(Dual<S> condition, Dual<S> a, Dual<S> b) {
  return select(condition.v, a, b);
}
template <class S>
INGOT_INLINE constexpr auto isnan(Dual<S> x) {
  return isnan(x.v);
}
template <class S>
INGOT_INLINE constexpr Dual<S> zeros_like(Dual<S> x) {
  return Dual<S>::constant(zeros_like(x.v));
}
template <class S>
INGOT_INLINE constexpr Dual<S> max(Dual<S> a, Dual<S> b) {
  return select(a.v > b.v, a, b);
}
template <class S>
INGOT_INLINE constexpr Dual<S> min(Dual<S> a, Dual<S> b) {
  return select(a.v < b.v, a, b);
}
template <class S>
INGOT_INLINE constexpr Dual<S> abs(Dual<S> x) {
  return chain(abs(x.v), x, sign(x.v));
}

// Functions whose derivative is zero wherever it exists.
#define INGOT_DUAL_FLAT(name)                      \
  template <class S>                               \
  INGOT_INLINE constexpr Dual<S> name(Dual<S> x) { \
    return Dual<S>::constant(name(x.v));           \
  }
INGOT_DUAL_FLAT(sign)
INGOT_DUAL_FLAT(floor)
INGOT_DUAL_FLAT(ceil)
INGOT_DUAL_FLAT(trunc)
INGOT_DUAL_FLAT(round)
#undef INGOT_DUAL_FLAT

// name(x), with y = name(x.v) and u = x.v in the slope.
#define INGOT_DUAL_SMOOTH(name, slope)             \
  template <class S>                               \
  INGOT_INLINE constexpr Dual<S> name(Dual<S> x) { \
    [[maybe_unused]] const S u = x.v;              \
    const S y = name(x.v);                         \
    return chain(y, x, slope);                     \
  }
INGOT_DUAL_SMOOTH(exp, y)
INGOT_DUAL_SMOOTH(expm1, y + S(1))
INGOT_DUAL_SMOOTH(log, S(1) / u)
INGOT_DUAL_SMOOTH(log1p, S(1) / (u + S(1)))
INGOT_DUAL_SMOOTH(sqrt, S(0.5) / y)
INGOT_DUAL_SMOOTH(rsqrt, S(-0.5) * y * y * y)
INGOT_DUAL_SMOOTH(tanh, S(1) - y * y)
INGOT_DUAL_SMOOTH(sigmoid, y*(S(1) - y))
INGOT_DUAL_SMOOTH(erf, S(1.1283791670955126) * exp(-(u * u)))
INGOT_DUAL_SMOOTH(normal_cdf, S(0.3989422804014327) * exp(S(-0.5) * u * u))
INGOT_DUAL_SMOOTH(sin, cos(u))
INGOT_DUAL_SMOOTH(cos, -sin(u))
#undef INGOT_DUAL_SMOOTH

template <class S>
INGOT_INLINE constexpr Dual<S> pow(Dual<S> a, Dual<S> b) {
  const S y = pow(a.v, b.v);
  return chain(y, a, b.v * pow(a.v, b.v - S(1)), b, y * log(a.v));
}
template <class S>
INGOT_INLINE constexpr Dual<S> fmod(Dual<S> a, Dual<S> b) {
  return chain(fmod(a.v, b.v), a, S(1), b, -trunc(a.v / b.v));
}
template <class S>
INGOT_INLINE constexpr Dual<S> remainder(Dual<S> a, Dual<S> b) {
  return chain(remainder(a.v, b.v), a, S(1), b, -floor_divide(a.v, b.v));
}
template <class S>
INGOT_INLINE constexpr Dual<S> floor_divide(Dual<S> a, Dual<S> b) {
  return Dual<S>::constant(floor_divide(a.v, b.v));
}

}  // namespace INGOT_ISA
}  // namespace ingot
