// Rows of every shape that a block can have on a GPU: their kernels can be launched, and generated
// ones give the bits of eager ops.
#include <gtest/gtest.h>

#include <ingot/ingot.h>
#include <ingot/kernels/cuda/row_shape.h>

#include "support/tensor_checks.h"

namespace ingot {
namespace {

using testing_support::same_bits;

// The longest row of each shape.
std::vector<i64> lengths(int width) {
  std::vector<i64> all;
  for (i64 n = width; n <= kLongRow; n += width) {
    const RowShape shape = row_shape(n, width), next = row_shape(n + width, width);
    if (shape.lanes != next.lanes || shape.slots != next.slots) all.push_back(n);
  }
  return all;
}

std::vector<Tensor> eager_ops(const Tensor& x) {
  return {softmax(x, -1), layer_norm(x, {x.size(1)}), sum(x, {1}), logsumexp(x, 1)};
}

class RowsGpu : public ::testing::TestWithParam<DType> {};

TEST_P(RowsGpu, AllShapesRun) {
  if (!cuda::is_available()) GTEST_SKIP() << cuda::unavailable_reason();
  const DType t = GetParam();
  manual_seed(5);
  for (const i64 longest : lengths(vector_width(item_size(t)))) {
    for (const i64 n : {longest, longest - 1}) {  // the latter is not of whole vectors
      SCOPED_TRACE(n);
      const Tensor x = randn({5, n}).to(t).cpu(), y = x.cuda();
      const std::vector<Tensor> want = eager_ops(x), got = eager_ops(y);
      for (std::size_t i = 0; i < want.size(); ++i) {
        EXPECT_TRUE(allclose(got[i].cpu().to(kFloat), want[i].to(kFloat), 0.02, 1e-3)) << i;
      }
      const auto scaled = [](const Tensor& a) { return softmax(a * 0.5, -1); };
      const auto compiled = compile(scaled);
      const Tensor eager = scaled(y);
      (void)compiled(y);
      EXPECT_TRUE(same_bits(eager.cpu(), compiled(y).cpu()));
      if (HasFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(InEveryType, RowsGpu,
                         ::testing::Values(DType::f32, DType::f64, DType::f16, DType::bf16));

}  // namespace
}  // namespace ingot
