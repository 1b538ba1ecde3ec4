// Owns: the vector type of the level that is being compiled, and what products do with it:
// load, store, splat, multiply-add, transpose a square of vectors, sum the lanes.
// Must not know: matrices. Included by kernel units only; everything is inlined.
#pragma once

#include <cstdint>
#include <utility>

#if defined(__FMA__) || defined(__AVX512F__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include <ingot/kernels/ops/isa.h>

namespace ingot {
inline namespace INGOT_ISA {
namespace product {

using Index = std::int64_t;

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

template <class T>
inline constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));

template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(kVectorBytes)));
  typedef T unaligned __attribute__((vector_size(kVectorBytes), aligned(sizeof(T)), may_alias));
};
template <class T>
using Vector = typename VectorOf<T>::type;

template <class T>
INGOT_INLINE Vector<T> load(const T* p) {
  return *reinterpret_cast<const typename VectorOf<T>::unaligned*>(p);
}
template <class T>
INGOT_INLINE void store(T* p, Vector<T> v) {
  *reinterpret_cast<typename VectorOf<T>::unaligned*>(p) = v;
}
// x - 0 is x for every x, -0 included, so the compilers reduce this to one broadcast.
template <class T>
INGOT_INLINE Vector<T> splat(T x) {
  return x - Vector<T>{};
}

// a * b + c: one rounding where the level has the instruction, two on the x86-64 baseline.
template <class T>
INGOT_INLINE Vector<T> multiply_add(Vector<T> a, Vector<T> b, Vector<T> c) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4)
    return Vector<T>(_mm512_fmadd_ps(__m512(a), __m512(b), __m512(c)));
  else
    return Vector<T>(_mm512_fmadd_pd(__m512d(a), __m512d(b), __m512d(c)));
#elif defined(__FMA__)
  if constexpr (sizeof(T) == 4)
    return Vector<T>(_mm256_fmadd_ps(__m256(a), __m256(b), __m256(c)));
  else
    return Vector<T>(_mm256_fmadd_pd(__m256d(a), __m256d(b), __m256d(c)));
#elif defined(__aarch64__)
  if constexpr (sizeof(T) == 4) {
    return Vector<T>(vfmaq_f32(float32x4_t(c), float32x4_t(a), float32x4_t(b)));
  } else {
    return Vector<T>(vfmaq_f64(float64x2_t(c), float64x2_t(a), float64x2_t(b)));
  }
#else
  return a * b + c;
#endif
}

// The vector whose element e is element pick(e) of a followed by b.
template <class T, class Pick, int... E>
INGOT_INLINE Vector<T> shuffle(Vector<T> a, Vector<T> b, Pick, std::integer_sequence<int, E...>) {
  return __builtin_shufflevector(a, b, Pick{}(E)...);
}
template <class T, class Pick>
INGOT_INLINE Vector<T> shuffle(Vector<T> a, Vector<T> b, Pick pick) {
  return shuffle<T>(a, b, pick, std::make_integer_sequence<int, kLanes<T>>{});
}

// Swaps the off-diagonal blocks of S x S elements between rows i and i + S.
template <int S, class T>
INGOT_INLINE void swap_blocks(Vector<T>* r) {
  constexpr int W = kLanes<T>;
#pragma GCC unroll 16
  for (int i = 0; i < W; ++i) {
    if (i & S) continue;
    const Vector<T> a = r[i], b = r[i + S];
    r[i] = shuffle<T>(a, b, [](int e) { return e & S ? W + e - S : e; });
    r[i + S] = shuffle<T>(a, b, [](int e) { return e & S ? W + e : e + S; });
  }
}

// Transposes the square of kLanes vectors in place. Element order within 128-bit groups goes
// first, with patterns that are one instruction on every x86-64.
template <class T>
INGOT_INLINE void transpose(Vector<T>* r) {
  constexpr int W = kLanes<T>;
  if constexpr (sizeof(T) == 8) {
    swap_blocks<1, T>(r);
    if constexpr (W > 2) swap_blocks<2, T>(r);
    if constexpr (W > 4) swap_blocks<4, T>(r);
  } else {
#pragma GCC unroll 4
    for (int i = 0; i < W; i += 4) {
      const auto low = [](int e) { return (e & ~3) + (e & 3) / 2 + (e & 1) * W; };
      const auto high = [](int e) { return (e & ~3) + 2 + (e & 3) / 2 + (e & 1) * W; };
      const auto first = [](int e) { return (e & 2) ? W + e - 2 : e; };
      const auto second = [](int e) { return (e & 2) ? W + e : e + 2; };
      const Vector<T> a = shuffle<T>(r[i], r[i + 1], low), b = shuffle<T>(r[i + 2], r[i + 3], low);
      const Vector<T> c = shuffle<T>(r[i], r[i + 1], high);
      const Vector<T> d = shuffle<T>(r[i + 2], r[i + 3], high);
      r[i] = shuffle<T>(a, b, first);
      r[i + 1] = shuffle<T>(a, b, second);
      r[i + 2] = shuffle<T>(c, d, first);
      r[i + 3] = shuffle<T>(c, d, second);
    }
    if constexpr (W > 4) swap_blocks<4, T>(r);
    if constexpr (W > 8) swap_blocks<8, T>(r);
  }
}

// v[e] + v[e + H] in element e < H, for H = kLanes / 2, ... 1: the sum of all is element 0.
template <class T, int H = kLanes<T> / 2>
INGOT_INLINE T sum_of_lanes(Vector<T> v) {
  v = v + shuffle<T>(v, v, [](int e) { return (e + H) % kLanes<T>; });
  if constexpr (H > 1) {
    return sum_of_lanes<T, H / 2>(v);
  } else {
    return v[0];
  }
}

}  // namespace product
}  // namespace INGOT_ISA
}  // namespace ingot
