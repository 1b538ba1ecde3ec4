#pragma once
// Owns the f32 elementary functions exp, expm1, log, log1p, tanh, sigmoid: branch-free, at most 2
// ulp on the whole domain (denormals, infinities and NaN included), vectorised by the compiler from
// scalar code, with the same bits in vector body and tail. Must not know rows.
// The polynomials are minimax fits made by tests/golden/fit_polynomials.py.
#include <ingot/kernels/ops/math_bits.h>

namespace ingot {
inline namespace INGOT_ISA {
namespace math {

// e^(high + low) as mantissa * 2^exponent, mantissa in [0.7, 1.42]. |high| <= 150, low is a
// correction below one ulp of high.
struct ScaledExp {
  float mantissa;
  int exponent;
};
INGOT_INLINE ScaledExp exp_parts(float high, float low = 0.0f) {
  const RoundedInt n = round_to_int(high * kLog2E);
  const float a = mad(n.real, -kLn2High, high);  // exact
  const float b = mad(n.real, -kLn2Low, low);
  const float r = a + b;
  float p = 0x1.6aaab8p-10f;
  p = mad(p, r, 0x1.123cbap-7f);
  p = mad(p, r, 0x1.555870p-5f);
  p = mad(p, r, 0x1.55548ep-3f);
  p = mad(p, r, 0x1.fffffcp-2f);
  // 1 + a + (b + r^2 p), the rounding of 1 + a being added back: 0.7 ulp instead of 1.
  const float one_a = 1.0f + a;
  return {one_a + ((a - (one_a - 1.0f)) + mad(r * r, p, b)), n.integer};
}

INGOT_INLINE float exp(float x) {
  const ScaledExp e = exp_parts(clamp(x, -105.0f, 89.0f));
  return scale(e.mantissa, e.exponent);
}

INGOT_INLINE float expm1(float x) {
  const float bounded = clamp(x, -20.0f, 89.0f);
  const RoundedInt n = round_to_int(bounded * kLog2E);
  const float r = mad(n.real, -kLn2Low, mad(n.real, -kLn2High, bounded));
  float p = 0x1.6cde5ap-10f;
  p = mad(p, r, 0x1.122ad2p-7f);
  p = mad(p, r, 0x1.555538p-5f);
  p = mad(p, r, 0x1.5554acp-3f);
  p = mad(p, r, 0.5f);
  p = mad(r * r, p, r);
  // 2^n (p + 1) - 1, halved inside so that n = 128 does not overflow early.
  const float half = power_of_two(n.integer - 1);
  const float y = 2.0f * mad(p, half, half - 0.5f);
  return INGOT_LIBM(fabsf)(x) < 1e-30f ? x : y;  // keeps denormals and the sign of zero
}

// log(2^e (1 + f)), 1 + f in [sqrt(1/2), sqrt(2)].
INGOT_INLINE float log_parts(float f, float e) {
  float p = 0x1.2e19aep-5f;
  p = mad(p, f, -0x1.996bdep-4f);
  p = mad(p, f, 0x1.fa38f8p-4f);
  p = mad(p, f, -0x1.04955cp-3f);
  p = mad(p, f, 0x1.22cb0ep-3f);
  p = mad(p, f, -0x1.54f8eap-3f);
  p = mad(p, f, 0x1.99a5e0p-3f);
  p = mad(p, f, -0x1.0000ecp-2f);
  p = mad(p, f, 0x1.555548p-2f);
  const float square = f * f;
  const float tail = mad(e, kLn2Low, square * f * p);
  return mad(e, kLn2High, f + mad(-0.5f, square, tail));
}

INGOT_INLINE float log(float x) {
  const bool tiny = x < kLeastNormal;
  const float normal = tiny ? x * 0x1p25f : x;
  const Split s = split(normal);
  const float y = log_parts(s.mantissa - 1.0f, s.exponent - (tiny ? 25.0f : 0.0f));
  return log_limits(x, y);
}

INGOT_INLINE float log1p(float x) {
  const float u = 1.0f + x;
  const Split s = split(u);
  // The rounding of 1 + x is undone by forming 2^-e (1 + x) - 1 from x itself; beyond 2^25 the sum
  // is x and 2^-e could be denormal.
  const float t = power_of_two(-int(s.exponent));
  const float f = x > 0x1p25f ? s.mantissa - 1.0f : mad(x, t, t - 1.0f);
  const float y = log_limits(u, log_parts(f, s.exponent));
  return x == 0.0f ? x : y;
}

INGOT_INLINE float tanh(float x) {
  const float a = INGOT_LIBM(fabsf)(x);
  const float z = x * x;
  float p = -0x1.9c94b8p-8f;
  p = mad(p, z, 0x1.598278p-6f);
  p = mad(p, z, -0x1.b931fcp-5f);
  p = mad(p, z, 0x1.110d6ap-3f);
  p = mad(p, z, -0x1.55554cp-2f);
  const float small = mad(x * z, p, x);
  const ScaledExp e = exp_parts(2.0f * (a > 10.0f ? 10.0f : a));
  const float large = 1.0f - 2.0f / (mad(e.mantissa, power_of_two(e.exponent), 1.0f));
  return INGOT_LIBM(copysignf)(a < 0.55f ? small : large, x);
}

INGOT_INLINE float sigmoid(float x) {
  const float a = INGOT_LIBM(fabsf)(x);
  const ScaledExp parts = exp_parts(a > 105.0f ? -105.0f : -a);
  const float e = scale(parts.mantissa, parts.exponent);
  const float sum = 1.0f + e, lost = e - (sum - 1.0f);  // what the sum's rounding dropped
  const float q = (x < 0.0f ? e : 1.0f) / sum;
  return mad(-q, lost, q);
}

#if defined(__CUDA_ARCH__)
// A GPU has units for 2^x, 1/x and log2: its library's functions (at most 2 ulp by the CUDA C++
// Programming Guide) cost half of the polynomials.
INGOT_INLINE float device_sigmoid(float x) {
  const float e = ::expf(-::fabsf(x));
  const float sum = 1.0f + e, lost = e - (sum - 1.0f);
  const float q = quotient(x < 0.0f ? e : 1.0f, sum);
  return mad(-q, lost, q);
}
#define INGOT_F32(function, x) device_##function(x)
INGOT_INLINE float device_exp(float x) { return ::expf(x); }
INGOT_INLINE float device_log(float x) { return ::logf(x); }
INGOT_INLINE float device_tanh(float x) { return ::tanhf(x); }
#else
#define INGOT_F32(function, x) function(x)
#endif

}  // namespace math

#if defined(__CUDA_ARCH__)
// rows::tanh_normal_cdf(), 1 / (1 + 2^t) by the units for 2^t and 1 / x: off by less than t's own
// rounding for negative x, by 4 ulp elsewhere. Results below 2^-126 are 0.
INGOT_INLINE Num<float> tanh_normal_cdf(Num<float> x) {
  const float t = x.v * math::mad(-0.10294323f, x.v * x.v, -2.3022082f);
  float power, y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(t));
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(1.0f + power));
  return Num<float>(y);
}
#endif

INGOT_INLINE Num<float> exp(Num<float> x) { return Num<float>(math::INGOT_F32(exp, x.v)); }
INGOT_INLINE Num<float> expm1(Num<float> x) { return Num<float>(math::expm1(x.v)); }
INGOT_INLINE Num<float> log(Num<float> x) { return Num<float>(math::INGOT_F32(log, x.v)); }
INGOT_INLINE Num<float> log1p(Num<float> x) { return Num<float>(math::log1p(x.v)); }
INGOT_INLINE Num<float> tanh(Num<float> x) { return Num<float>(math::INGOT_F32(tanh, x.v)); }
INGOT_INLINE Num<float> sigmoid(Num<float> x) { return Num<float>(math::INGOT_F32(sigmoid, x.v)); }

}  // namespace INGOT_ISA
}  // namespace ingot
