#pragma once
// Owns erf (2 ulp) and the normal distribution function (9 ulp, in the tail) in f32; otherwise the
// promises of math_f32.h. Must not know rows. Polynomials: tests/golden/fit_polynomials.py.
#include <ingot/kernels/ops/math_f32.h>

namespace ingot {
inline namespace INGOT_ISA {
namespace math {

// Near zero an odd polynomial; from 0.9 on 1 - exp(-q(|x|)), q fitted to -log(erfc).
INGOT_INLINE float erf(float x) {
  const float z = x * x;
  float p = 0x1.4d2864p-14f;
  p = mad(p, z, -0x1.a58374p-11f);
  p = mad(p, z, 0x1.543f2ap-8f);
  p = mad(p, z, -0x1.b80062p-6f);
  p = mad(p, z, 0x1.ce2d60p-4f);
  p = mad(p, z, -0x1.812740p-2f);
  p = mad(p, z, 0x1.06eba8p-3f);
  const float small = mad(x, p, x);
  const float a = INGOT_LIBM(fabsf)(x);
  const float t = a > 4.0f ? 4.0f : a;
  float q = 0x1.4fc582p-16f;
  q = mad(q, t, -0x1.baa7f6p-12f);
  q = mad(q, t, 0x1.0d8242p-8f);
  q = mad(q, t, -0x1.9911b8p-6f);
  q = mad(q, t, 0x1.ba925ap-4f);
  q = mad(q, t, 0x1.4460eep-1f);
  q = mad(q, t, 0x1.212162p+0f);
  q = mad(q, t, -0x1.44045cp-13f);
  const ScaledExp e = exp_parts(-q);
  const float large = 1.0f - e.mantissa * power_of_two(e.exponent);
  return a < 0.9f ? small : INGOT_LIBM(copysignf)(large, x);
}

// The rounding error of x * x.
INGOT_INLINE float square_error(float x, float square) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__CUDACC__)
  return INGOT_LIBM(fmaf)(x, x, -square);
#else
  const float high = from_bits(to_bits(x) & ~0xfff), low = x - high;  // 12 bits each
  return ((high * high - square) + 2.0f * high * low) + low * low;
#endif
}

// P(X < x) of the standard normal distribution: exp(-x^2 / 2) times a quotient of two polynomials
// of |x|, all of whose coefficients are positive. x^2 comes in two parts, as its rounding would
// cost 80 ulp in the tail.
INGOT_INLINE float normal_cdf(float x) {
  const float magnitude = INGOT_LIBM(fabsf)(x);
  const float a = magnitude > 14.6f ? 14.6f : magnitude;
  const float square = a * a;
  const ScaledExp e = exp_parts(-0.5f * square, -0.5f * square_error(a, square));
  float n = 0x1.bfbbdap-11f;
  n = mad(n, a, 0x1.75f4e0p-7f);
  n = mad(n, a, 0x1.211a2ep-4f);
  n = mad(n, a, 0x1.fecd90p-3f);
  n = mad(n, a, 0x1.038f14p-1f);
  n = mad(n, a, 0.5f);
  float d = 0x1.189360p-9f;
  d = mad(d, a, 0x1.d4aef2p-6f);
  d = mad(d, a, 0x1.6eba4ep-3f);
  d = mad(d, a, 0x1.4eb43cp-1f);
  d = mad(d, a, 0x1.71c5fcp+0f);
  d = mad(d, a, 0x1.cfd13ep+0f);
  d = mad(d, a, 1.0f);
  const float lower = scale(e.mantissa * quotient(n, d), e.exponent);
  return x > 0.0f ? 1.0f - lower : lower;
}

}  // namespace math

INGOT_INLINE Num<float> erf(Num<float> x) { return Num<float>(math::erf(x.v)); }
INGOT_INLINE Num<float> normal_cdf(Num<float> x) { return Num<float>(math::normal_cdf(x.v)); }

}  // namespace INGOT_ISA
}  // namespace ingot
