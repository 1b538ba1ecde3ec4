// Tensors as text.
#include <limits>

#include <ingot/runtime/ops.h>

#include "support/tensor_checks.h"

namespace ingot {
namespace {

TEST(Print, IntegersKeepEveryDigit) {
  constexpr i64 kMax = std::numeric_limits<i64>::max(), kMin = std::numeric_limits<i64>::min();
  EXPECT_EQ(to_string(from_vector(std::vector<i64>{kMax, kMin}, {2})),
            "tensor([ 9223372036854775807, -9223372036854775808])");
  EXPECT_EQ(to_string(full({}, (i64{1} << 53) + 1)), "tensor(9007199254740993)");
}

TEST(Print, SpecialValuesAndEmptyTensors) {
  EXPECT_EQ(to_string(tensor({INFINITY, -INFINITY, NAN, 1})), "tensor([ inf, -inf,  nan,   1.])");
  EXPECT_EQ(to_string(Tensor()), "tensor(undefined)");
  EXPECT_EQ(to_string(tensor({1, 0}, kBool)), "tensor([ true, false])");
  EXPECT_TRUE(testing_support::contains(to_string(zeros({0, 3})), "tensor([], size="));
}

// A transposed or sliced tensor prints its logical order.
TEST(Print, ViewsPrintInLogicalOrder) {
  Tensor x = testing_support::iota({2, 3});
  EXPECT_EQ(to_string(x.t()), to_string(x.t().contiguous()));
  const Tensor part = x[{All, Slice(1, 3)}];
  EXPECT_EQ(to_string(part), to_string(part.clone()));
}

}  // namespace
}  // namespace ingot
