// Scalars: integers that wrap and never trap, integer-valued divisions, conversions, 16-bit floats.

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>

#include <gtest/gtest.h>

#include <ingot/kernels/ops/rows.h>

namespace ingot {
namespace {

using F = Num<float>;
using U8 = Num<unsigned char>;
using I32 = Num<int>;
using I64 = Num<Int64>;
using B = Num<bool>;
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr int kLeast = std::numeric_limits<int>::min(), kMost = std::numeric_limits<int>::max();
constexpr Int64 kLeast64 = std::numeric_limits<Int64>::min();

TEST(Scalar, UnsignedBytesWrapAtEveryStep) {
  EXPECT_EQ(convert<int>(U8(200) + U8(200)).v, 144);
  EXPECT_EQ(convert<float>(U8(255) * U8(255)).v, 1.0f);
  EXPECT_EQ(convert<float>(-U8(7)).v, 249.0f);
  EXPECT_FALSE((-U8(6) < U8(4)).v);
  EXPECT_EQ(rows::Neg::value(rows::Abs::value(U8(200))).v, 56);
  EXPECT_EQ(rows::Square::value(U8(16)).v, 0);
}

TEST(Scalar, SignedIntegersWrap) {
  EXPECT_FALSE((I32(kMost) + I32(1) > I32(kMost)).v);
  EXPECT_EQ(convert<Int64>(I32(kMost) + I32(1)).v, kLeast);
  EXPECT_EQ((I32(kMost) * I32(2)).v, -2);
  EXPECT_EQ((-I32(kLeast)).v, kLeast);
  EXPECT_EQ(abs(I64(kLeast64)).v, kLeast64);
  EXPECT_EQ(floor_divide(I32(kMost) * I32(2), I32(2)).v, -1);
}

TEST(Scalar, BoolAddsAsOrAndMultipliesAsAnd) {
  EXPECT_TRUE(rows::Add::value(B(true), B(true)).v);
  EXPECT_FALSE(rows::Mul::value(B(true), B(false)).v);
  EXPECT_TRUE(rows::Maximum::value(B(false), B(true)).v);
}

template <class T>
void check_division(T a, T b) {
  using S = Num<T>;
  const T quotient = floor_divide(S(a), S(b)).v;
  if (b == 0) {
    EXPECT_EQ(quotient, T(0));
    EXPECT_EQ(remainder(S(a), S(b)).v, T(0));
    EXPECT_EQ(fmod(S(a), S(b)).v, T(0));
    return;
  }
  if (std::is_signed_v<T> && a == std::numeric_limits<T>::min() && b == T(-1)) {
    EXPECT_EQ(quotient, (-S(a)).v) << "the least integer by -1 wraps";
    EXPECT_EQ(remainder(S(a), S(b)).v, T(0));
    return;
  }
  T q = T(a / b), r = T(a % b);
  EXPECT_EQ(fmod(S(a), S(b)).v, r);
  if (r != 0 && ((r < 0) != (b < 0))) q = T(q - 1), r = T(r + b);
  EXPECT_EQ(quotient, q) << double(a) << " // " << double(b);
  EXPECT_EQ(remainder(S(a), S(b)).v, r) << double(a) << " % " << double(b);
}

TEST(Scalar, IntegerDivisionNeverTraps) {
  std::mt19937_64 random(1);
  const Int64 edges[] = {0, 1, -1, 2, -2, 3, 7, -7, kMost, kLeast, kMost - 1, kLeast + 1};
  for (Int64 a : edges) {
    for (Int64 b : edges) {
      check_division<int>(int(a), int(b));
      check_division<Int64>(a, b);
      check_division<unsigned char>(static_cast<unsigned char>(a), static_cast<unsigned char>(b));
    }
  }
  check_division<Int64>(kLeast64, -1);
  check_division<Int64>(kLeast64, 0);
  for (int i = 0; i < 100000; ++i) {
    const int shift = int(random() % 31);
    check_division<int>(int(random()), int(random()) >> shift);
    check_division<Int64>(Int64(random()), Int64(random()) >> (2 * shift));
  }
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      check_division<unsigned char>(static_cast<unsigned char>(a), static_cast<unsigned char>(b));
    }
  }
}

