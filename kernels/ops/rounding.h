#pragma once
// Owns rounding to whole numbers and the integer-valued divisions: floor, ceil, trunc, round, fmod,
// remainder, floor_divide, and pow of integers. Must not know rows.
#include <ingot/kernels/ops/math_bits.h>

namespace ingot {
inline namespace INGOT_ISA {
namespace math {

// Where the CPU rounds in one instruction these are the compiler's; the others go through
// round_even and step back, with the sign of x kept on a zero. Same bits either way.
#if defined(__CUDACC__)
// A result has the sign of what is rounded, zeros too; it is set once more, since -0 chosen by a
// bool came out of these instructions as +0 where the choice is between constants.
INGOT_INLINE float floor(float x) { return INGOT_LIBM(copysignf)(INGOT_LIBM(floorf)(x), x); }
INGOT_INLINE double floor(double x) { return INGOT_LIBM(copysign)(INGOT_LIBM(floor)(x), x); }
INGOT_INLINE float ceil(float x) { return INGOT_LIBM(copysignf)(INGOT_LIBM(ceilf)(x), x); }
INGOT_INLINE double ceil(double x) { return INGOT_LIBM(copysign)(INGOT_LIBM(ceil)(x), x); }
INGOT_INLINE float trunc(float x) { return INGOT_LIBM(copysignf)(INGOT_LIBM(truncf)(x), x); }
INGOT_INLINE double trunc(double x) { return INGOT_LIBM(copysign)(INGOT_LIBM(trunc)(x), x); }
INGOT_INLINE float round(float x) { return INGOT_LIBM(copysignf)(round_even(x), x); }
INGOT_INLINE double round(double x) { return INGOT_LIBM(copysign)(round_even(x), x); }
#else
INGOT_INLINE float round(float x) { return round_even(x); }
INGOT_INLINE double round(double x) { return round_even(x); }
#if defined(__SSE4_1__) || defined(__aarch64__)
INGOT_INLINE float floor(float x) { return INGOT_LIBM(floorf)(x); }
INGOT_INLINE double floor(double x) { return INGOT_LIBM(floor)(x); }
INGOT_INLINE float ceil(float x) { return INGOT_LIBM(ceilf)(x); }
INGOT_INLINE double ceil(double x) { return INGOT_LIBM(ceil)(x); }
INGOT_INLINE float trunc(float x) { return INGOT_LIBM(truncf)(x); }
INGOT_INLINE double trunc(double x) { return INGOT_LIBM(trunc)(x); }
#else
INGOT_INLINE float floor(float x) {
  const float r = round_even(x);
  return INGOT_LIBM(copysignf)(r > x ? r - 1.0f : r, x);
}
INGOT_INLINE double floor(double x) {
  const double r = round_even(x);
  return INGOT_LIBM(copysign)(r > x ? r - 1.0 : r, x);
}
INGOT_INLINE float ceil(float x) { return -floor(-x); }
INGOT_INLINE double ceil(double x) { return -floor(-x); }
INGOT_INLINE float trunc(float x) {
  const float a = INGOT_LIBM(fabsf)(x), r = round_even(a);
  return INGOT_LIBM(copysignf)(r > a ? r - 1.0f : r, x);
}
INGOT_INLINE double trunc(double x) {
  const double a = INGOT_LIBM(fabs)(x), r = round_even(a);
  return INGOT_LIBM(copysign)(r > a ? r - 1.0 : r, x);
}
#endif
#endif

}  // namespace math

// Integers are whole already. round: ties to even.
template <class T>
INGOT_INLINE Num<T> floor(Num<T> x) {
  if constexpr (is_float<T>) return Num<T>(math::floor(x.v));
  return x;
}
template <class T>
INGOT_INLINE Num<T> ceil(Num<T> x) {
  if constexpr (is_float<T>) return Num<T>(math::ceil(x.v));
  return x;
}
template <class T>
INGOT_INLINE Num<T> trunc(Num<T> x) {
  if constexpr (is_float<T>) return Num<T>(math::trunc(x.v));
  return x;
}
template <class T>
INGOT_INLINE Num<T> round(Num<T> x) {
  if constexpr (is_float<T>) return Num<T>(math::round(x.v));
  return x;
}

// The quotient of integers cut towards zero. Never traps: a zero divisor gives 0 (the documented
// answer of fmod, remainder and floor_divide too, as in NumPy), and the least integer by -1 wraps.
template <class T>
INGOT_INLINE Num<T> divide_integers(Num<T> a, Num<T> b) {
  const Num<T> zero(0), one(1), minus_one(-1);
  if constexpr (is_same_type<T, Int64>) {
    const Num<T> safe = select((b == zero) | (b == minus_one), one, b);
    const Num<T> q(a.v / safe.v);
    return select(b == zero, zero, select(b == minus_one, -a, q));
  } else {
    // 32 bits fit a double so well that the quotient, once cut, is exact; CPUs have no vector
    // instruction for integer division. 2^31 (the least integer by -1) becomes the least integer.
    const double q = double(a.v) / (b.v == T(0) ? 1.0 : double(b.v));
    const Num<T> whole(static_cast<T>(static_cast<int>(q > 2147483647.0 ? -2147483648.0 : q)));
    return select(b == zero, zero, whole);
  }
}

// The remainder with the sign of a (C's fmod); exact.
INGOT_INLINE Num<float> fmod(Num<float> a, Num<float> b) {
  return Num<float>(INGOT_LIBM(fmodf)(a.v, b.v));
}
INGOT_INLINE Num<double> fmod(Num<double> a, Num<double> b) {
  return Num<double>(INGOT_LIBM(fmod)(a.v, b.v));
}
template <class T>
INGOT_INLINE Num<T> fmod(Num<T> a, Num<T> b) {
  return select(b == Num<T>(0), Num<T>(0), a - divide_integers(a, b) * b);
}

// The remainder with the sign of b (Python's %).
template <class T>
INGOT_INLINE Num<T> remainder(Num<T> a, Num<T> b) {
  const Num<T> zero(0), r = fmod(a, b);
  const Num<bool> moves = (r != zero) & ((r < zero) != (b < zero));
  return select(moves, r + b, r);
}

// The largest whole number not above the exact quotient. Floats: from the remainder, as Python
// does, because floor(a / b) is one too high where the quotient rounds up to an integer; a / b
// where b is 0.
template <class T>
INGOT_INLINE Num<T> floor_divide(Num<T> a, Num<T> b) {
  const Num<T> zero(0), one(1), r = fmod(a, b);
  const Num<bool> steps = (r != zero) & ((r < zero) != (b < zero));
  if constexpr (is_float<T>) {
    const Num<T> quotient = (a - r) / b;  // whole, but for its rounding
    const Num<T> below = select(steps, quotient - one, quotient);
    const Num<T> cut = floor(below);
    const Num<T> whole = select(below - cut > Num<T>(0.5), cut + one, cut);
    const Num<T> signed_zero = copysign(zero, a / b);
    return select(b == zero, a / b, select(below == zero, signed_zero, whole));
  } else {
    const Num<T> quotient = divide_integers(a, b);
    return select(steps, quotient - one, quotient);
  }
}

// Integers: by squaring, wrapping. A negative exponent gives the whole part of the true value:
// 1 for 1, +-1 for -1, 0 otherwise (also for 0).
template <class T>
requires(!is_float<T>) INGOT_INLINE Num<T> pow(Num<T> base, Num<T> exponent) {
  Num<T> result(1), factor = base;
  const bool is_negative = exponent.v < T(0);
  const bool is_odd = exponent.v & 1;
  for (Wrap<T> left = is_negative ? Wrap<T>(0) : Wrap<T>(exponent.v); left != 0; left >>= 1) {
    if (left & 1) result = result * factor;
    factor = factor * factor;
  }
  const Num<T> inverse = select(base == Num<T>(1), base,
                                select(base == -Num<T>(1), is_odd ? base : Num<T>(1), Num<T>(0)));
  return select(Num<bool>(is_negative), inverse, result);
}

}  // namespace INGOT_ISA
}  // namespace ingot
