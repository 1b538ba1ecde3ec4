#pragma once
// Owns convert<To>(x) between scalar types: the one answer of every cast, on all paths.
//   float -> integer  cut towards zero; out of range saturates; NaN gives 0
//   integer -> integer  wraps        anything -> bool  x != 0 (NaN is true)
//   integer -> float, double -> float  rounds to nearest, ties to even
// Must not know rows or 16-bit storage.
#include <ingot/kernels/ops/scalar.h>

namespace ingot {
inline namespace INGOT_ISA {

// The range of an integer type as powers of two, exact in float: [low, end).
template <class To>
struct IntegerRange;
template <>
struct IntegerRange<Int64> {
  static constexpr double low = -0x1p63, end = 0x1p63;
  static constexpr Int64 least = -0x7fffffffffffffff - 1, greatest = 0x7fffffffffffffff;
};
template <>
struct IntegerRange<int> {
  static constexpr double low = -0x1p31, end = 0x1p31;
  static constexpr int least = -0x7fffffff - 1, greatest = 0x7fffffff;
};
template <>
struct IntegerRange<unsigned char> {
  static constexpr double low = 0, end = 256;
  static constexpr unsigned char least = 0, greatest = 255;
};

template <class To, class From>
INGOT_INLINE constexpr Num<To> convert(Num<From> x) {
  if constexpr (is_same_type<To, bool>) {
    return x != Num<From>(0);
  } else if constexpr (is_same_type<From, bool>) {
    return Num<To>(x.v ? To(1) : To(0));  // g++ leaves a cast from bool to a float scalar
  } else if constexpr (is_float<From> && !is_float<To>) {
    using Range = IntegerRange<To>;
    constexpr From low = From(Range::low), end = From(Range::end);
    // The cast itself sees values in range only, anything else being undefined.
    const bool fits = (x.v >= low) & (x.v < end);
    const From inside = fits ? x.v : From(0);
    if constexpr (is_same_type<To, unsigned char>) {
      const int whole = static_cast<int>(inside);
      return Num<To>(x.v >= end ? 255 : whole);
    } else {
      const To whole = static_cast<To>(inside);
      const To capped = x.v >= end ? Range::greatest : whole;
      return Num<To>(x.v < low ? Range::least : capped);
    }
  } else {
    return Num<To>(x.v);
  }
}

}  // namespace INGOT_ISA
}  // namespace ingot