TEST(Scalar, IntegerPowerWraps) {
  EXPECT_EQ(pow(I64(3), I64(4)).v, 81);
  EXPECT_EQ(pow(I64(0), I64(0)).v, 1);
  EXPECT_EQ(pow(I32(2), I32(32)).v, 0);
  EXPECT_EQ(pow(U8(3), U8(7)).v, (2187 & 255));
  EXPECT_EQ(pow(I64(1), I64(-3)).v, 1);
  EXPECT_EQ(pow(I64(-1), I64(-3)).v, -1);
  EXPECT_EQ(pow(I64(-1), I64(-4)).v, 1);
  EXPECT_EQ(pow(I64(2), I64(-1)).v, 0);
  EXPECT_EQ(pow(I64(3), I64(kMost)).v, pow(I64(3), I64(kMost - 1)).v * 3ull);
}

TEST(Scalar, FloatFloorDivideTakesTheExactQuotient) {
  const float cases[][3] = {{1.0f, 0.1f, 9}, {0.5f, 0.1f, 4},  {6.0f, 0.2f, 29},
                            {0.7f, 0.1f, 6}, {3.0f, 0.1f, 29}, {-1.0f, 0.1f, -10},
                            {7, -2, -4},     {-0.0f, 3, -0.0f}};
  for (const auto& c : cases) {
    EXPECT_EQ(floor_divide(F(c[0]), F(c[1])).v, c[2]) << c[0] << " // " << c[1];
    EXPECT_EQ(std::signbit(floor_divide(F(c[0]), F(c[1])).v), std::signbit(c[2]));
  }
  EXPECT_EQ(floor_divide(F(1), F(0)).v, kInf);
  EXPECT_TRUE(std::isnan(floor_divide(F(0), F(0)).v));
  EXPECT_TRUE(std::isnan(remainder(F(1), F(0)).v));
  EXPECT_EQ(remainder(F(-1), F(3)).v, 2.0f);
  EXPECT_EQ(fmod(F(-1), F(3)).v, -1.0f);
}

TEST(Scalar, SignAndIsnanOfNan) {
  EXPECT_EQ(sign(F(kNan)).v, 0.0f);
  EXPECT_EQ(sign(F(-kInf)).v, -1.0f);
  EXPECT_TRUE(isnan(F(kNan)).v);
  EXPECT_FALSE(isnan(I32(3)).v);
}

TEST(Convert, FloatToIntegerSaturatesAndTakesNanAsZero) {
  const float x[] = {1.9f, -1.9f, 2147483520.0f, kNan, kInf, -kInf, 3e9f, -3e9f};
  const int want[] = {1, -1, 2147483520, 0, kMost, kLeast, kMost, kLeast};
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(convert<int>(F(x[i])).v, want[i]) << x[i];
    EXPECT_EQ(convert<int>(Num<double>(x[i])).v, want[i]) << x[i];
  }
  EXPECT_EQ(convert<Int64>(F(3e9f)).v, 3000000000);
  EXPECT_EQ(convert<Int64>(F(1e30f)).v, std::numeric_limits<Int64>::max());
  EXPECT_EQ(convert<Int64>(F(-kInf)).v, kLeast64);
  EXPECT_EQ(convert<Int64>(F(kNan)).v, 0);
  EXPECT_EQ(convert<int>(Num<double>(2147483646.9)).v, kMost - 1);
  const int bytes[] = {1, 0, 255, 0, 255, 0, 255, 0};
  for (int i = 0; i < 8; ++i) EXPECT_EQ(convert<unsigned char>(F(x[i])).v, bytes[i]) << x[i];
  EXPECT_EQ(convert<unsigned char>(F(255.99f)).v, 255);
}

