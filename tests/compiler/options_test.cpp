// Options of compile(): what a name means, and what is said about one that means nothing.
#include <gtest/gtest.h>

#include <ingot/ingot.h>
#include <ingot/runtime/env.h>

#include "support/tensor_checks.h"

namespace ingot {
namespace {

using testing_support::contains;
using testing_support::error_of;
using testing_support::same_bits;

Tensor layer(const Tensor& x, const Tensor& w) {
  return softmax(relu(matmul(x, w) + 1.0) * 2.0, 1);
}

TEST(Options, EachPartCanBeDisabled) {
  const Tensor x = randn({20, 30}), w = randn({30, 40});
  const Tensor eager = layer(x, w);
  for (const std::string_view part : kDisableNames) {
    const auto f = compile([](const Tensor& a, const Tensor& b) { return layer(a, b); },
                           {.disable = {std::string(part)}});
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(same_bits(f(x, w), eager)) << part;
  }
}

// The CPU has no epilogue that rounds less often: level library is accepted there and says so.
TEST(Options, TheNumericsLevelIsNamed) {
  const Tensor x = randn({20, 30}), w = randn({30, 40});
  const auto linear_gelu = [](const Tensor& a, const Tensor& b) {
    return gelu(matmul(a, b) + ones({40}), "tanh");
  };
  for (const bool library : {false, true}) {
    const auto f =
        compile(linear_gelu, {.numerics = library ? Numerics::library : Numerics::exact});
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(same_bits(f(x, w), linear_gelu(x, w)));
    const std::string level = library ? "library" : "exact";
    f.reset();
    EXPECT_TRUE(contains(f.ledger().table(), "numerics " + level)) << f.ledger();
    EXPECT_TRUE(contains(f.ledger().json(), "\"numerics\": \"" + level + "\""));
    (void)f(x, w);
    EXPECT_EQ(f.ledger().numerics, library ? Numerics::library : Numerics::exact);
    EXPECT_TRUE(f.ledger().relaxed.empty());
  }
}

TEST(Options, OtherNamesAreRefused) {
  const std::string text =
      error_of([] { (void)compile([](const Tensor& x) { return x; }, {.disable = {"fusoin"}}); });
  EXPECT_TRUE(contains(text, "fusoin")) << text;
  for (const std::string_view part : kDisableNames) {
    EXPECT_TRUE(contains(text, std::string(part))) << text;
  }
}

}  // namespace
}  // namespace ingot
