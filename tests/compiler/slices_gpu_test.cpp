// Arguments that lie elsewhere in each call: parts of a large tensor, wherever they begin. Every
// call is one launch with eager's bits, also where a library computes.
#include <gtest/gtest.h>

#include <ingot/ingot.h>

#include "support/tensor_checks.h"

namespace ingot {
namespace {

using testing_support::same_bits;

class SlicesGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!cuda::is_available()) GTEST_SKIP() << "no GPU: " << cuda::unavailable_reason();
    manual_seed(13);
  }
  void TearDown() override { cuda::set_allow_tf32(false); }

  static Tensor normal(const Dims& sizes, DType t = kFloat) { return randn(sizes, kCUDA).to(t); }

  // Calls f with `rows` rows of x, one part after another, `step` rows apart.
  template <class F, class Body>
  static void expect_launches(const F& f, const Body& body, const Tensor& x, i64 rows, i64 step,
                              i64 calls, i64 most_apart, bool keep = false) {
    std::vector<Tensor> kept;
    for (i64 i = 0; i < calls; ++i) {
      const i64 start = i * step % (x.size(0) - rows + 1);
      const Tensor part = x.slice(0, start, start + rows);
      const Tensor y = f(part);
      ASSERT_TRUE(same_bits(y, body(part))) << "call " << i << ", rows from " << start;
      if (keep) kept.push_back(y);
    }
    const Ledger ledger = f.ledger();
    EXPECT_EQ(ledger.variants, 1) << ledger;
    EXPECT_GE(ledger.graphs.launches, calls - most_apart) << ledger;
  }
};

constexpr i64 kToLearn = 8;  // calls before a graph is worth it, for each alignment

TEST_F(SlicesGpu, OfAResidentTensorAreOneLaunchACall) {
  const Tensor x = normal({60000, 784}), w = normal({10, 784}), b = normal({10});
  const auto body = [&](const Tensor& part) { return softmax(linear(part, w, b), 1); };
  const auto f = compile(body);
  expect_launches(f, body, x, 100, 100, 300, kToLearn);
}

TEST_F(SlicesGpu, WhoseResultsAreKeptAreOneLaunchACall) {
  const Tensor x = normal({60000, 784}), w = normal({10, 784});
  const auto body = [&](const Tensor& part) { return linear(part, w); };
  const auto f = compile(body);
  for (int i = 0; i < 3; ++i) (void)f(x.slice(0, i, i + 100));
  expect_launches(f, body, x, 100, 100, 100, 2 * kToLearn, true);
}

// Rows that are 4, 8 or 16 bytes longer than a multiple of 16, or 2.
TEST_F(SlicesGpu, ThatBeginAnywhere) {
  for (const DType t : {kFloat, kDouble, kHalf, kBFloat16}) {
    for (const i64 k : {37, 300, 785, 786, 788, 791}) {
      const Tensor x = normal({400, k}, t), w = normal({24, k}, t), b = normal({24}, t);
      const auto body = [&](const Tensor& part) {
        return softmax(relu(linear(part, w, b)) * 0.5, 1);
      };
      const auto f = compile(body);
      // At most 8 ways to lie within 16 bytes.
      expect_launches(f, body, x, 50, 7, 150, 8 * kToLearn);
      if (HasFatalFailure()) FAIL() << name(t) << " rows of " << k;
    }
  }
}

TEST_F(SlicesGpu, ForTensorCores) {
  const auto body_with = [](const Tensor& w, const Tensor& v) {
    return [=](const Tensor& part) { return matmul(relu(matmul(part, w)), v); };
  };
  for (const DType t : {kFloat, kBFloat16, kHalf}) {
    cuda::set_allow_tf32(t == kFloat);
    const Tensor x = normal({8192, 1024}, t), w = normal({1024, 1536}, t),
                 v = normal({1536, 512}, t);
    const auto body = body_with(w, v);
    const auto f = compile(body);
    expect_launches(f, body, x, 512, 256, 80, kToLearn, true);
  }
}

