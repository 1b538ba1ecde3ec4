#pragma once
// Owns elements as they lie in device memory: 16-bit floats and what they are computed in, vectors
// of 16 bytes. Must not know rows, shapes. Freestanding: this text is also part of generated
// source.
#include <ingot/kernels/ops/convert.h>
#include <ingot/kernels/ops/half.h>

namespace ingot {
inline namespace INGOT_ISA {

// From what is stored to what is computed with, and back: 16-bit floats widen and round once.
template <class T>
INGOT_INLINE Num<T> widen(T x) {
  return Num<T>(x);
}
INGOT_INLINE Num<float> widen(Half x) { return Num<float>(to_float(x)); }
INGOT_INLINE Num<float> widen(BFloat16 x) { return Num<float>(to_float(x)); }

template <class S, class T>
INGOT_INLINE S narrow(Num<T> x) {
  if constexpr (is_same_type<S, Half>) {
    return to_half(x.v);
  } else if constexpr (is_same_type<S, BFloat16>) {
    return to_bfloat16(x.v);
  } else {
    return x.v;
  }
}

// What elements are computed in.
template <class S>
struct ComputeTypeOf {
  using type = S;
};
template <>
struct ComputeTypeOf<Half> {
  using type = float;
};
template <>
struct ComputeTypeOf<BFloat16> {
  using type = float;
};

// N elements moved at once: one instruction up to 16 bytes.
template <class S, int N>
struct alignas(sizeof(S) * N) Pack {
  S v[N];
};

}  // namespace INGOT_ISA
}  // namespace ingot
