#pragma once
// Owns the pieces that the f32 functions are built from: access to bits, multiply-add, rounding to
// integers, powers of two. Must not know the functions themselves.
#include <ingot/kernels/ops/scalar.h>

namespace ingot {
inline namespace INGOT_ISA {
namespace math {

inline constexpr float kLog2E = 0x1.715476p+0f;
// ln 2 in two parts; the high one has 9 bits, so that its product with an exponent is exact.
inline constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
inline constexpr float kLeastNormal = 0x1p-126f;

#if defined(__CUDA_ARCH__)
INGOT_INLINE int to_bits(float x) { return __float_as_int(x); }
INGOT_INLINE float from_bits(int bits) { return __int_as_float(bits); }
INGOT_INLINE Int64 to_bits(double x) { return __double_as_longlong(x); }
INGOT_INLINE double from_bits(Int64 bits) { return __longlong_as_double(bits); }
#else
INGOT_INLINE int to_bits(float x) { return __builtin_bit_cast(int, x); }
INGOT_INLINE float from_bits(int bits) { return __builtin_bit_cast(float, bits); }
INGOT_INLINE Int64 to_bits(double x) { return __builtin_bit_cast(Int64, x); }
INGOT_INLINE double from_bits(Int64 bits) { return __builtin_bit_cast(double, bits); }
#endif

INGOT_INLINE float infinity() { return from_bits(0x7f800000); }
INGOT_INLINE float quiet_nan() { return from_bits(0x7fc00000); }

// a * b + c: fused where the level has the instruction (x86-64-v3 and v4, aarch64, CUDA), else two
// roundings. The functions hold their bounds either way.
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__CUDACC__)
INGOT_INLINE float mad(float a, float b, float c) { return INGOT_LIBM(fmaf)(a, b, c); }
INGOT_INLINE double mad(double a, double b, double c) { return INGOT_LIBM(fma)(a, b, c); }
#else
INGOT_INLINE float mad(float a, float b, float c) { return a * b + c; }
INGOT_INLINE double mad(double a, double b, double c) { return a * b + c; }
#endif

// a / b where b and 1 / b are normal numbers: a GPU's reciprocal made right by multiply-adds, as a
// division is but for the branch to its rare cases, which keeps elements from overlapping. A
// subnormal quotient may be off by its last place.
INGOT_INLINE float quotient(float a, float b) {
#if defined(__CUDA_ARCH__)
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(b));
  r = mad(mad(-b, r, 1.0f), r, r);
  const float q = a * r;
  return mad(mad(-b, q, a), r, q);
#else
  return a / b;
#endif
}
INGOT_INLINE double quotient(double a, double b) { return a / b; }

// NaN passes through.
INGOT_INLINE float clamp(float x, float low, float high) {
  const float y = x < low ? low : x;
  return y > high ? high : y;
}

// The nearest integer (ties to even) of |x| < 2^22, as float and int: adding 1.5 * 2^23 leaves the
// integer in the low bits.
struct RoundedInt {
  float real;
  int integer;
};
INGOT_INLINE RoundedInt round_to_int(float x) {
  const float magic = 0x1.8p23f;
  const float shifted = x + magic;
  return {shifted - magic, to_bits(shifted) - to_bits(magic)};
}

// 2^n for n in [-126, 127].
INGOT_INLINE float power_of_two(int n) { return from_bits((n + 127) << 23); }

// x * 2^n for n in [-252, 254], rounded once for |x| near 1: the first factor is exact.
INGOT_INLINE float scale(float x, int n) {
  const int half = n >> 1;
  return x * power_of_two(half) * power_of_two(n - half);
}

// x = mantissa * 2^exponent with the mantissa in [sqrt(1/2), sqrt(2)), x positive and normal.
struct Split {
  float mantissa;
  float exponent;
};
INGOT_INLINE Split split(float x) {
  const int offset = int(unsigned(to_bits(x)) - 0x3f3504f3u);  // bits of sqrt(1/2)
  const int exponent = offset >> 23;
  return {from_bits(int(unsigned(to_bits(x)) - (unsigned(exponent) << 23))), float(exponent)};
}

// y = log(x) where x is positive and finite; the limits elsewhere.
INGOT_INLINE float log_limits(float x, float y) {
  const float finite = x < infinity() ? y : x;
  const float defined = x < 0.0f ? quiet_nan() : finite;
  return x == 0.0f ? -infinity() : defined;
}

// The nearest integer, ties to even, any x.
#if defined(__SSE4_1__) || defined(__aarch64__) || defined(__CUDACC__)
INGOT_INLINE float round_even(float x) { return INGOT_LIBM(rintf)(x); }
INGOT_INLINE double round_even(double x) { return INGOT_LIBM(rint)(x); }
#else
INGOT_INLINE float round_even(float x) {
  const float a = INGOT_LIBM(fabsf)(x);
  return a < 0x1p23f ? INGOT_LIBM(copysignf)((a + 0x1p23f) - 0x1p23f, x) : x;
}
INGOT_INLINE double round_even(double x) {
  const double a = INGOT_LIBM(fabs)(x);
  return a < 0x1p52 ? INGOT_LIBM(copysign)((a + 0x1p52) - 0x1p52, x) : x;
}
#endif

}  // namespace math
}  // namespace INGOT_ISA
}  // namespace ingot
