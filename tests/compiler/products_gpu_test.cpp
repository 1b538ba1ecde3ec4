// Products of compiled functions on a GPU: small ones with their tails as one kernel, and TF32, all
// with eager's bits.
#include <gtest/gtest.h>

#include <ingot/ingot.h>
#include <ingot/kernels/cuda/device.h>

#include "support/tensor_checks.h"

namespace ingot {
namespace {

using testing_support::same_bits;

class ProductsGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!cuda::is_available()) GTEST_SKIP() << "no GPU: " << cuda::unavailable_reason();
    manual_seed(11);
  }
  void TearDown() override { cuda::set_allow_tf32(false); }
  static Tensor normal(const Dims& sizes) { return randn(sizes, kCUDA); }
};

TEST_F(ProductsGpu, ASmallOneAndItsTailAreOneLaunch) {
  const auto body = [](const Tensor& x, const Tensor& w, const Tensor& b, const Tensor& r) {
    return tanh(relu(linear(x, w, b)) * 0.5 + r);
  };
  const auto f = compile(body);
  for (const auto& [m, n, k] :
       {std::tuple<i64, i64, i64>{64, 64, 64}, {64, 1024, 256}, {33, 10, 37}, {256, 256, 256}}) {
    const Tensor x = normal({m, k}), w = normal({n, k}), b = normal({n}), r = normal({m, n});
    for (int call = 0; call < 3; ++call) {
      EXPECT_TRUE(same_bits(f(x, w, b, r), body(x, w, b, r))) << m << " x " << n << " x " << k;
    }
    EXPECT_EQ(f.ledger().launches_compiled, 1) << f.ledger();
  }
}

TEST_F(ProductsGpu, FactorsAtOddAddressesHaveTheSameBits) {
  const auto body = [](const Tensor& x, const Tensor& w) { return relu(matmul(x, w)) + 1.0; };
  const auto f = compile(body);
  const Tensor memory = normal({64 * 64 + 8}), w = normal({64, 64});
  for (i64 start = 0; start < 6; ++start) {
    const Tensor x = memory.slice(0, start, start + 64 * 64).view({64, 64});
    EXPECT_TRUE(same_bits(f(x, w), body(x, w))) << start;
  }
}

TEST_F(ProductsGpu, GradientsOfSmallLayers) {
  const auto step = [](const Tensor& x, const Tensor& w, const Tensor& v) {
    const Tensor a = w.detach().clone().requires_grad_(), b = v.detach().clone().requires_grad_();
    sum(square(matmul(gelu(matmul(x, a)), b))).backward();
    return std::make_tuple(a.grad(), b.grad());
  };
  const auto f = compile(step);
  const Tensor x = normal({64, 256}), w = normal({256, 128}), v = normal({128, 10});
  for (int call = 0; call < 3; ++call) {
    const auto [a, b] = f(x, w, v);
    const auto [c, d] = step(x, w, v);
    EXPECT_TRUE(same_bits(a, c));
    EXPECT_TRUE(same_bits(b, d));
  }
}

// The setting counts when a product is called: no path of the other one is replayed.
TEST_F(ProductsGpu, ARecordedPathIsOfOneSettingOfTf32) {
  const auto body = [](const Tensor& x, const Tensor& w) { return relu(matmul(x, w)); };
  const auto f = compile(body);
  const Tensor x = normal({512, 512}), w = normal({512, 512});
  Tensor results[2];
  for (int call = 0; call < 8; ++call) {
    const bool allow = call / 2 % 2 == 1;
    cuda::set_allow_tf32(allow);
    results[allow ? 1 : 0] = f(x, w);
    EXPECT_TRUE(same_bits(results[allow ? 1 : 0], body(x, w))) << call;
  }
  if (cuda::properties(0).major >= 8) {
    EXPECT_FALSE(same_bits(results[0], results[1]));
  }
  EXPECT_TRUE(allclose(results[0], results[1], 1e-2, 1e-1));
}

}  // namespace
}  // namespace ingot
