#pragma once
// Owns pow in f32: 2^(y log2|x|) in double, which leaves nearly the rounding of the result as the
// only error, then the special cases of C's pow. Branch-free, vectorised like math_f32.h. Must not
// know rows. Polynomials: tests/golden/fit_polynomials.py.
#include <ingot/kernels/ops/math_bits.h>

namespace ingot {
inline namespace INGOT_ISA {
namespace math {

// log2 of a positive finite float, relative error below 2^-37.
INGOT_INLINE double log2_wide(float x) {
  const bool tiny = x < kLeastNormal;
  const Split parts = split(tiny ? x * 0x1p25f : x);
  const double m = double(parts.mantissa);
  const double s = (m - 1.0) / (m + 1.0), z = s * s;
  double p = 0x1.5ced4e2f9682bp-2;
  p = mad(p, z, 0x1.a58d471da185fp-2);
  p = mad(p, z, 0x1.2777806d36259p-1);
  p = mad(p, z, 0x1.ec709d122892ap-1);
  p = mad(p, z, 0x1.71547652bee71p+1);
  return mad(s, p, double(parts.exponent - (tiny ? 25.0f : 0.0f)));
}

// 2^x for |x| <= 300, relative error below 2^-28.
INGOT_INLINE double exp2_wide(double x) {
  const double magic = 0x1.8p52;
  const double shifted = x + magic;
  const double f = x - (shifted - magic);
  double p = 0x1.4429323735f4cp-13;
  p = mad(p, f, 0x1.5f4a028d1f1ffp-10);
  p = mad(p, f, 0x1.3b2a3a4fd6b0ap-7);
  p = mad(p, f, 0x1.c6aec953eabf4p-5);
  p = mad(p, f, 0x1.ebfbe020ce6d5p-3);
  p = mad(p, f, 0x1.62e430d3508a4p-1);
  p = mad(p, f, 1.0);
  // The integer stands in the low bits of `shifted`; moved up, it is the exponent of 2^n.
  const auto bits = static_cast<unsigned INGOT_INT64>(to_bits(shifted));
  return p * from_bits(Int64((bits << 52) + 0x3ff0000000000000u));
}

// pow(x, 0) = pow(1, y) = 1 even for NaN; pow(-1, +-inf) = 1; a negative finite x with an exponent
// that is no integer gives NaN; the sign of x survives odd exponents only.
INGOT_INLINE float pow(float x, float y) {
  const float a = INGOT_LIBM(fabsf)(x);
  const float log_zero = y > 0.0f ? -300.0f : 300.0f;  // y * log2(a) where a is 0
  double exponent = double(y) * log2_wide(a);
  exponent = exponent > 300.0 ? 300.0 : exponent;
  exponent = exponent < -300.0 ? -300.0 : exponent;
  exponent = a == 0.0f ? double(log_zero) : exponent;
  exponent = a == infinity() ? -double(log_zero) : exponent;
  const float magnitude = float(exp2_wide(exponent));

  const float half = 0.5f * y;
  const bool integer = round_even(y) == y;
  const bool odd = integer & (round_even(half) != half);
  const bool negative = to_bits(x) < 0;
  const bool undefined = (x < 0.0f) & (a < infinity()) & !integer;
  const bool unknown = (x != x) | (y != y);
  const bool infinite_exponent = INGOT_LIBM(fabsf)(y) == infinity();
  const bool one = (y == 0.0f) | (x == 1.0f) | ((a == 1.0f) & infinite_exponent);
  float result = (negative & odd) ? -magnitude : magnitude;
  result = undefined ? quiet_nan() : result;
  result = unknown ? x + y : result;
  return one ? 1.0f : result;
}

}  // namespace math

INGOT_INLINE Num<float> pow(Num<float> x, Num<float> y) { return Num<float>(math::pow(x.v, y.v)); }

}  // namespace INGOT_ISA
}  // namespace ingot
