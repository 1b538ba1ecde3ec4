// Products on the CPU. The reference is the chain that gemm.h documents, one element at a time;
// every comparison is of bits, at every level that this machine can run.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <ingot/kernels/core/dtype.h>
#include <ingot/kernels/cpu/gemm.h>
#include <ingot/kernels/cpu/parallel.h>
#include <ingot/kernels/cpu/threads.h>

#include "gemm_reference.h"

namespace ingot {
namespace {

using namespace gemm_reference;

class Threads {
 public:
  explicit Threads(int n) : before_(num_threads()) { set_num_threads(n); }
  ~Threads() { set_num_threads(before_); }

 private:
  int before_;
};

template <class T>
class Gemm : public ::testing::Test {};
using Types = ::testing::Types<float, double, std::int64_t, std::int32_t, std::uint8_t>;
TYPED_TEST_SUITE(Gemm, Types);

template <class T>
class FloatGemm : public ::testing::Test {};
using FloatTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(FloatGemm, FloatTypes);

TYPED_TEST(Gemm, EveryElementIsTheDocumentedChain) {
  using T = TypeParam;
  const Index sizes[] = {1, 2, 3, 6, 7, 16, 31, 64, 65, 100};
  const Index depths[] = {1, 2, 8, 17, 64, 255, 256, 257, 600};
  const Layout layouts[] = {Layout::rows, Layout::columns, Layout::padded, Layout::scattered};
  int trial = 0;
  for (const Index m : sizes) {
    for (const Index n : sizes) {
      const Index k = depths[(m + n + trial) % std::size(depths)];
      for (int pair = 0; pair < 4; ++pair, ++trial) {
        const Layout la = layouts[trial % 4], lb = layouts[(trial / 4 + pair) % 4];
        const auto a = make<T>(m, k, la), b = make<T>(k, n, lb);
        ASSERT_NO_FATAL_FAILURE(check_product<T>(m, n, k, a, b, Layout::padded));
      }
    }
  }
}

TYPED_TEST(FloatGemm, LargeOperandsArePackedAndCutWithoutATrace) {
  using T = TypeParam;
  struct Shape {
    Index m, n, k;
  };
  const Shape shapes[] = {{34, 1100, 260}, {110, 70, 520}, {3, 2100, 270}, {1, 1300, 300},
                          {900, 1, 300},   {1, 20, 5000},  {20, 1, 5000},  {1, 1, 1},
                          {1, 1, 255},     {1, 1, 4095},   {1, 1, 4096},   {1, 1, 10000},
                          {1, 1, 17},      {100, 150, 1},  {2, 4200, 300}, {220, 20, 40}};
  for (const Shape& s : shapes) {
    for (const Layout la : {Layout::rows, Layout::columns}) {
      for (const Layout lb : {Layout::rows, Layout::columns, Layout::padded}) {
        const auto a = make<T>(s.m, s.k, la), b = make<T>(s.k, s.n, lb);
        ASSERT_NO_FATAL_FAILURE(check_product<T>(s.m, s.n, s.k, a, b, Layout::rows));
      }
    }
  }
}

TYPED_TEST(FloatGemm, BitsDoNotDependOnTheNumberOfThreads) {
  using T = TypeParam;
  struct Shape {
    Index m, n, k;
  };
  for (const Shape& s : {Shape{300, 257, 600}, Shape{64, 64, 2000}, Shape{1, 5000, 900},
                         Shape{5000, 1, 900}, Shape{900, 8, 300}, Shape{5, 2000, 700}}) {
    for (const Layout la : {Layout::rows, Layout::columns}) {
      const auto a = make<T>(s.m, s.k, la), b = make<T>(s.k, s.n, la);
      std::vector<T> first;
      for (const int threads : {1, 2, 3, 7}) {
        const Threads scope(threads);
        auto c = make<T>(s.m, s.n, Layout::rows);
        product<T>(gemm_table())(args_of(s.m, s.n, s.k, a, b, c));
        c.data.resize(static_cast<std::size_t>(s.m * s.n));
        if (first.empty()) first = c.data;
        ASSERT_EQ(std::memcmp(first.data(), c.data.data(), first.size() * sizeof(T)), 0)
            << threads << " threads, " << s.m << "x" << s.k << "x" << s.n;
      }
    }
  }
}

TYPED_TEST(FloatGemm, BitsDoNotDependOnAlignment) {
  using T = TypeParam;
  const Index m = 50, n = 75, k = 300;
  const auto a = make<T>(m, k, Layout::rows), b = make<T>(k, n, Layout::rows);
  std::vector<T> want;
  for (const Index start : {0, 1, 2, 3, 5, 7}) {
    auto a2 = make<T>(m, k, Layout::rows, start), b2 = make<T>(k, n, Layout::rows, start + 1);
    std::copy_n(a.at(), m * k, a2.at());
    std::copy_n(b.at(), k * n, b2.at());
    auto c = make<T>(m, n, Layout::rows, 2 * start + 1);
    const GemmArgs g = args_of(m, n, k, a2, b2, c);
    product<T>(gemm_table())(g);
    if (want.empty()) want.assign(c.at(), c.at() + m * n);
    ASSERT_EQ(first_wrong<T>(g, want), -1) << "offset " << start;
  }
}

TYPED_TEST(FloatGemm, ASliceOfAProductIsTheProductOfTheSlices) {
  using T = TypeParam;
  const Index m = 150, n = 200, k = 700;
  const auto a = make<T>(m, k, Layout::rows), b = make<T>(k, n, Layout::rows);
  auto whole = make<T>(m, n, Layout::rows);
  product<T>(gemm_table())(args_of(m, n, k, a, b, whole));
  struct Cut {
    Index i, j, m, n;
  };
  for (const Cut& cut : {Cut{0, 0, 64, n}, Cut{64, 0, 86, n}, Cut{0, 32, m, 32}, Cut{0, 7, m, 2},
                         Cut{3, 0, 1, n}, Cut{20, 100, 5, 77}}) {
    auto part = make<T>(cut.m, cut.n, Layout::rows);
    GemmArgs g = args_of(cut.m, cut.n, k, a, b, part);
    g.a = a.at(cut.i), g.b = b.at(0, cut.j);
    product<T>(gemm_table())(g);
    for (Index i = 0; i < cut.m; ++i) {
      ASSERT_EQ(std::memcmp(part.at(i), whole.at(cut.i + i, cut.j),
                            static_cast<std::size_t>(cut.n) * sizeof(T)),
                0)
          << "row " << i << " of " << cut.m << "x" << cut.n << " at " << cut.i << "," << cut.j;
    }
  }
}

TYPED_TEST(Gemm, AColumnThatIsNotContiguousIsTheSameColumn) {
  using T = TypeParam;
  const Index m = 1100, k = 70;
  for (const Layout layout : {Layout::rows, Layout::columns}) {
    const auto a = make<T>(m, k, layout), b = make<T>(k, 1, Layout::rows);
    auto contiguous = make<T>(m, 1, Layout::rows), spread = make<T>(m, 1, Layout::padded);
    auto bias = make<T>(m, 1, Layout::padded);
    for (Matrix<T>* c : {&contiguous, &spread}) {
      GemmArgs g = args_of(m, 1, k, a, b, *c);
      g.bias = bias.at(), g.bias_row = bias.row;
      product<T>(gemm_table())(g);
    }
    for (Index i = 0; i < m; ++i) {
      ASSERT_TRUE(same_bits(*contiguous.at(i), *spread.at(i))) << "row " << i;
    }
  }
}

TYPED_TEST(FloatGemm, V3AndV4GiveTheSameBits) {
  using T = TypeParam;
  const GemmTable *v3 = gemm_table(IsaLevel::v3), *v4 = gemm_table(IsaLevel::v4);
  if (!v3 || !v4 || detected_isa_level() < IsaLevel::v4) {
    GTEST_SKIP() << "needs both levels in the build and AVX-512 in the CPU";
  }
  for (const Index k : {16, 64, 300, 1000}) {
    const Index m = 70, n = 90;
    const auto a = make<T>(m, k, Layout::rows), b = make<T>(k, n, Layout::columns);
    auto c3 = make<T>(m, n, Layout::rows), c4 = make<T>(m, n, Layout::rows);
    auto bias = make<T>(1, n, Layout::repeated_row);
    for (Matrix<T>* c : {&c3, &c4}) {
      GemmArgs g = args_of(m, n, k, a, b, *c);
      g.bias = bias.at(), g.bias_col = 1, g.alpha = 0.3, g.beta_for_bias = 1.7;
      product<T>(c == &c3 ? *v3 : *v4)(g);
    }
    EXPECT_EQ(std::memcmp(c3.at(), c4.at(), static_cast<std::size_t>(m * n) * sizeof(T)), 0);
  }
}

template <class T>
T times(double factor, T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(factor) * x;
  } else {
    return static_cast<T>(static_cast<std::uint64_t>(static_cast<std::int64_t>(factor)) *
                          static_cast<std::uint64_t>(x));
  }
}

TYPED_TEST(Gemm, EpilogueIsRoundedStepByStep) {
  using T = TypeParam;
  for (const auto& [m, n, k] :
       {std::array<Index, 3>{5, 70, 300}, {1, 33, 20}, {33, 1, 20}, {64, 64, 0}, {1, 1, 4}}) {
    const auto a = make<T>(m, k, Layout::rows), b = make<T>(k, n, Layout::rows);
    for (const Layout layout : {Layout::rows, Layout::columns, Layout::repeated_row}) {
      const auto bias = make<T>(m, n, layout);
      for (const double alpha : {1.0, -2.0, 0.5}) {
        for (const double beta : {1.0, 0.0, 3.0}) {
          for (const bool relu : {false, true}) {
            for (const Level& at : levels()) {
              auto c = make<T>(m, n, Layout::padded);
              GemmArgs g = args_of(m, n, k, a, b, c);
              g.bias = bias.at(), g.bias_row = bias.row, g.bias_col = bias.col;
              g.alpha = alpha, g.beta_for_bias = beta, g.relu = relu;
              product<T> (*at.table)(g);
              for (Index i = 0; i < m; ++i) {
                for (Index j = 0; j < n; ++j) {
                  T want = times(alpha, expected<T>(g, i, j, at.fused));
                  const T scaled = times(beta, *bias.at(i, j));
                  if (beta != 0) want = add(want, scaled);
                  if (relu && !(want > T(0))) want = T(0);
                  ASSERT_TRUE(same_bits(*c.at(i, j), want))
                      << +*c.at(i, j) << " is not " << +want << ", alpha " << alpha << " beta "
                      << beta << " relu " << relu << " at " << i << "," << j;
                }
              }
            }
          }
        }
      }
    }
  }
}

TYPED_TEST(FloatGemm, BetaZeroDoesNotReadTheBias) {
  using T = TypeParam;
  const auto a = make<T>(4, 3, Layout::rows), b = make<T>(3, 5, Layout::rows);
  auto c = make<T>(4, 5, Layout::rows);
  const std::vector<T> bias(20, std::numeric_limits<T>::quiet_NaN());
  GemmArgs g = args_of(4, 5, 3, a, b, c);
  g.bias = bias.data(), g.bias_row = 5, g.bias_col = 1, g.beta_for_bias = 0;
  product<T>(gemm_table())(g);
  for (Index e = 0; e < 20; ++e) EXPECT_FALSE(std::isnan(c.data[static_cast<std::size_t>(e)]));
}

TYPED_TEST(FloatGemm, SpecialValuesPropagate) {
  using T = TypeParam;
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  for (const Index n : {1, 3, 40}) {
    auto a = make<T>(7, 20, Layout::rows);
    auto b = make<T>(20, n, Layout::rows);
    *a.at(2, 5) = nan, *a.at(4, 5) = inf, *a.at(5, 5) = 0;
    for (Index j = 0; j < n; ++j) *b.at(5, j) = 0;
    *b.at(5, n - 1) = inf;
    auto c = make<T>(7, n, Layout::rows);
    GemmArgs g = args_of(7, n, 20, a, b, c);
    g.relu = true;
    product<T>(gemm_table())(g);
    EXPECT_TRUE(std::isnan(*c.at(2, 0)));      // NaN passes relu
    EXPECT_TRUE(std::isnan(*c.at(5, n - 1)));  // 0 * inf
    EXPECT_EQ(*c.at(4, n - 1), inf);
    if (n > 1) {
      EXPECT_TRUE(std::isnan(*c.at(4, 0)));  // inf * 0
    }
  }
  // relu gives +0 for -0.
  const T one = 1, minus_zero = T(-0.0);
  T out = 5;
  GemmArgs g{.m = 1,
             .n = 1,
             .k = 1,
             .a = &one,
             .a_row = 1,
             .a_col = 1,
             .b = &one,
             .b_row = 1,
             .b_col = 1,
             .c = &out,
             .c_row = 1};
  const T minus_one = -1;
  g.bias = &minus_one, g.relu = true;
  product<T>(gemm_table())(g);
  EXPECT_TRUE(same_bits(out, T(0)));
  g.b = &minus_zero, g.bias = nullptr;
  product<T>(gemm_table())(g);
  EXPECT_TRUE(same_bits(out, T(0)));
}

TYPED_TEST(Gemm, OnlyTheResultIsWritten) {
  using T = TypeParam;
  const T mark = static_cast<T>(77);
  for (const Index n : {1, 5, 64, 70, 130}) {
    for (const Index m : {1, 5, 50}) {
      const Index k = 40, pad = 9;
      const auto a = make<T>(m, k, Layout::rows), b = make<T>(k, n, Layout::columns);
      std::vector<T> c(static_cast<std::size_t>((m + 2) * (n + pad)), mark);
      GemmArgs g = {.m = m,
                    .n = n,
                    .k = k,
                    .a = a.at(),
                    .a_row = a.row,
                    .a_col = a.col,
                    .b = b.at(),
                    .b_row = b.row,
                    .b_col = b.col,
                    .c = c.data() + n + pad,
                    .c_row = n + pad};
      product<T>(gemm_table())(g);
      for (std::size_t e = 0; e < c.size(); ++e) {
        const Index i = Index(e) / (n + pad) - 1, j = Index(e) % (n + pad);
        if (i < 0 || i >= m || j >= n) {
          ASSERT_EQ(c[e], mark) << "element " << e << " of " << m << "x" << n;
        }
      }
    }
  }
}

TYPED_TEST(Gemm, EmptyProducts) {
  using T = TypeParam;
  const T mark = static_cast<T>(7);
  std::vector<T> a(12, T(1)), c(12, mark);
  GemmArgs g{.m = 3,
             .n = 4,
             .k = 0,
             .a = a.data(),
             .a_row = 0,
             .a_col = 1,
             .b = a.data(),
             .b_row = 4,
             .b_col = 1,
             .c = c.data(),
             .c_row = 4};
  product<T>(gemm_table())(g);
  EXPECT_EQ(c, std::vector<T>(12, T(0)));
  for (const auto& [m, n] : {std::pair<Index, Index>{0, 4}, {3, 0}, {0, 0}}) {
    c.assign(12, mark);
    g.m = m, g.n = n, g.k = 2;
    product<T>(gemm_table())(g);
    EXPECT_EQ(c, std::vector<T>(12, mark));
  }
}

TYPED_TEST(Gemm, ABatchIsItsProducts) {
  using T = TypeParam;
  struct Shape {
    Index count, m, n, k;
  };
  for (const Shape& s :
       {Shape{1, 9, 9, 9}, Shape{50, 4, 5, 6}, Shape{3, 70, 80, 300}, Shape{20, 1, 40, 64},
        Shape{20, 40, 1, 64}, Shape{6, 1, 1, 500}, Shape{2, 3, 3, 0}, Shape{0, 3, 3, 3}}) {
    for (const bool shared_b : {false, true}) {
      const auto a = make<T>(s.count * s.m, s.k, Layout::rows);
      const auto b = make<T>((shared_b ? 1 : s.count) * s.k, s.n, Layout::rows);
      const auto bias = make<T>(s.count, s.n, Layout::rows);
      auto c = make<T>(s.count * s.m, s.n, Layout::rows), want = c;
      GemmArgs g = args_of(s.m, s.n, s.k, a, b, c);
      g.bias = bias.at(), g.bias_row = 0, g.bias_col = 1;
      const GemmBatch batch{.count = s.count,
                            .a = s.m * s.k,
                            .b = shared_b ? 0 : s.k * s.n,
                            .c = s.m * s.n,
                            .bias = s.n};
      batched<T>(gemm_table())(g, batch);
      for (Index q = 0; q < s.count; ++q) {
        GemmArgs one = g;
        one.a = a.at() + q * batch.a, one.b = b.at() + q * batch.b;
        one.bias = bias.at() + q * batch.bias, one.c = want.at() + q * batch.c;
        product<T>(gemm_table())(one);
      }
      ASSERT_EQ(std::memcmp(c.data.data(), want.data.data(), c.data.size() * sizeof(T)), 0)
          << s.count << " of " << s.m << "x" << s.k << "x" << s.n;
    }
  }
}

TEST(GemmByType, HalfPrecisionHasNoKernel) {
  EXPECT_THROW(gemm(DType::bf16, GemmArgs{}), std::logic_error);
  EXPECT_THROW(gemm_batch(DType::boolean, GemmArgs{}, GemmBatch{}), std::logic_error);
}

TEST(GemmByType, ReachesTheKernelOfTheType) {
  const std::int32_t a = 70000, b = 70000;
  std::int32_t c = 0;
  gemm(DType::i32, {.m = 1,
                    .n = 1,
                    .k = 1,
                    .a = &a,
                    .a_row = 1,
                    .a_col = 1,
                    .b = &b,
                    .b_row = 1,
                    .b_col = 1,
                    .c = &c,
                    .c_row = 1});
  EXPECT_EQ(c, static_cast<std::int32_t>(4900000000u - 4294967296u));  // wraps
}

}  // namespace
}  // namespace ingot
