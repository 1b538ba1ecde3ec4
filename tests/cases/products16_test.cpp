// Products of f16 and bf16: sums in f32, one rounding at the end, gradients too.
#include <cmath>

#include "cases/both_modes.h"

namespace ingot {
namespace {

using namespace testing_support;

class Products16 : public ::testing::TestWithParam<DType> {
 protected:
  Tensor narrow(const Tensor& x) const { return x.to(GetParam()); }
};

// A sum kept in 16 bits would stay at 256 (bf16) or 2048 (f16), where one more is half a step.
TEST_P(Products16, SumsDoNotStayWhereOneMoreIsRoundedAway) {
  for (const i64 k : {300, 2048 + 512}) {
    const Tensor a = narrow(ones({2, k})), b = narrow(ones({k, 3}));
    const Tensor y =
        in_both_modes([](const Tensor& p, const Tensor& q) { return matmul(p, q); }, a, b);
    EXPECT_EQ(y.dtype(), GetParam());
    EXPECT_TRUE(same_bits(y.to(DType::f32), full({2, 3}, static_cast<double>(k))));
  }
}

TEST_P(Products16, ASumOfNothingIsZero) {
  const TensorOptions type(GetParam());
  const Tensor a = zeros({3, 0}, type), b = zeros({0, 2}, type), bias = full({2}, 1.5, type);
  EXPECT_TRUE(equal(matmul(a, b), zeros({3, 2}, type)));
  EXPECT_TRUE(equal(linear(a, transpose(b, 0, 1)), zeros({3, 2}, type)));
  EXPECT_TRUE(equal(linear(a, transpose(b, 0, 1), bias), full({3, 2}, 1.5, type)));
  EXPECT_TRUE(equal(addmm(bias, a, b), full({3, 2}, 1.5, type)));
}

// Golden values by hand.
TEST_P(Products16, OneRoundingAfterTheBias) {
  const bool half = GetParam() == DType::f16;
  const double step = half ? 0x1p-10 : 0x1p-7;  // from 1 to the next value
  const Tensor x = narrow(tensor({1.0, step / 4}).view({1, 2}));
  const Tensor w = narrow(tensor({1.0, 1.0}).view({1, 2}));
  const Tensor bias = narrow(tensor({3 * step / 8}));
  auto f = [](const Tensor& p, const Tensor& q, const Tensor& r) { return linear(p, q, r); };
  // 1 + step / 4 + 3 step / 8 is nearer to 1 + step; rounded before the bias it would be 1.
  EXPECT_TRUE(has_values(in_both_modes(f, x, w, bias).to(DType::f32), {1 + step}));
  auto g = [](const Tensor& p, const Tensor& q, const Tensor& r) {
    return addmm(r, p, transpose(q, 0, 1));
  };
  EXPECT_TRUE(has_values(in_both_modes(g, x, w, bias).to(DType::f32), {1 + step}));
}

TEST_P(Products16, AreTheF32ProductRoundedInEveryLayout) {
  const Tensor a = narrow(noise({4, 33, 20}, 1)), b = narrow(noise({20, 29}, 2));
  const Tensor wide = matmul(a.to(DType::f32), b.to(DType::f32));
  auto f = [](const Tensor& p, const Tensor& q) { return matmul(p, q); };
  EXPECT_TRUE(same_bits(in_both_modes(f, a, b), narrow(wide)));
  const Tensor at = transpose(transpose(a, 1, 2).contiguous(), 1, 2);
  EXPECT_TRUE(
      same_bits(in_both_modes(f, at, b), narrow(matmul(at.to(DType::f32), b.to(DType::f32)))));
}

TEST_P(Products16, GradientsHaveTheDTypeOfTheirLeaves) {
  auto gradients = [](const Tensor& x, const Tensor& w, const Tensor& b) {
    const Tensor p = w.detach().clone().requires_grad_(), q = b.detach().clone().requires_grad_();
    sum(linear(x, p, q) * x.select(1, 0).unsqueeze(1)).backward();
    return std::make_tuple(p.grad(), q.grad());
  };
  const Tensor x = narrow(noise({7, 12}, 3)), w = narrow(noise({5, 12}, 4)),
               b = narrow(noise({5}, 5));
  const auto [dw, db] = gradients(x, w, b);
  EXPECT_EQ(dw.dtype(), GetParam());
  const auto [rw, rb] = gradients(x.to(DType::f32), w.to(DType::f32), b.to(DType::f32));
  const double step = GetParam() == DType::f16 ? 0x1p-10 : 0x1p-7;
  EXPECT_TRUE(allclose(dw.to(DType::f32), rw, 2 * step, 2 * step));
  EXPECT_TRUE(allclose(db.to(DType::f32), rb, 2 * step, 2 * step));
}

INSTANTIATE_TEST_SUITE_P(DTypes, Products16, ::testing::Values(DType::f16, DType::bf16),
                         [](const auto& p) { return std::string(name(p.param)); });

}  // namespace
}  // namespace ingot