// A sum so long is split among blocks: more nodes than one for a product.
TEST_F(SlicesGpu, OfLongSums) {
  for (const DType t : {kFloat, kBFloat16}) {
    const Tensor x = normal({256, 32768}, t), w = normal({32768, 64}, t);
    const auto body = [&](const Tensor& part) { return matmul(part, w) * 0.5; };
    const auto f = compile(body);
    expect_launches(f, body, x, 64, 8, 40, kToLearn);
  }
}

TEST_F(SlicesGpu, OfBothFactors) {
  const Tensor x = normal({4096, 520});
  const auto f = compile([](const Tensor& a, const Tensor& b) { return matmul(a, b.t()) + 1.0; });
  for (i64 i = 0; i < 60; ++i) {
    const Tensor a = x.slice(0, i * 16, i * 16 + 300),
                 b = i % 3 == 0 ? a : x.slice(0, i * 32, i * 32 + 300);
    ASSERT_TRUE(same_bits(f(a, b), matmul(a, b.t()) + 1.0)) << i;
  }
}

// Where a part begins makes no difference to its bits, as long as it begins at 16 bytes.
TEST_F(SlicesGpu, HaveTheBitsOfTheirCopies) {
  for (const DType t : {kFloat, kDouble, kHalf, kBFloat16}) {
    const i64 k = 784;
    const Tensor x = normal({700, k}, t), w = normal({k, 264}, t);
    const Tensor memory = normal({300 * k + 16 * 129}, t);
    for (const i64 start : {1, 2, 3, 4, 8, 129}) {
      const Tensor part = x.slice(0, start, start + 300);
      EXPECT_TRUE(same_bits(matmul(part, w), matmul(part.clone(), w))) << name(t) << " " << start;
      const i64 elements = 16 / item_size(t) * start;
      const Tensor odd = memory.slice(0, elements, elements + 300 * k).view({300, k});
      EXPECT_TRUE(same_bits(matmul(odd, w), matmul(odd.clone(), w))) << name(t) << " " << start;
    }
  }
}

TEST_F(SlicesGpu, OnAnotherStream) {
  const Tensor x = normal({6000, 784}), w = normal({784, 64});
  const auto body = [&](const Tensor& part) { return relu(matmul(part, w)); };
  const auto f = compile(body);
  const cuda::Stream stream;
  cuda::synchronize();
  for (i64 i = 0; i < 60; ++i) {
    const Tensor part = x.slice(0, i * 64, i * 64 + 64);
    if (i % 2 == 0) {
      EXPECT_TRUE(same_bits(f(part), body(part))) << i;
    } else {
      const cuda::StreamGuard guard(stream);
      EXPECT_TRUE(same_bits(f(part), body(part))) << i;
    }
  }
}

// What runs on the GPU between copies from and to the host stays one launch.
class StretchesGpu : public SlicesGpu {};

TEST_F(StretchesGpu, AHostTensorIsCopiedBetweenTwoGraphs) {
  const Tensor w = normal({784, 256});
  const auto body = [&](const Tensor& x, const Tensor& row) {
    const Tensor h = relu(matmul(x, w) * 0.5);
    return (h + row.to(kCUDA)).sum(1) + h.amax({1});
  };
  const auto f = compile(body);
  const Tensor x = normal({300, 784});
  for (int i = 0; i < 40; ++i) {
    const Tensor row = randn({256}, kCPU);
    ASSERT_TRUE(same_bits(f(x, row), body(x, row))) << i;
  }
  EXPECT_GE(f.ledger().graphs.launches, 30) << f.ledger();
}

TEST_F(StretchesGpu, AResultMayGoToTheHost) {
  const Tensor w = normal({784, 256});
  const auto body = [&](const Tensor& x) {
    const Tensor h = relu(matmul(x, w) * 0.5);
    return std::pair{h.sum(1) + 1.0, h.amax({1}).cpu() * 2.0};
  };
  const auto f = compile(body);
  for (int i = 0; i < 40; ++i) {
    const Tensor x = normal({300, 784});
    const auto [a, b] = f(x);
    const auto [c, d] = body(x);
    ASSERT_TRUE(same_bits(a, c)) << i;
    ASSERT_TRUE(same_bits(b, d)) << i;
  }
  EXPECT_GE(f.ledger().graphs.launches, 30) << f.ledger();
}

}  // namespace
}  // namespace ingot
