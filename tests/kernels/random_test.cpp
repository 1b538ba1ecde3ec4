// Philox, and the random ops on the CPU. Known answers are the test vectors published with
// Random123 (kat_vectors, philox4x32 with 10 rounds).
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cpu/loops.h>
#include <ingot/kernels/cpu/parallel.h>
#include <ingot/kernels/cpu/threads.h>
#include <ingot/kernels/ops/philox.h>
#include <ingot/kernels/ops/structured/random.h>

#include "strided_buffer.h"

namespace ingot::testing {
namespace {

using namespace structured;

TEST(Philox, GivesThePublishedVectors) {
  const auto words = [](philox::Block counter, philox::Word k0, philox::Word k1) {
    const philox::Block b = philox::draw(counter, k0, k1);
    return std::array<unsigned, 4>{b.w0, b.w1, b.w2, b.w3};
  };
  EXPECT_EQ(words({0, 0, 0, 0}, 0, 0),
            (std::array<unsigned, 4>{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}));
  EXPECT_EQ(words({~0u, ~0u, ~0u, ~0u}, ~0u, ~0u),
            (std::array<unsigned, 4>{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}));
  EXPECT_EQ(words({0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}, 0xa4093822u, 0x299f31d0u),
            (std::array<unsigned, 4>{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}));
}

Attrs creation(DType t, const Dims& sizes, Scalar a, Scalar b) {
  Attrs attrs;
  attrs.dims = sizes;
  attrs.a = static_cast<i64>(t);
  attrs.add_scalar(a);
  attrs.add_scalar(b);
  return attrs;
}

template <class Row>
Buffer made(DType t, const Dims& sizes, Scalar a, Scalar b, Ticket ticket) {
  const Attrs attrs = creation(t, sizes, a, b);
  Buffer y(inferred(structured_op<Row>, {}, attrs)[0]);
  run_kernel(structured_op<Row>, {}, {y.view()}, attrs, ticket);
  EXPECT_TRUE(y.margins_intact());
  return y;
}

// Word `word` of the block that element i draws from.
unsigned word_of(Ticket ticket, i64 i, i64 per_block, int word) {
  const philox::Block b =
      philox::draw(ticket.seed, ticket.offset + static_cast<std::uint64_t>(i / per_block));
  const unsigned words[] = {b.w0, b.w1, b.w2, b.w3};
  return words[word];
}
std::uint64_t pair_of(Ticket ticket, i64 i) {
  const int first = static_cast<int>(i % 2) * 2;
  return static_cast<std::uint64_t>(word_of(ticket, i, 2, first + 1)) << 32 |
         word_of(ticket, i, 2, first);
}

constexpr Ticket kTickets[] = {
    {0, 0}, {42, 7}, {0xdeadbeefcafef00d, 0xfffffff0}, {1, ~std::uint64_t{0} - 3}};

TEST(Rand, EachElementIsItsWord) {
  for (Ticket ticket : kTickets) {
    Buffer f = made<Rand>(DType::f32, {2051}, 0, 1, ticket);
    Buffer d = made<Rand>(DType::f64, {2051}, 0, 1, ticket);
    Buffer scaled = made<Rand>(DType::f32, {2051}, -2, 6, ticket);
    Buffer half = made<Rand>(DType::f16, {2051}, 0, 1, ticket);
    for (i64 i = 0; i < 2051; ++i) {
      const unsigned w = word_of(ticket, i, 4, static_cast<int>(i % 4));
      const double u = (w >> 8) * 0x1p-24;
      ASSERT_EQ(f.real(i), u);
      ASSERT_EQ(scaled.real(i), static_cast<float>(-2 + static_cast<float>(u * 8)));
      ASSERT_EQ(d.real(i), static_cast<double>(pair_of(ticket, i) >> 11) * 0x1p-53);
      ASSERT_NEAR(half.real(i), u, 0x1p-11);
      ASSERT_LT(half.real(i), 1.0);
    }
  }
}

TEST(Rand, NeverReachesTheUpperEnd) {
  // Of 2^24 uniforms the largest is 1 - 2^-24, which rounds to 1 in f16 and bf16.
  for (DType t : {DType::f32, DType::f16, DType::bf16}) {
    for (auto [low, high] :
         {std::pair{0.0, 1.0}, {-1.0, 0.0}, {1.0, 1.001}, {-3.0, -2.9}, {0.0, 1e-7}, {5.0, 5.0}}) {
      Buffer x = made<Rand>(t, {300000}, low, high, {3, 0});
      double largest = -1e9;
      for (i64 i = 0; i < x.numel(); ++i) largest = std::max(largest, x.real(i));
      if (low == high) {
        EXPECT_EQ(largest, low);
      } else {
        EXPECT_LT(largest, high) << name(t) << " " << low << " " << high;
      }
    }
  }
}

TEST(Randn, EachPairIsBoxMullerOfItsWords) {
  const double pi = 3.14159265358979323846;
  for (Ticket ticket : kTickets) {
    Buffer f = made<Randn>(DType::f32, {2050}, 0, 1, ticket);
    Buffer d = made<Randn>(DType::f64, {2050}, 0, 1, ticket);
    Buffer moved = made<Randn>(DType::f32, {2050}, 10, 3, ticket);
    for (i64 i = 0; i < 2050; ++i) {
      const int first = static_cast<int>(i % 4) / 2 * 2;
      const double u = (word_of(ticket, i, 4, first) >> 1) * 0x1p-31 + 0x1p-32;
      const double turn = word_of(ticket, i, 4, first + 1) * 0x1p-32 * 2 * pi;
      const double z = std::sqrt(-2 * std::log(u)) * (i % 2 == 0 ? std::cos(turn) : std::sin(turn));
      // Where u is near 1 the radius feels the rounding of u to a float.
      ASSERT_NEAR(f.real(i), z, 1e-6 * (1 + std::fabs(z)) + 4e-4 * (u > 0.999)) << i;
      ASSERT_EQ(moved.raw<float>(i), 10 + 3 * f.raw<float>(i));

      const i64 even = i / 2 * 2;
      const double u2 = static_cast<double>(pair_of(ticket, even) >> 11) * 0x1p-53 + 0x1p-54;
      const double turn2 = static_cast<double>(pair_of(ticket, even + 1) >> 11) * 0x1p-53 * 2 * pi;
      const double z2 =
          std::sqrt(-2 * std::log(u2)) * (i % 2 == 0 ? std::cos(turn2) : std::sin(turn2));
      ASSERT_NEAR(d.real(i), z2, 1e-13 * (1 + std::fabs(z2)));
    }
  }
}

TEST(Randint, MultipliesAndTakesTheHighPart) {
  for (Ticket ticket : kTickets) {
    Buffer narrow = made<Randint>(DType::i32, {1500}, -5, 1000, ticket);
    Buffer wide = made<Randint>(DType::i64, {1500}, i64{-1} << 62, i64{1} << 62, ticket);
    Buffer bits = made<Randint>(DType::boolean, {1500}, 0, 2, ticket);
    Buffer reals = made<Randint>(DType::f32, {1500}, 0, 10, ticket);
    Buffer all = made<Randint>(DType::i32, {1500}, -(i64{1} << 31), i64{1} << 31, ticket);
    for (i64 i = 0; i < 1500; ++i) {
      const std::uint64_t w = word_of(ticket, i, 4, static_cast<int>(i % 4));
      ASSERT_EQ(narrow.integer(i), -5 + static_cast<i64>(w * 1005 >> 32));
      ASSERT_EQ(bits.integer(i), static_cast<i64>(w >> 31));
      ASSERT_EQ(reals.real(i), static_cast<double>(w * 10 >> 32));
      ASSERT_EQ(all.integer(i), static_cast<i64>(w) - (i64{1} << 31));
      // 2^63 values: the high part is the word halved.
      ASSERT_EQ(wide.integer(i), (i64{-1} << 62) + static_cast<i64>(pair_of(ticket, i) >> 1));
    }
  }
}

TEST(Randint, TheHighPartOf128BitsIsExact) {
  Rng rng(1);
  for (int round = 0; round < 10000; ++round) {
    const std::uint64_t a = rng() >> draw(rng, 0, 63), b = rng() >> draw(rng, 0, 63);
    __extension__ using Wide = unsigned __int128;
    ASSERT_EQ(philox::below(philox::Word64(a), philox::Word64(b)),
              static_cast<std::uint64_t>(static_cast<Wide>(a) * b >> 64));
  }
}

// Fills of strided memory hold, at logical index i, what dense memory holds there.
template <class Fill, class Create>
void check_layouts(Scalar a, Scalar b) {
  Rng rng(2);
  for (DType t : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    for (int round = 0; round < 12; ++round) {
      Buffer x(t, random_sizes(rng, 4, 20), rng);
      const Ticket ticket{rng(), rng()};
      Attrs attrs;
      attrs.add_scalar(a);
      attrs.add_scalar(b);
      run_kernel(structured_op<Fill>, {x.view()}, {x.view()}, attrs, ticket);
      Buffer dense = made<Create>(t, x.meta().sizes, a, b, ticket);
      for (i64 i = 0; i < x.numel(); ++i) {
        ASSERT_TRUE(x.same_bits(i, dense.at(i))) << describe(x.meta()) << " element " << i;
      }
      ASSERT_TRUE(x.margins_intact());
    }
  }
}

TEST(UniformFill, LayoutsDoNotMatter) { check_layouts<UniformFill, Rand>(-1, 2); }
TEST(NormalFill, LayoutsDoNotMatter) { check_layouts<NormalFill, Randn>(1, 2); }

TEST(Random, ThreadsDoNotMatter) {
  const int before = num_threads();
  const i64 n = 200003;
  set_num_threads(1);
  Buffer u = made<Rand>(DType::f32, {n}, 0, 1, {5, 1}),
         z = made<Randn>(DType::f32, {n}, 0, 1, {5, 1});
  Buffer k = made<Randint>(DType::i64, {n}, 0, 99, {5, 1});
  set_num_threads(4);
  Buffer u4 = made<Rand>(DType::f32, {n}, 0, 1, {5, 1});
  Buffer z4 = made<Randn>(DType::f32, {n}, 0, 1, {5, 1});
  Buffer k4 = made<Randint>(DType::i64, {n}, 0, 99, {5, 1});
  set_num_threads(before);
  for (i64 i = 0; i < n; ++i) {
    ASSERT_TRUE(u4.same_bits(i, u.at(i)));
    ASSERT_TRUE(z4.same_bits(i, z.at(i)));
    ASSERT_TRUE(k4.same_bits(i, k.at(i)));
  }
}

TEST(Random, LevelsAgree) {
  constexpr i64 n = 1023;
  const RandomStream s{77, 1u << 31};
  const auto draws = [&](IsaLevel level, int which) {
    std::vector<char> out(n * 8, 0);
    const RandomLoops& r = *loops_of(level)->random;
    float* f = reinterpret_cast<float*>(out.data());
    double* d = reinterpret_cast<double*>(out.data());
    RandomLoops::Int* k = reinterpret_cast<RandomLoops::Int*>(out.data());
    if (which == 0) r.uniform_f32(n, f, s, -1, 3, 1.75f);
    if (which == 1) r.uniform_f64(n, d, s, -1, 3, 1.75);
    if (which == 2) r.integers_32(n, k, s, -4, 1000);
    if (which == 3) r.integers_64(n, k, s, -4, 1000);
    if (which == 4) r.keep(n, reinterpret_cast<unsigned char*>(out.data()), s, 1u << 23);
    if (which == 5) r.normal_f64(n, d, s, 1, 2);
    if (which == 6) r.normal_f32(n, f, s, 1, 2);
    return out;
  };
  int compared = 0;
  for (IsaLevel level : {IsaLevel::base, IsaLevel::v3, IsaLevel::v4}) {
    if (loops_of(level) == nullptr || level > detected_isa_level()) continue;
    // randn in f32 uses the fused multiply-add, which the baseline of x86-64 lacks.
    for (int which = 0; which < (level == IsaLevel::base ? 6 : 7); ++which, ++compared) {
      EXPECT_EQ(draws(level, which), draws(isa_level(), which)) << isa_name(level) << " " << which;
    }
  }
  EXPECT_GT(compared, 0);
}

struct Moments {
  double mean = 0, variance = 0, skew = 0, kurtosis = 0, neighbours = 0;
  explicit Moments(Buffer& x) {
    const double n = static_cast<double>(x.numel());
    for (i64 i = 0; i < x.numel(); ++i) mean += x.real(i) / n;
    double before = 0;
    for (i64 i = 0; i < x.numel(); ++i) {
      const double c = x.real(i) - mean;
      variance += c * c / n;
      skew += c * c * c / n;
      kurtosis += c * c * c * c / n;
      neighbours += c * before / n;
      before = c;
    }
    skew /= std::pow(variance, 1.5);
    kurtosis /= variance * variance;
    neighbours /= variance;
  }
};

// Bounds are 5 standard errors for n = 2^20 independent draws.
TEST(Random, MomentsAreThoseOfTheDistributions) {
  const Dims sizes{1 << 20};
  const double se = 1.0 / 1024;
  for (DType t : {DType::f32, DType::f64}) {
    Buffer u = made<Rand>(t, sizes, 0, 1, {11, 0}), z = made<Randn>(t, sizes, 0, 1, {12, 0});
    const Moments mu(u), mz(z);
    EXPECT_NEAR(mu.mean, 0.5, 5 * se * std::sqrt(1.0 / 12));
    EXPECT_NEAR(mu.variance, 1.0 / 12, 5 * se * std::sqrt(1.0 / 180));
    EXPECT_NEAR(mu.kurtosis, 1.8, 0.02);
    EXPECT_NEAR(mu.neighbours, 0, 5 * se);
    EXPECT_NEAR(mz.mean, 0, 5 * se);
    EXPECT_NEAR(mz.variance, 1, 5 * se * std::sqrt(2.0));
    EXPECT_NEAR(mz.skew, 0, 5 * se * std::sqrt(6.0));
    EXPECT_NEAR(mz.kurtosis, 3, 5 * se * std::sqrt(24.0));
    EXPECT_NEAR(mz.neighbours, 0, 5 * se);
  }
}

// The largest distance between the empirical and the true distribution function (Kolmogorov and
// Smirnov): below 1.95 / sqrt(n) with probability 0.999.
template <class F>
double distance(Buffer& x, F&& distribution) {
  std::vector<double> v;
  for (i64 i = 0; i < x.numel(); ++i) v.push_back(x.real(i));
  std::sort(v.begin(), v.end());
  double largest = 0;
  const double n = static_cast<double>(v.size());
  for (std::size_t i = 0; i < v.size(); ++i) {
    const double p = distribution(v[i]), k = static_cast<double>(i);
    largest = std::max({largest, p - k / n, (k + 1) / n - p});
  }
  return largest * std::sqrt(n);
}

TEST(Random, DistributionFunctionsFit) {
  for (std::uint64_t seed : {1, 2, 3}) {
    Buffer u = made<Rand>(DType::f32, {100000}, 0, 1, {seed, 0});
    Buffer z = made<Randn>(DType::f32, {100000}, 0, 1, {seed, 1u << 20});
    EXPECT_LT(distance(u, [](double x) { return x; }), 1.95) << seed;
    EXPECT_LT(distance(z, [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }), 1.95)
        << seed;
  }
}

TEST(Random, IntegersAreEven) {
  constexpr int kBins = 100;
  Buffer x = made<Randint>(DType::i64, {1000000}, 0, kBins, {21, 0});
  std::vector<double> counts(kBins, 0);
  for (i64 i = 0; i < x.numel(); ++i) ++counts[static_cast<std::size_t>(x.integer(i))];
  double chi2 = 0;
  for (double c : counts) chi2 += (c - 10000) * (c - 10000) / 10000;
  // 99 degrees of freedom: [54, 161] has all but 0.02 % of the probability.
  EXPECT_GT(chi2, 54);
  EXPECT_LT(chi2, 161);
}

TEST(Random, SeedsAndOffsetsGiveOtherNumbers) {
  Buffer a = made<Rand>(DType::f32, {4000}, 0, 1, {1, 0});
  Buffer other_seed = made<Rand>(DType::f32, {4000}, 0, 1, {2, 0});
  Buffer high_seed = made<Rand>(DType::f32, {4000}, 0, 1, {1 + (std::uint64_t{1} << 32), 0});
  Buffer later = made<Rand>(DType::f32, {4000}, 0, 1, {1, 1});
  int equal = 0;
  for (i64 i = 0; i < 4000; ++i) {
    equal += a.real(i) == other_seed.real(i);
    equal += a.real(i) == high_seed.real(i);
    if (i >= 4) {
      ASSERT_EQ(a.real(i), later.real(i - 4));  // one block on
    }
  }
  EXPECT_LT(equal, 3);
}

TEST(Dropout, KeepsByWordAndScales) {
  Rng rng(3);
  for (DType t : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    for (double p : {0.0, 0.1, 0.5, 0.9, 1.0}) {
      for (int round = 0; round < 4; ++round) {
        Buffer x(t, random_sizes(rng, 3, 25), rng);
        x.fill_random(rng, -2, 2);
        if (x.numel() > 0) x.set(0, std::nan(""));
        const Ticket ticket{rng(), rng()};
        Attrs attrs;
        attrs.add_scalar(p);
        attrs.add_scalar(p < 1 ? 1 / (1 - p) : 0.0);
        const std::vector<Meta> metas = inferred(structured_op<Dropout>, {x.view()}, attrs);
        Buffer y(metas[0]), kept(metas[1]);
        run_kernel(structured_op<Dropout>, {x.view()}, {y.view(), kept.view()}, attrs, ticket);
        for (i64 i = 0; i < x.numel(); ++i) {
          const unsigned w = word_of(ticket, i, 4, static_cast<int>(i % 4));
          const bool keep = (w >> 8) * 0x1p-24 >= p;
          ASSERT_EQ(kept.integer(i), keep);
          Buffer expected(t, {});
          if (t == DType::f64) {
            expected.set(0, keep ? x.real(i) * attrs.s[1].to_double() : 0);
          } else {
            const float scale = static_cast<float>(attrs.s[1].to_double());
            expected.set(0, keep ? static_cast<float>(x.real(i)) * scale : 0);
          }
          ASSERT_TRUE(y.real(i) == expected.real(0) ||
                      (std::isnan(y.real(i)) && std::isnan(expected.real(0))))
              << p << " " << describe(x.meta());
        }
        ASSERT_TRUE(y.margins_intact());
        ASSERT_TRUE(kept.margins_intact());
      }
    }
  }
}

template <class Row>
std::string sentence(DType t, Scalar a, Scalar b) {
  try {
    made<Row>(t, {4}, a, b, {});
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(Random, ImpossibleRangesAreErrors) {
  EXPECT_EQ(sentence<Randint>(DType::i64, 5, 5), "randint: no integers in [5, 5)");
  EXPECT_EQ(sentence<Randint>(DType::u8, 0, 300), "randint: [0, 300) does not fit u8");
  EXPECT_EQ(sentence<Randint>(DType::f32, 0, i64{1} << 33),
            "randint: [0, 8589934592) is wider than the 32 bits that f32 draws");
  EXPECT_EQ(sentence<Rand>(DType::f32, 2, 1), "rand: no uniform numbers of f32 in [2, 1)");
  EXPECT_EQ(sentence<Rand>(DType::f32, -3e38, 3e38),
            "rand: no uniform numbers of f32 in [-3e+38, 3e+38)");
  EXPECT_EQ(sentence<Rand>(DType::i32, 0, 1), "rand: needs a floating dtype, got i32");
  EXPECT_EQ(sentence<Randn>(DType::f32, 0, -1),
            "randn: the standard deviation must not be negative, got -1");
  EXPECT_EQ(sentence<Randint>(DType::f64, 0, i64{1} << 33), "");
}

TEST(Random, EmptyResultsDrawNothing) {
  Buffer x = made<Rand>(DType::f32, {3, 0}, 0, 1, {1, 1});
  EXPECT_EQ(x.numel(), 0);
  EXPECT_EQ(blocks_drawn(x.meta()), 0);
}

}  // namespace
}  // namespace ingot::testing
