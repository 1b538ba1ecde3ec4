// Philox4x32-10, the counter-based generator (Salmon, Moraes, Dror, Shaw: "Parallel random numbers:
// as easy as 1, 2, 3", SC 2011), and what is made of its words: uniform, normal, integer draws.
// Owns: the bits of every random op, on all devices. Must not know: which word an element uses
// (kernels/ops/structured/random.h), tensors, standard headers.
#pragma once

#include <ingot/kernels/ops/math_f32.h>
#include <ingot/kernels/ops/math_f32_trig.h>

#if defined(__CUDACC__)
#define INGOT_UNROLL_ROUNDS _Pragma("unroll")
#else
#define INGOT_UNROLL_ROUNDS _Pragma("GCC unroll 10")
#endif

namespace ingot {
inline namespace INGOT_ISA {
namespace philox {

using Word = unsigned;
using Word64 = unsigned INGOT_INT64;

struct Block {
  Word w0, w1, w2, w3;
};

// One round: two products of 32 x 32 bits, their halves crossed.
INGOT_INLINE Block round(Block c, Word k0, Word k1) {
  const Word64 a = Word64(0xd2511f53u) * c.w0, b = Word64(0xcd9e8d57u) * c.w2;
  return {Word(b >> 32) ^ c.w1 ^ k0, Word(b), Word(a >> 32) ^ c.w3 ^ k1, Word(a)};
}

// Ten rounds; the key grows by the Weyl constants of the paper between them.
INGOT_INLINE Block draw(Block counter, Word k0, Word k1) {
  Block c = counter;
  INGOT_UNROLL_ROUNDS
  for (int i = 0; i < 10; ++i) {
    c = round(c, k0, k1);
    k0 += 0x9e3779b9u;
    k1 += 0xbb67ae85u;
  }
  return c;
}

// The block of a generator: the key is the seed, the counter its 64-bit position.
INGOT_INLINE Block draw(Word64 seed, Word64 position) {
  return draw({Word(position), Word(position >> 32), 0, 0}, Word(seed), Word(seed >> 32));
}

INGOT_INLINE Word64 pair(Word low, Word high) { return Word64(high) << 32 | low; }

// [0, 1): the high 24 (53) bits, all exact.
INGOT_INLINE float uniform(Word w) { return float(int(w >> 8)) * 0x1p-24f; }
INGOT_INLINE double uniform(Word64 w) { return double(Int64(w >> 11)) * 0x1p-53; }

template <class T>
struct NormalPair {
  T first, second;
};

// Box and Muller (Annals of Mathematical Statistics 29, 1958): radius from the first word, angle
// from the second; cosine first. The radius' uniform lies in (0, 1], so that its log is finite: the
// largest |draw| is 6.67 in f32 and 8.6 in f64.
INGOT_INLINE NormalPair<float> normal(Word a, Word b) {
  const float u = float(int(a >> 1)) * 0x1p-31f + 0x1p-32f;
  const float radius = INGOT_LIBM(sqrtf)(-2.0f * math::log(u));
  // The angle's turn is cut into quarters: quadrant in [-2, 2], |fraction| <= 1/2.
  const double quarters = double(int(b)) * 0x1p-30;
  const double quadrant = math::round_even(quarters);
  const double s = math::sin_quarter(quarters - quadrant);
  const double c = math::cos_quarter(quarters - quadrant);
  const bool odd = quadrant * quadrant == 1.0;
  const bool half = quadrant * quadrant == 4.0;
  const bool left = (quadrant == 1.0) | half, low = (quadrant == -1.0) | half;
  const double cosine = odd ? s : c, sine = odd ? c : s;
  return {radius * float(left ? -cosine : cosine), radius * float(low ? -sine : sine)};
}
INGOT_INLINE NormalPair<double> normal(Word64 a, Word64 b) {
  const double u = double(Int64(a >> 11)) * 0x1p-53 + 0x1p-54;
  const double radius = INGOT_LIBM(sqrt)(-2.0 * INGOT_LIBM(log)(u));
  const double angle = 0x1.921fb54442d18p+2 * uniform(b);
  return {radius * INGOT_LIBM(cos)(angle), radius * INGOT_LIBM(sin)(angle)};
}

// [0, range) by multiplying and taking the high part. Values differ in probability by at most one
// part in 2^32 / range (2^64 / range).
INGOT_INLINE Word64 below(Word w, Word64 range) {
  // range is at most 2^32, whose product with a word still fits.
  return Word64(w) * range >> 32;
}
INGOT_INLINE Word64 below(Word64 w, Word64 range) {
  const Word64 w0 = Word(w), w1 = w >> 32, r0 = Word(range), r1 = range >> 32;
  const Word64 low = w0 * r0, mid = w1 * r0 + (low >> 32), cross = w0 * r1 + Word(mid);
  return w1 * r1 + (mid >> 32) + (cross >> 32);
}

}  // namespace philox
}  // namespace INGOT_ISA
}  // namespace ingot
