#pragma once
// Owns sin and cos in f32 for every argument up to the largest float, with the same promises as
// math_f32.h. Must not know rows. Polynomials: tests/golden/fit_polynomials.py.
#include <ingot/kernels/ops/math_bits.h>

namespace ingot {
inline namespace INGOT_ISA {
namespace math {

// An angle as quadrant + fraction in units of pi / 2: |fraction| <= 1/2, quadrant in [-2, 2].
struct Angle {
  double quadrant;
  double fraction;
};

// wide * piece modulo one turn; wide holds a float and piece 28 bits, so every step is exact.
INGOT_INLINE double turns_of(double wide, double piece) {
  const double product = wide * piece;
  return product - round_even(product);
}

// 1 / (2 pi) is cut into pieces of 28 bits. Whole turns are dropped piece by piece, without error
// however large x is; the products of the last two pieces are below a turn, and what follows them
// is below 2^-68 turns.
INGOT_INLINE Angle reduce_angle(float x) {
  const double wide = double(x);
  double turns = turns_of(wide, 0x1.45f306cp-3) + turns_of(wide, 0x1.c9c882ap-31);
  turns -= round_even(turns);
  turns += turns_of(wide, 0x1.4fe13a8p-61);
  turns -= round_even(turns);
  turns += turns_of(wide, 0x1.f47d4dp-88);
  turns -= round_even(turns);
  turns += turns_of(wide, 0x1.bb81b6cp-115);
  turns += wide * 0x1.4acc9ep-145;
  turns += wide * 0x1.0e4107cp-172;
  turns -= round_even(turns);
  const double quarters = 4.0 * turns;
  const double quadrant = round_even(quarters);
  return {quadrant, quarters - quadrant};
}

// sin(pi/2 f) and cos(pi/2 f), |f| <= 1/2.
INGOT_INLINE double sin_quarter(double f) {
  const double z = f * f;
  double p = 0x1.4bc0e3826fc31p-13;
  p = mad(p, z, -0x1.32ca80334142fp-8);
  p = mad(p, z, 0x1.466bba80f0625p-4);
  p = mad(p, z, -0x1.4abbce563de47p-1);
  p = mad(p, z, 0x1.921fb5443ae9bp+0);
  return f * p;
}
INGOT_INLINE double cos_quarter(double f) {
  const double z = f * f;
  double p = 0x1.d9d2f8ea4d863p-11;
  p = mad(p, z, -0x1.55c5d70f75557p-6);
  p = mad(p, z, 0x1.03c1dd844d2bbp-2);
  p = mad(p, z, -0x1.3bd3cc7b5adf8p+0);
  return mad(p, z, 1.0);
}

INGOT_INLINE float sin(float x) {
  const Angle angle = reduce_angle(x);
  const double q = angle.quadrant;
  const double odd = q * q;  // 1 for the quadrants where cos stands in
  const double y = odd == 1.0 ? cos_quarter(angle.fraction) : sin_quarter(angle.fraction);
  const bool negative = (q < 0.0) | (q == 2.0);
  return x == 0.0f ? x : float(negative ? -y : y);
}

INGOT_INLINE float cos(float x) {
  const Angle angle = reduce_angle(x);
  const double q = angle.quadrant;
  const double odd = q * q;
  const double y = odd == 1.0 ? sin_quarter(angle.fraction) : cos_quarter(angle.fraction);
  const bool negative = (q == 1.0) | (odd == 4.0);
  return float(negative ? -y : y);
}

}  // namespace math

INGOT_INLINE Num<float> sin(Num<float> x) { return Num<float>(math::sin(x.v)); }
INGOT_INLINE Num<float> cos(Num<float> x) { return Num<float>(math::cos(x.v)); }

}  // namespace INGOT_ISA
}  // namespace ingot