TEST(Convert, IntegersWrapAndBoolIsNotZero) {
  EXPECT_EQ(convert<unsigned char>(I32(300)).v, 44);
  EXPECT_EQ(convert<unsigned char>(I32(-1)).v, 255);
  EXPECT_EQ(convert<int>(I64(Int64(1) << 33 | 5)).v, 5);
  EXPECT_TRUE(convert<bool>(I32(256)).v);
  EXPECT_TRUE(convert<bool>(F(kNan)).v);
  EXPECT_TRUE(convert<bool>(F(1e-45f)).v);
  EXPECT_FALSE(convert<bool>(F(-0.0f)).v);
  EXPECT_EQ(convert<float>(B(true)).v, 1.0f);
  EXPECT_EQ(convert<float>(I64(16777217)).v, 16777216.0f);
  EXPECT_EQ(convert<float>(Num<double>(1e300)).v, kInf);
}

// The value of a binary16 by its definition.
double half_value(unsigned bits) {
  const double sign = bits & 0x8000 ? -1 : 1;
  const int exponent = int(bits >> 10 & 31), fraction = int(bits & 1023);
  if (exponent == 31) return fraction ? std::nan("") : sign * HUGE_VAL;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

TEST(Half, EveryValueSurvivesTheRoundTrip) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const Half h{static_cast<unsigned short>(bits)};
    const float x = to_float(h);
    if (std::isnan(half_value(bits))) {
      EXPECT_TRUE(std::isnan(x));
      EXPECT_TRUE(std::isnan(to_float(to_half(x))));
    } else {
      ASSERT_EQ(double(x), half_value(bits));
      ASSERT_EQ(std::signbit(x), bits >= 0x8000);
      ASSERT_EQ(to_half(x).bits, bits);
    }
    const BFloat16 b{static_cast<unsigned short>(bits)};
    const float y = to_float(b);
    ASSERT_EQ(std::bit_cast<std::uint32_t>(y), bits << 16);
    ASSERT_TRUE(std::isnan(y) || to_bfloat16(y).bits == bits);
  }
}

// Around every midpoint of neighbours: below goes down, above goes up, the midpoint to even.
TEST(Half, RoundsToNearestEven) {
  for (unsigned bits = 0; bits < 0x7c00; ++bits) {
    const double next = bits + 1 == 0x7c00 ? 65536.0 : half_value(bits + 1);
    const float middle = float((half_value(bits) + next) / 2);
    const unsigned even = bits % 2 ? bits + 1 : bits;
    ASSERT_EQ(to_half(middle).bits, even);
    ASSERT_EQ(to_half(std::nextafterf(middle, 0)).bits, bits);
    ASSERT_EQ(to_half(std::nextafterf(middle, kInf)).bits, bits + 1);
    ASSERT_EQ(to_half(-middle).bits, 0x8000 | even);
  }
  EXPECT_EQ(to_half(1e30f).bits, 0x7c00);
  EXPECT_EQ(to_half(-kInf).bits, 0xfc00);
  EXPECT_EQ(to_half(1e-30f).bits, 0);
}

TEST(BFloat16, RoundsToNearestEven) {
  for (std::uint32_t bits = 0; bits < 0x7f80; ++bits) {
    const auto of = [](std::uint32_t b) { return to_bfloat16(std::bit_cast<float>(b)).bits; };
    const std::uint32_t low = bits << 16;
    ASSERT_EQ(of(low | 0x8000), bits % 2 ? bits + 1 : bits);
    ASSERT_EQ(of(low | 0x7fff), bits);
    ASSERT_EQ(of(low | 0x8001), bits + 1);
  }
  EXPECT_TRUE(std::isnan(to_float(to_bfloat16(std::bit_cast<float>(0x7f800001u)))));
  EXPECT_EQ(to_bfloat16(3.4e38f).bits, 0x7f80);
}

}  // namespace
}  // namespace ingot
