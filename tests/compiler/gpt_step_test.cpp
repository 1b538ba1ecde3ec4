// The whole training step of the transformer that the benchmark measures, at a tiny size: eager and
// compiled give the same losses and parameters, bit for bit.
#include <gtest/gtest.h>

#include <ingot/ingot.h>

#include "bench/gpt.h"

using namespace ingot;

namespace {

constexpr bench::gpt::Sizes kTiny{
    .layers = 2, .wide = 16, .heads = 2, .batch = 2, .length = 8, .vocabulary = 11};

void expect_equal_steps(DType precision, Device device) {
  using bench::gpt::Training;
  manual_seed(5);
  Training eager(kTiny, precision, device);
  manual_seed(5);
  Training compiled(kTiny, precision, device);
  const auto step = compile([&](const Tensor& x, const Tensor& y) { return compiled.step(x, y); },
                            {.name = "gpt_step"});
  float first = 0, last = 0;
  for (int i = 0; i < 5; ++i) {
    const Tensor a = eager.step(eager.index, eager.target),
                 b = step(compiled.index, compiled.target);
    ASSERT_TRUE(equal(a, b)) << "step " << i << ": " << a.item<float>() << " and "
                             << b.item<float>();
    (i == 0 ? first : last) = b.item<float>();
  }
  EXPECT_LT(last, first);
  const auto expected = eager.net.named_parameters(), got = compiled.net.named_parameters();
  ASSERT_EQ(expected.size(), got.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_TRUE(equal(expected[i].second, got[i].second)) << got[i].first;
  }
  EXPECT_GE(step.ledger().hits, 3);
}

TEST(GptStep, CompiledGivesEagersBits) { expect_equal_steps(kFloat, default_device()); }
TEST(GptStep, CompiledGivesEagersBitsInBf16) { expect_equal_steps(kBFloat16, default_device()); }

}  // namespace
