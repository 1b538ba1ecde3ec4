#pragma once
// Owns the elementary functions on Num<double>: the C library's, plus the ones that it lacks. Must
// not know rows.
#include <ingot/kernels/ops/scalar.h>

namespace ingot {
inline namespace INGOT_ISA {

INGOT_INLINE Num<double> exp(Num<double> x) { return Num<double>(INGOT_LIBM(exp)(x.v)); }
INGOT_INLINE Num<double> expm1(Num<double> x) { return Num<double>(INGOT_LIBM(expm1)(x.v)); }
INGOT_INLINE Num<double> log(Num<double> x) { return Num<double>(INGOT_LIBM(log)(x.v)); }
INGOT_INLINE Num<double> log1p(Num<double> x) { return Num<double>(INGOT_LIBM(log1p)(x.v)); }
INGOT_INLINE Num<double> tanh(Num<double> x) { return Num<double>(INGOT_LIBM(tanh)(x.v)); }
INGOT_INLINE Num<double> erf(Num<double> x) { return Num<double>(INGOT_LIBM(erf)(x.v)); }
INGOT_INLINE Num<double> sin(Num<double> x) { return Num<double>(INGOT_LIBM(sin)(x.v)); }
INGOT_INLINE Num<double> cos(Num<double> x) { return Num<double>(INGOT_LIBM(cos)(x.v)); }
INGOT_INLINE Num<double> pow(Num<double> x, Num<double> y) {
  return Num<double>(INGOT_LIBM(pow)(x.v, y.v));
}
// Both branches of the textbook formula with the exponential that cannot overflow.
INGOT_INLINE Num<double> sigmoid(Num<double> x) {
  const double e = INGOT_LIBM(exp)(-INGOT_LIBM(fabs)(x.v));
  return Num<double>((x.v < 0.0 ? e : 1.0) / (1.0 + e));
}
INGOT_INLINE Num<double> normal_cdf(Num<double> x) {
  return Num<double>(0.5 * INGOT_LIBM(erfc)(x.v * -0.70710678118654752440));
}

}  // namespace INGOT_ISA
}  // namespace ingot
