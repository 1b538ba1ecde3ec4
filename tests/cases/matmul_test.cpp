// Products with their additions, strides and batches.
#include "cases/both_modes.h"

namespace ingot {
namespace {

using namespace testing_support;

// With beta 0 the input is not read: 0 * NaN is NaN.
TEST(Matmul, Mm02BetaZeroIgnoresTheInput) {
  auto f = [](const Tensor& c, const Tensor& a, const Tensor& b) { return addmm(c, a, b, 0); };
  Tensor a = tensor({1, 2, 3, 4}).view({2, 2}), b = tensor({5, 6, 7, 8}).view({2, 2});
  EXPECT_TRUE(has_values(in_both_modes(f, full({2, 2}, kNaN), a, b), {19, 22, 43, 50}));
  Tensor p = noise({33, 17}, 1), q = noise({17, 29}, 2);
  Tensor y = in_both_modes(f, full({33, 29}, kNaN), p, q);
  EXPECT_FALSE(any(isnan(y)).item<bool>());
  EXPECT_TRUE(allclose(y, matmul(p, q)));
}

// A full 2-d bias of which only the first row is added.
TEST(Matmul, Mm03AFullBiasIsAddedWhole) {
  Tensor a = eye(2), b = tensor({1, 2, 3, 4}).view({2, 2});
  Tensor bias = tensor({10, 20, 30, 40}).view({2, 2});
  EXPECT_TRUE(has_values(in_both_modes([](const Tensor& c, const Tensor& x,
                                          const Tensor& y) { return addmm(c, x, y); },
                                       bias, a, b),
                         {11, 22, 33, 44}));
  EXPECT_TRUE(has_values(in_both_modes([](const Tensor& c, const Tensor& x,
                                          const Tensor& y) { return c + matmul(x, y); },
                                       bias, a, b),
                         {11, 22, 33, 44}));
}

// The sum of two products of different shapes, taken for one that accumulates into the other.
TEST(Matmul, Mm05SumOfProductsThatBroadcast) {
  Tensor a = full({1, 1}, 2.0), b = tensor({1, 3}).view({1, 2});
  Tensor c = tensor({1, 10}).view({2, 1}), d = ones({1, 2});
  auto forward = [&](const Tensor& p) { return matmul(p, b) + matmul(c, d); };
  auto backward = [&](const Tensor& p) { return matmul(c, d) + matmul(p, b); };
  EXPECT_TRUE(has_values(in_both_modes(forward, a), {3, 7, 12, 16}));
  EXPECT_TRUE(has_values(in_both_modes(backward, a), {3, 7, 12, 16}));
}

// An expanded bias has strides of 0, which a library call may not take.
TEST(Matmul, Mm06ExpandedBiases) {
  Tensor a = tensor({1, 2, 3, 4}).view({2, 2}), b = tensor({1, 0, 1, 0, 1, 1}).view({2, 3});
  auto both = [&](const Tensor& bias, std::initializer_list<double> right) {
    Tensor wide = bias.expand({2, 3});
    EXPECT_TRUE(has_values(in_both_modes([](const Tensor& c, const Tensor& x,
                                            const Tensor& y) { return addmm(c, x, y); },
                                         wide, a, b),
                           right));
    EXPECT_TRUE(has_values(in_both_modes([](const Tensor& c, const Tensor& x,
                                            const Tensor& y) { return matmul(x, y) + c; },
                                         wide, a, b),
                           right));
  };
  both(tensor({10, 20, 30}), {11, 22, 33, 13, 24, 37});
  both(tensor({100, 200}).view({2, 1}), {101, 102, 103, 203, 204, 207});
  both(full({}, 5.0), {6, 7, 8, 8, 9, 12});
}

// A batch whose stride is not the largest one.
TEST(Matmul, Mm08TheBatchNeedNotBeOutermost) {
  Tensor a = iota({2, 3, 2}).permute({1, 0, 2});
  auto f = [](const Tensor& x, const Tensor& y) { return matmul(x, y); };
  for (const Tensor& b : {ones({3, 2, 1}), ones({2, 1})}) {
    Tensor y = in_both_modes(f, a, b);
    EXPECT_EQ(y.sizes(), (Dims{3, 2, 1}));
    EXPECT_TRUE(has_values(y, {1, 13, 5, 17, 9, 21}));
  }
}

}  // namespace
}  // namespace ingot
