// The f32 functions at every instruction set level that this CPU runs: the error bound over samples
// of all floats, limits, equal bits at v3 and v4, equal bits in a loop's body and tail.

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <ingot/kernels/cpu/isa_level.h>

#include "kernels/math_levels.h"
#include "kernels/row_checks.h"

namespace ingot {
namespace {

using math_levels::Loops;
using row_checks::ulps;
using Bits = std::uint32_t;
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Level {
  std::string name;
  Loops loops;
};

// The levels built and runnable here.
std::vector<Level> levels() {
  std::vector<Level> out;
#if INGOT_HAVE_LOOPS_BASE
  out.push_back({"base", math_levels::loops_base()});
#endif
#if INGOT_HAVE_LOOPS_V3
  if (detected_isa_level() >= IsaLevel::v3) out.push_back({"v3", math_levels::loops_v3()});
#endif
#if INGOT_HAVE_LOOPS_V4
  if (detected_isa_level() >= IsaLevel::v4) out.push_back({"v4", math_levels::loops_v4()});
#endif
  return out;
}

// Every step-th float, all exponents and both signs, in blocks.
template <class F>
void sweep(Bits step, F f) {
  std::vector<float> block;
  for (std::uint64_t bits = step / 2; bits <= 0xffffffffu; bits += step) {
    block.push_back(std::bit_cast<float>(Bits(bits)));
    if (block.size() == 4096 || bits + step > 0xffffffffu) {
      f(block);
      block.clear();
    }
  }
}

struct Reference {
  const char* name;
  double (*function)(double);
  double bound;
};
double sigmoid(double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}
const Reference kReferences[] = {
    {"exp", [](double x) { return std::exp(x); }, 1},
    {"expm1", [](double x) { return std::expm1(x); }, 2},
    {"log", [](double x) { return std::log(x); }, 1},
    {"log1p", [](double x) { return std::log1p(x); }, 2},
    {"tanh", [](double x) { return std::tanh(x); }, 2},
    {"sigmoid", sigmoid, 2},
    {"erf", [](double x) { return std::erf(x); }, 2},
    {"normal_cdf", [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }, 9},
    {"sin", [](double x) { return std::sin(x); }, 1},
    {"cos", [](double x) { return std::cos(x); }, 1},
    {"sqrt", [](double x) { return std::sqrt(x); }, 0.5},
    {"rsqrt", [](double x) { return 1 / std::sqrt(x); }, 1.5},
    {"floor", [](double x) { return std::floor(x); }, 0},
    {"ceil", [](double x) { return std::ceil(x); }, 0},
    {"trunc", [](double x) { return std::trunc(x); }, 0},
    {"round", [](double x) { return std::nearbyint(x); }, 0},
};

TEST(MathF32, StaysWithinItsBoundOnAllMagnitudes) {
  for (const Level& level : levels()) {
    for (const Reference& reference : kReferences) {
      const math_levels::Unary* loop = nullptr;
      for (int i = 0; i < level.loops.unary_count; ++i) {
        if (std::string(level.loops.unary[i].name) == reference.name) loop = &level.loops.unary[i];
      }
      ASSERT_NE(loop, nullptr) << reference.name;
      std::vector<float> y(4096);
      double worst = 0;
      float where = 0;
      sweep(7919, [&](const std::vector<float>& x) {
        loop->run(x.data(), y.data(), long(x.size()));
        for (std::size_t i = 0; i < x.size(); ++i) {
          const double distance = ulps(y[i], reference.function(double(x[i])));
          if (distance > worst) worst = distance, where = x[i];
        }
      });
      EXPECT_LE(worst, reference.bound)
          << level.name << " " << reference.name << "(" << where << ")";
    }
  }
}

Bits bits_of(float x) { return std::isnan(x) ? 0x7fc00000u : std::bit_cast<Bits>(x); }

TEST(MathF32, HasTheSameBitsAtV3AndV4) {
  const std::vector<Level> all = levels();
  if (all.size() < 3) GTEST_SKIP() << "needs the levels v3 and v4; this CPU or build has fewer";
  const Loops a = all[1].loops, b = all[2].loops;
  std::vector<float> y(4096), z(4096);
  sweep(1021, [&](const std::vector<float>& x) {
    const long n = long(x.size());
    for (int f = 0; f < a.unary_count; ++f) {
      a.unary[f].run(x.data(), y.data(), n);
      b.unary[f].run(x.data(), z.data(), n);
      for (long i = 0; i < n; ++i) {
        ASSERT_EQ(bits_of(y[i]), bits_of(z[i])) << a.unary[f].name << "(" << x[i] << ")";
      }
    }
  });
}

std::vector<float> random_floats(std::mt19937& random, int n) {
  std::vector<float> out(n);
  std::uniform_real_distribution<float> usual(-8, 8);
  for (float& x : out) x = random() % 2 ? usual(random) : std::bit_cast<float>(Bits(random()));
  return out;
}

// Each element on its own is what the tail computes; the levels' vectors are the body.
TEST(MathF32, HasTheSameBitsInBodyAndTail) {
  std::mt19937 random(5);
  for (const Level& level : levels()) {
    const Loops& loops = level.loops;
    for (int n = 1; n < 150; ++n) {
      const std::vector<float> a = random_floats(random, n), b = random_floats(random, n);
      std::vector<float> y(n), one(1);
      for (int f = 0; f < loops.unary_count; ++f) {
        loops.unary[f].run(a.data(), y.data(), n);
        for (int i = 0; i < n; ++i) {
          loops.unary[f].run(&a[i], one.data(), 1);
          ASSERT_EQ(bits_of(y[i]), bits_of(one[0]))
              << level.name << " " << loops.unary[f].name << "(" << a[i] << "), n = " << n;
        }
      }
      for (int f = 0; f < loops.binary_count; ++f) {
        loops.binary[f].run(a.data(), b.data(), y.data(), n);
        for (int i = 0; i < n; ++i) {
          loops.binary[f].run(&a[i], &b[i], one.data(), 1);
          ASSERT_EQ(bits_of(y[i]), bits_of(one[0])) << level.name << " " << loops.binary[f].name;
        }
      }
      for (int f = 0; f < loops.conversion_count; ++f) {
        const math_levels::Conversion& c = loops.conversion[f];
        std::vector<unsigned char> whole(n * c.size), single(c.size);
        c.run(a.data(), whole.data(), n);
        for (int i = 0; i < n; ++i) {
          c.run(&a[i], single.data(), 1);
          ASSERT_EQ(std::memcmp(&whole[i * c.size], single.data(), c.size), 0)
              << level.name << " to " << c.name << " of " << a[i];
        }
      }
    }
  }
}

TEST(MathF32, PowAndConversionsAgreeBetweenLevels) {
  const std::vector<Level> all = levels();
  std::mt19937 random(6);
  for (int round = 0; round < 200; ++round) {
    const int n = 1000;
    const std::vector<float> a = random_floats(random, n), b = random_floats(random, n);
    for (std::size_t k = 1; k < all.size(); ++k) {
      const Loops &first = all[k - 1].loops, &second = all[k].loops;
      std::vector<float> y(n), z(n);
      for (int f = 0; f < first.binary_count; ++f) {
        // Only pow has roundings that a fused multiply-add changes.
        if (k == 1 && std::string(first.binary[f].name) == "pow") continue;
        first.binary[f].run(a.data(), b.data(), y.data(), n);
        second.binary[f].run(a.data(), b.data(), z.data(), n);
        for (int i = 0; i < n; ++i) {
          ASSERT_EQ(bits_of(y[i]), bits_of(z[i]))
              << first.binary[f].name << "(" << a[i] << ", " << b[i] << ")";
        }
      }
      for (int f = 0; f < first.conversion_count; ++f) {
        const int size = first.conversion[f].size;
        std::vector<unsigned char> left(n * size), right(n * size);
        first.conversion[f].run(a.data(), left.data(), n);
        second.conversion[f].run(a.data(), right.data(), n);
        ASSERT_EQ(left, right) << first.conversion[f].name;
      }
    }
  }
}

float run1(const Level& level, const char* name, float x) {
  float y = kNan;
  for (int i = 0; i < level.loops.unary_count; ++i) {
    if (std::string(level.loops.unary[i].name) == name) level.loops.unary[i].run(&x, &y, 1);
  }
  return y;
}

TEST(MathF32, HasTheLimitsOfTheCLibrary) {
  const struct {
    const char* name;
    float x, y;
  } limits[] = {
      {"exp", kInf, kInf},
      {"exp", -kInf, 0},
      {"exp", 0, 1},
      {"exp", 89, kInf},
      {"expm1", kInf, kInf},
      {"expm1", -kInf, -1},
      {"expm1", -0.0f, -0.0f},
      {"expm1", 1e-8f, 1e-8f},
      {"expm1", 90, kInf},
      {"expm1", -1e-45f, -1e-45f},
      {"log", kInf, kInf},
      {"log", 0, -kInf},
      {"log", -0.0f, -kInf},
      {"log", 1, 0},
      {"log", -1, kNan},
      {"log", -kInf, kNan},
      {"log1p", kInf, kInf},
      {"log1p", -1, -kInf},
      {"log1p", -2, kNan},
      {"log1p", -0.0f, -0.0f},
      {"log1p", 1e-8f, 1e-8f},
      {"log1p", 1e-45f, 1e-45f},
      {"tanh", kInf, 1},
      {"tanh", -kInf, -1},
      {"tanh", -0.0f, -0.0f},
      {"tanh", 1e-45f, 1e-45f},
      {"sigmoid", kInf, 1},
      {"sigmoid", -kInf, 0},
      {"erf", kInf, 1},
      {"erf", -kInf, -1},
      {"erf", -0.0f, -0.0f},
      {"sin", -0.0f, -0.0f},
      {"sin", kInf, kNan},
      {"cos", -kInf, kNan},
      {"cos", 0, 1},
      {"sqrt", -0.0f, -0.0f},
      {"sqrt", -1, kNan},
      {"rsqrt", 0, kInf},
      {"rsqrt", -0.0f, -kInf},
      {"rsqrt", kInf, 0},
      {"rsqrt", -1, kNan},
      {"normal_cdf", -kInf, 0},
      {"normal_cdf", kInf, 1},
      {"normal_cdf", 0, 0.5f},
      {"round", 0.5f, 0},
      {"round", 1.5f, 2},
      {"round", 2.5f, 2},
      {"round", -0.5f, -0.0f},
      {"round", -1.5f, -2},
      {"round", -2.5f, -2},
      {"round", 0.49999997f, 0},
      {"round", 8388609, 8388609},
      {"ceil", -0.5f, -0.0f},
      {"trunc", -0.5f, -0.0f},
      {"floor", -0.0f, -0.0f},
      {"floor", kInf, kInf},
  };
  for (const Level& level : levels()) {
    for (const auto& limit : limits) {
      EXPECT_EQ(bits_of(run1(level, limit.name, limit.x)), bits_of(limit.y))
          << level.name << " " << limit.name << "(" << limit.x << ") gives "
          << run1(level, limit.name, limit.x);
    }
    for (int i = 0; i < level.loops.unary_count; ++i) {
      float y = 0;
      level.loops.unary[i].run(&kNan, &y, 1);
      EXPECT_TRUE(std::isnan(y)) << level.name << " " << level.loops.unary[i].name << "(NaN)";
    }
  }
}

TEST(MathF32, PowHasTheSpecialCasesOfTheCLibrary) {
  const float special[] = {0,        -0.0f,    1,         -1,         2,         -2,    0.5f,
                           -0.5f,    3,        -3,        -8,         kInf,      -kInf, kNan,
                           1.5f,     1e-45f,   -1e-45f,   3.4e38f,    149,       -149,  1 / 3.0f,
                           16777215, 16777216, -16777215, 8388607.5f, 1.0000001f};
  for (const Level& level : levels()) {
    const math_levels::Binary pow = level.loops.binary[0];
    for (float a : special) {
      for (float b : special) {
        float y;
        pow.run(&a, &b, &y, 1);
        const double want = std::pow(double(a), double(b));
        EXPECT_LE(ulps(y, want), 1) << level.name << " pow(" << a << ", " << b << ") gives " << y;
        if (!std::isnan(want)) {
          EXPECT_EQ(std::signbit(y), std::signbit(want)) << "pow(" << a << ", " << b << ")";
        }
      }
    }
  }
}

TEST(MathF32, PowStaysWithinOneUlp) {
  for (const Level& level : levels()) {
    const math_levels::Binary pow = level.loops.binary[0];
    std::mt19937_64 random(7);
    std::vector<float> a(4096), b(4096), y(4096);
    double worst = 0;
    for (int round = 0; round < 60; ++round) {
      for (int i = 0; i < 4096; ++i) {
        // Results of every size: the exponent is chosen by the logarithm of the result.
        a[i] = std::bit_cast<float>(Bits(random() % 0x7f800000u));
        const double result = std::uniform_real_distribution<double>(-151, 129)(random);
        b[i] = float(result / std::log2(double(a[i])));
      }
      pow.run(a.data(), b.data(), y.data(), 4096);
      for (int i = 0; i < 4096; ++i) {
        const long double want = std::pow((long double)a[i], (long double)b[i]);
        worst = std::max(worst, ulps(y[i], double(want)));
      }
    }
    EXPECT_LE(worst, 1) << level.name;
  }
}

}  // namespace
}  // namespace ingot
