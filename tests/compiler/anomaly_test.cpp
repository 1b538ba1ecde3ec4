// AnomalyGuard around and inside of compiled functions.
#include <cmath>
#include <optional>

#include <ingot/ingot.h>

#include "support/eager_and_compiled.h"

namespace ingot {
namespace {

using namespace testing_support;

// A NaN inside a fused group is found at its op, and at the same one as in eager execution.
TEST(Anomalies, InsideACompiledFunctionNameTheOp) {
  int line = 0;
  const auto body = [&line](const Tensor& t) {
    Tensor y = t * 2;
    line = __LINE__ + 1;
    y = log(y);
    return y + 1;
  };
  const auto f = compile(body, interpreted());
  const Tensor good = tensor({1, 2}), bad = tensor({1, -2});
  (void)f(good), (void)f(good);
  EXPECT_TRUE(std::isnan(f(bad)[1].item<float>()));
  const AnomalyGuard guard;
  EXPECT_TRUE(same_bits(f(good), body(good)));
  const std::string error = error_of([&] { (void)f(bad); });
  EXPECT_EQ(error, error_of([&] { (void)body(bad); }));
  EXPECT_TRUE(contains(error, "log: element [1] of the result f32[2] is NaN"));
  EXPECT_TRUE(contains(error, "operand 0 f32[2] from -4 to 2"));
  EXPECT_TRUE(contains(error, "anomaly_test.cpp:" + std::to_string(line)));
}

// The guard begins in the middle of a replay: what is pending runs first.
TEST(Anomalies, AGuardInsideTheFunctionIsSeen) {
  bool guarded = false;
  Tensor before;
  const auto f = compile(
      [&](const Tensor& t) {
        before = t * 3;
        std::optional<AnomalyGuard> guard;
        if (guarded) guard.emplace();
        return sqrt(before);
      },
      interpreted());
  (void)f(tensor({1.0})), (void)f(tensor({1.0}));
  for (const bool now : {true, false, true}) {
    guarded = now;
    EXPECT_TRUE(same_bits(f(tensor({3.0})), tensor({3.0})));
    const std::string error = error_of([&] { (void)f(tensor({-3.0})); });
    if (now) {
      EXPECT_TRUE(contains(error, "sqrt: element [0]"));
    } else {
      EXPECT_EQ(error, "");
    }
    EXPECT_TRUE(has_values(before, {-9}));
  }
}

}  // namespace
}  // namespace ingot
