#pragma once
// Owns Num<T>, the scalar type over which rows are instantiated: arithmetic, comparisons, select,
// min and max, rounding to integers. T is float, double, a 64-bit or 32-bit integer, unsigned char
// or bool. Must not know rows, tensors or 16-bit storage, and includes no standard header: this
// text is also part of generated source.
#include <ingot/kernels/ops/isa.h>

namespace ingot {
inline namespace INGOT_ISA {

using Int64 = INGOT_INT64;

template <class T>
inline constexpr bool is_float = false;
template <>
inline constexpr bool is_float<float> = true;
template <>
inline constexpr bool is_float<double> = true;

template <class A, class B>
inline constexpr bool is_same_type = false;
template <class A>
inline constexpr bool is_same_type<A, A> = true;

// The type that integer arithmetic is done in: unsigned, so that overflow wraps instead of being
// undefined. Small types are widened once and cut back at the end of each operation.
template <class T>
struct WrapType {
  using type = T;
};
template <>
struct WrapType<Int64> {
  using type = unsigned INGOT_INT64;
};
template <>
struct WrapType<int> {
  using type = unsigned;
};
template <>
struct WrapType<unsigned char> {
  using type = unsigned;
};
template <>
struct WrapType<bool> {
  using type = unsigned;
};
template <class T>
using Wrap = typename WrapType<T>::type;

// What an element lies in memory as. A bool is a byte of 0 or 1 and is read and written as one: g++
// leaves loops over bool scalar. Num<T>(element) is right for each.
template <class T>
struct StoredType {
  using type = T;
};
template <>
struct StoredType<bool> {
  using type = unsigned char;
};
template <class T>
using Stored = typename StoredType<T>::type;

template <class T>
struct Num {
  using Value = T;
  T v;
  Num() = default;
  // Any arithmetic constant: S(0.5), S(1). A template, so that S(0) is no null pointer.
  template <class A>
  INGOT_HD explicit Num(A constant) : v(static_cast<T>(constant)) {}
};

template <class T>
INGOT_INLINE constexpr Num<T> operator+(Num<T> a, Num<T> b) {
  return Num<T>(Wrap<T>(a.v) + Wrap<T>(b.v));
}
template <class T>
INGOT_INLINE constexpr Num<T> operator-(Num<T> a, Num<T> b) {
  return Num<T>(Wrap<T>(a.v) - Wrap<T>(b.v));
}
template <class T>
INGOT_INLINE constexpr Num<T> operator*(Num<T> a, Num<T> b) {
  return Num<T>(Wrap<T>(a.v) * Wrap<T>(b.v));
}
// Floating only: integers divide through floor_divide(), or are converted first (true division).
template <class T>
requires is_float<T> INGOT_INLINE constexpr Num<T> operator/(Num<T> a, Num<T> b) {
  return Num<T>(a.v / b.v);
}
// Not 0 - x: the negative of +0 is -0.
template <class T>
INGOT_INLINE constexpr Num<T> operator-(Num<T> a) {
  return Num<T>(-Wrap<T>(a.v));
}

template <class T>
INGOT_INLINE constexpr Num<bool> operator==(Num<T> a, Num<T> b) {
  return Num<bool>(a.v == b.v);
}
template <class T>
INGOT_INLINE constexpr Num<bool> operator!=(Num<T> a, Num<T> b) {
  return Num<bool>(a.v != b.v);
}
template <class T>
INGOT_INLINE constexpr Num<bool> operator<(Num<T> a, Num<T> b) {
  return Num<bool>(a.v < b.v);
}
template <class T>
INGOT_INLINE constexpr Num<bool> operator<=(Num<T> a, Num<T> b) {
  return Num<bool>(a.v <= b.v);
}
template <class T>
INGOT_INLINE constexpr Num<bool> operator>(Num<T> a, Num<T> b) {
  return Num<bool>(a.v > b.v);
}
template <class T>
INGOT_INLINE constexpr Num<bool> operator>=(Num<T> a, Num<T> b) {
  return Num<bool>(a.v >= b.v);
}

// Both operands are evaluated: no branch.
INGOT_INLINE constexpr Num<bool> operator&(Num<bool> a, Num<bool> b) {
  return Num<bool>(bool(a.v & b.v));
}
INGOT_INLINE constexpr Num<bool> operator|(Num<bool> a, Num<bool> b) {
  return Num<bool>(bool(a.v | b.v));
}
INGOT_INLINE constexpr Num<bool> operator!(Num<bool> a) { return Num<bool>(!a.v); }

template <class T>
INGOT_INLINE constexpr Num<T> select(Num<bool> condition, Num<T> a, Num<T> b) {
  return Num<T>(condition.v ? a.v : b.v);
}

template <class T>
INGOT_INLINE constexpr Num<bool> isnan(Num<T> x) {
  return Num<bool>(x.v != x.v);
}

// Zero, on the account of x: what a rule returns that is zero wherever x is known.
template <class T>
INGOT_INLINE constexpr Num<T> zeros_like(Num<T>) {
  return Num<T>(0);
}

// The larger (smaller) operand; NaN if either is NaN; the second operand if they are equal, so
// max(+0, -0) is -0. One documented answer, and two instructions.
template <class T>
INGOT_INLINE constexpr Num<T> max(Num<T> a, Num<T> b) {
  const T larger = a.v > b.v ? a.v : b.v;
  if constexpr (is_float<T>) return Num<T>(a.v != a.v ? a.v : larger);
  return Num<T>(larger);
}
template <class T>
INGOT_INLINE constexpr Num<T> min(Num<T> a, Num<T> b) {
  const T smaller = a.v < b.v ? a.v : b.v;
  if constexpr (is_float<T>) return Num<T>(a.v != a.v ? a.v : smaller);
  return Num<T>(smaller);
}

template <class T>
INGOT_INLINE constexpr Num<T> abs(Num<T> x) {
  if constexpr (is_same_type<T, float>) {
    return Num<T>(INGOT_LIBM(fabsf)(x.v));
  } else if constexpr (is_same_type<T, double>) {
    return Num<T>(INGOT_LIBM(fabs)(x.v));
  } else {
    return select(x < Num<T>(0), -x, x);  // the identity for u8; the least integer wraps to itself
  }
}

// -1, 0 or 1; 0 for both zeros and for NaN, as in PyTorch.
template <class T>
INGOT_INLINE constexpr Num<T> sign(Num<T> x) {
  return Num<T>(int(x.v > T(0)) - int(x.v < T(0)));
}

INGOT_INLINE Num<float> copysign(Num<float> magnitude, Num<float> sign) {
  return Num<float>(INGOT_LIBM(copysignf)(magnitude.v, sign.v));
}
INGOT_INLINE Num<double> copysign(Num<double> magnitude, Num<double> sign) {
  return Num<double>(INGOT_LIBM(copysign)(magnitude.v, sign.v));
}

// One rounding on every level; a library call where the CPU has no such instruction.
INGOT_INLINE Num<float> fma(Num<float> a, Num<float> b, Num<float> c) {
  return Num<float>(INGOT_LIBM(fmaf)(a.v, b.v, c.v));
}
INGOT_INLINE Num<double> fma(Num<double> a, Num<double> b, Num<double> c) {
  return Num<double>(INGOT_LIBM(fma)(a.v, b.v, c.v));
}

INGOT_INLINE Num<float> sqrt(Num<float> x) { return Num<float>(INGOT_LIBM(sqrtf)(x.v)); }
INGOT_INLINE Num<double> sqrt(Num<double> x) { return Num<double>(INGOT_LIBM(sqrt)(x.v)); }
// 1 / sqrt(x) with both roundings: infinite with the sign of a zero, NaN below zero.
INGOT_INLINE Num<float> rsqrt(Num<float> x) { return Num<float>(1.0f / INGOT_LIBM(sqrtf)(x.v)); }
INGOT_INLINE Num<double> rsqrt(Num<double> x) { return Num<double>(1.0 / INGOT_LIBM(sqrt)(x.v)); }

}  // namespace INGOT_ISA
}  // namespace ingot
