#pragma once
// Two neighbouring elements as one value. Owns: Twin, of which 16-bit floats fill one register,
// and what a GPU does to both at once: rounding, sums, products; vectors of twins in memory. Must
// not know rows, shapes. Freestanding: this text is also part of generated source.
#include <ingot/kernels/cuda/elements.h>

namespace ingot {
inline namespace INGOT_ISA {

template <class S>
struct Twin {
  Num<S> a, b;
};
// The first element is the lower half.
template <>
struct Twin<Half> {
  unsigned bits;
};
template <>
struct Twin<BFloat16> {
  unsigned bits;
};

template <class S>
INGOT_INLINE Num<S> low(Twin<S> x) {
  return x.a;
}
template <class S>
INGOT_INLINE Num<S> high(Twin<S> x) {
  return x.b;
}
INGOT_INLINE Num<float> low(Twin<Half> x) {
  return widen(Half{static_cast<unsigned short>(x.bits)});
}
INGOT_INLINE Num<float> high(Twin<Half> x) {
  return widen(Half{static_cast<unsigned short>(x.bits >> 16)});
}
INGOT_INLINE Num<float> low(Twin<BFloat16> x) {
  return Num<float>(math::from_bits(int(x.bits << 16)));
}
INGOT_INLINE Num<float> high(Twin<BFloat16> x) {
  return Num<float>(math::from_bits(int(x.bits & 0xffff0000u)));
}
// A number for both.
template <class T>
INGOT_INLINE Num<T> low(Num<T> x) {
  return x;
}
template <class T>
INGOT_INLINE Num<T> high(Num<T> x) {
  return x;
}

// Each rounded once to what is stored.
template <class S, class T>
INGOT_INLINE Twin<S> twin(Num<T> a, Num<T> b) {
  if constexpr (is_same_type<S, Half> || is_same_type<S, BFloat16>) {
    unsigned bits = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    if constexpr (is_same_type<S, Half>) {
      asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(b.v), "f"(a.v));
    } else {
      asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(b.v), "f"(a.v));
    }
#else
    bits = unsigned(narrow<S>(a).bits) | unsigned(narrow<S>(b).bits) << 16;
#endif
    return {bits};
  } else {
    return {a, b};
  }
}

// What both elements of 16-bit floats go through in one instruction.
enum class Packed { none, sum, difference, product };

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
template <Packed op>
INGOT_INLINE unsigned packed_bits(Half, unsigned a, unsigned b) {
  unsigned y = 0;
  if constexpr (op == Packed::sum) asm("add.rn.f16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b));
  if constexpr (op == Packed::difference) {
    asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b));
  }
  if constexpr (op == Packed::product) asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b));
  return y;
}
template <Packed op>
INGOT_INLINE unsigned packed_bits(BFloat16, unsigned a, unsigned b) {
  unsigned y = 0;
#if __CUDA_ARCH__ >= 900
  if constexpr (op == Packed::sum) asm("add.rn.bf16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b));
  if constexpr (op == Packed::difference) {
    asm("sub.rn.bf16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b));
  }
  if constexpr (op == Packed::product) asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b));
#else  // the fused operation only: a * 1 + b, b * -1 + a, a * b + -0
  const unsigned by = op == Packed::sum ? 0x3f803f80u : op == Packed::difference ? 0xbf80bf80u : b;
  const unsigned x = op == Packed::difference ? b : a;
  const unsigned plus = op == Packed::sum ? b : op == Packed::difference ? a : 0x80008000u;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(y) : "r"(x), "r"(by), "r"(plus));
#endif
  return y;
}
#endif

// Rounded once: the bits of the f32 operation rounded again, which has more than twice the digits
// of either type.
template <Packed op, class S>
INGOT_INLINE Twin<S> packed(Twin<S> a, Twin<S> b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  return {packed_bits<op>(S{}, a.bits, b.bits)};
#else
  if constexpr (op == Packed::sum) return twin<S>(low(a) + low(b), high(a) + high(b));
  if constexpr (op == Packed::difference) return twin<S>(low(a) - low(b), high(a) - high(b));
  return twin<S>(low(a) * low(b), high(a) * high(b));
#endif
}

// W elements, W even: in memory as they are, else as twins.
template <class S, int W>
union Twins {
  Pack<S, W> pack;
  Twin<S> at[W / 2];

  INGOT_HD void load(const S* p) { pack = *reinterpret_cast<const Pack<S, W>*>(p); }
  INGOT_HD void store(S* p) const { *reinterpret_cast<Pack<S, W>*>(p) = pack; }
  // The first `count` of them, `stride` apart.
  INGOT_HD void load(const S* p, Int64 stride, int count) {
    for (int e = 0; e < W; ++e) {
      if (e < count) pack.v[e] = p[e * stride];
    }
  }
  INGOT_HD void store(S* p, Int64 stride, int count) const {
    for (int e = 0; e < W; ++e) {
      if (e < count) p[e * stride] = pack.v[e];
    }
  }
  INGOT_HD void fill(S value) {
    for (int e = 0; e < W; ++e) pack.v[e] = value;
  }
};

// From a vector in memory to what is computed with, and back. By value: a reference into memory
// would be read an element at a time.
template <class S, int W, class T>
INGOT_INLINE void widen_all(Pack<S, W> from, Num<T>* to) {
  if constexpr (is_same_type<S, T>) {
    for (int e = 0; e < W; ++e) to[e] = Num<T>(from.v[e]);
  } else {
    Twins<S, W> x;
    x.pack = from;
    for (int l = 0; l < W / 2; ++l) {
      to[2 * l] = low(x.at[l]);
      to[2 * l + 1] = high(x.at[l]);
    }
  }
}
template <class S, int W, class T>
INGOT_INLINE Pack<S, W> narrow_all(const Num<T>* from) {
  if constexpr (is_same_type<S, T>) {
    Pack<S, W> to;
    for (int e = 0; e < W; ++e) to.v[e] = from[e].v;
    return to;
  } else {
    Twins<S, W> y;
    for (int l = 0; l < W / 2; ++l) y.at[l] = twin<S>(from[2 * l], from[2 * l + 1]);
    return y.pack;
  }
}

}  // namespace INGOT_ISA
}  // namespace ingot
