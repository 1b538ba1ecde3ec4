#pragma once
// Rows over 16-bit floats, which round after every op. Owns: which rows a GPU computes otherwise
// than in f32, with the same result: sums and products of twins, and the approximations of its
// special function units where these round right. Eager and generated kernels alike go through
// here. Must not know memory. Freestanding: this text is also part of generated source.
#include <ingot/kernels/cuda/twins.h>
#include <ingot/kernels/ops/rows.h>

namespace ingot {
inline namespace INGOT_ISA {

// The row by an approximation that gives the right S for every operand of type S; measured over all
// of them on an H200, and again by the tests on the device.
template <class Row, class S>
struct NarrowRow {
  static constexpr bool exists = false;
};
template <>
struct NarrowRow<rows::Tanh, BFloat16> {
  static constexpr bool exists = true;
  INGOT_INLINE static Num<float> value(Num<float> x) {
#if defined(__CUDA_ARCH__)
    float y;
    asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x.v));
    return Num<float>(y);
#else
    return tanh(x);
#endif
  }
};
template <>
struct NarrowRow<rows::Sigmoid, BFloat16> {
  static constexpr bool exists = true;
  INGOT_INLINE static Num<float> value(Num<float> x) {
#if defined(__CUDA_ARCH__)
    // Subnormal results, which these instructions drop, are those of exp(x).
    if (x.v < -87.0f) return exp(x);
    float e, y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(e) : "f"(x.v * -math::kLog2E));
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(1.0f + e));
    return Num<float>(y);
#else
    return sigmoid(x);
#endif
  }
};

template <class Row>
inline constexpr Packed packed_row = is_same_type<Row, rows::Add>   ? Packed::sum
                                     : is_same_type<Row, rows::Sub> ? Packed::difference
                                     : is_same_type<Row, rows::Mul> ? Packed::product
                                                                    : Packed::none;

// The row for both elements, rounded to R; an operand is a Twin or a number.
template <class Row, class R, class A, class... In>
INGOT_INLINE Twin<R> twin_value(A a, In... rest) {
  constexpr bool same = is_same_type<A, Twin<R>> && (is_same_type<In, Twin<R>> && ...);
  constexpr bool is_16_bit = is_same_type<R, Half> || is_same_type<R, BFloat16>;
  if constexpr (same && is_16_bit && packed_row<Row> != Packed::none) {
    return packed<packed_row<Row>>(a, rest...);
  } else if constexpr (same && NarrowRow<Row, R>::exists) {
    return twin<R>(NarrowRow<Row, R>::value(low(a)), NarrowRow<Row, R>::value(high(a)));
  } else {
    return twin<R>(Row::value(low(a), low(rest)...), Row::value(high(a), high(rest)...));
  }
}

// A cast; to 16 bits by way of f32.
template <class R, class In>
INGOT_INLINE Twin<R> twin_cast(In x) {
  using To = typename ComputeTypeOf<R>::type;
  return twin<R>(convert<To>(low(x)), convert<To>(high(x)));
}

}  // namespace INGOT_ISA
}  // namespace ingot
