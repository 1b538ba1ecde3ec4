#pragma once
// Owns the 16-bit storage types and their conversions from and to float: round to nearest, ties to
// even; denormals, infinities and NaN kept. Arithmetic happens in float (Num<float>), never here.
// Integer operations only, so that loops over them vectorise at every level; a GPU has
// instructions, which give the same bits but for NaN, whose sign and payload they drop.
#include <ingot/kernels/ops/math_bits.h>

namespace ingot {
inline namespace INGOT_ISA {

struct Half {
  unsigned short bits;  // IEEE binary16
};
struct BFloat16 {
  unsigned short bits;  // the upper half of a float
};

INGOT_INLINE float to_float(BFloat16 x) { return math::from_bits(int(unsigned(x.bits) << 16)); }

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
INGOT_INLINE BFloat16 to_bfloat16(float x) {
  unsigned short bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return {bits};
}
#else
INGOT_INLINE BFloat16 to_bfloat16(float x) {
  const unsigned bits = unsigned(math::to_bits(x));
  const unsigned rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const unsigned quiet_nan = (bits >> 16) | 0x40u;
  return {static_cast<unsigned short>((bits & 0x7fffffffu) > 0x7f800000u ? quiet_nan : rounded)};
}
#endif

#if defined(__CUDA_ARCH__)
INGOT_INLINE float to_float(Half x) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(x.bits));
  return value;
}

INGOT_INLINE Half to_half(float x) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return {bits};
}
#else
INGOT_INLINE float to_float(Half x) {
  const unsigned magnitude = (x.bits & 0x7fffu) << 13;
  const unsigned sign = (x.bits & 0x8000u) << 16;
  // The multiplication moves the exponent's bias from 15 to 127, for denormals too.
  const unsigned finite = unsigned(math::to_bits(math::from_bits(int(magnitude)) * 0x1p112f));
  const unsigned special = magnitude | 0x7f800000u;
  return math::from_bits(int(sign | (magnitude >= 0x0f800000u ? special : finite)));
}

INGOT_INLINE Half to_half(float x) {
  const unsigned bits = unsigned(math::to_bits(x));
  const unsigned magnitude = bits & 0x7fffffffu;
  const unsigned odd = (magnitude >> 13) & 1u;
  const unsigned normal = (magnitude - 0x38000000u + 0xfffu + odd) >> 13;
  // Adding 1/2 puts the 2^-24 of half's denormals at the last place of the sum, rounded by the FPU.
  const float shifted = math::from_bits(int(magnitude)) + 0.5f;
  const unsigned denormal = unsigned(math::to_bits(shifted)) - 0x3f000000u;
  unsigned result = magnitude < 0x38800000u ? denormal : normal;
  result = magnitude >= 0x477ff000u ? 0x7c00u : result;  // 65520 and up round to infinity
  result = magnitude > 0x7f800000u ? 0x7e00u | (magnitude >> 13 & 0x3ffu) : result;
  return {static_cast<unsigned short>(result | (bits >> 16 & 0x8000u))};
}
#endif

}  // namespace INGOT_ISA
}  // namespace ingot
