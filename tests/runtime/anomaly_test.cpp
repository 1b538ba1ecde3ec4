// AnomalyGuard: which op is blamed for a NaN, forward and backward, and what the sentence says.
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <thread>

#include <ingot/runtime/anomaly.h>
#include <ingot/runtime/ops.h>

#include "support/tensor_checks.h"

namespace ingot {
namespace {

using namespace testing_support;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::string at(int line) { return "; at anomaly_test.cpp:" + std::to_string(line); }

TEST(Anomaly, NothingIsCheckedWithoutAGuard) {
  EXPECT_EQ(error_of([] { (void)log(tensor({-1})); }), "");
  { const AnomalyGuard guard; }
  EXPECT_EQ(error_of([] { (void)log(tensor({-1})); }), "");
}

TEST(Anomaly, TheFirstOpIsNamedWithItsLineAndOperands) {
  const AnomalyGuard guard;
  const Tensor x = tensor({4, 1, 0.5, -1, 2, -3}).view({2, 3}).t();
  std::string error = error_of([&] { (void)(sqrt(x) + 1); });
  EXPECT_TRUE(contains(error, at(__LINE__ - 1)));
  EXPECT_TRUE(contains(error,
                       "sqrt: element [0, 1] of the result f32[3, 2] is NaN; operand 0 f32[3, 2] "
                       "from -3 to 4; at "));
  // Moving a NaN is no one's fault, using it is. A number, an operand that has NaN already, a
  // written one.
  error = error_of([&] { (void)(tensor({kNaN, 1}) * 2); });
  EXPECT_TRUE(contains(error, at(__LINE__ - 1)));
  EXPECT_TRUE(contains(error, "operand 0 f32[2] from 1 to 1 and 1 NaN, operand 1 2; at "));
  Tensor y = tensor({0.0});
  EXPECT_TRUE(contains(error_of([&] { y.div_(y); }), "operand 0 f32[1] overwritten"));
  EXPECT_TRUE(contains(error_of([] { (void)zeros({0}).mean(); }), "operand 0 f32[0] empty"));
}

TEST(Anomaly, InfinitiesOnRequest) {
  const Tensor x = tensor({1, 0});
  {
    const AnomalyGuard guard;
    EXPECT_EQ(error_of([&] { (void)log(x); }), "");
    {
      const AnomalyGuard inner(true);
      EXPECT_TRUE(
          contains(error_of([&] { (void)log(x); }), "[1] of the result f32[2] is negatively"));
      EXPECT_TRUE(
          contains(error_of([&] { (void)(1 / x); }), "[1] of the result f32[2] is infinite"));
    }
    EXPECT_EQ(error_of([&] { (void)log(x); }), "");
  }
}

// Forward is right; the gradient is 0 * inf. The line is that of the forward op.
TEST(Anomaly, InBackwardTheForwardOpIsNamed) {
  Tensor x = tensor({0, 4}).requires_grad_();
  const AnomalyGuard guard;
  Tensor root = sqrt(x);
  const int line = __LINE__ - 1;
  Tensor loss = (root * tensor({0, 1})).sum();
  const std::string error = error_of([&] { loss.backward(); });
  EXPECT_TRUE(contains(error, "sqrt_backward"));
  EXPECT_TRUE(contains(error, "is NaN, in backward() of the op at this line"));
  EXPECT_TRUE(contains(error, at(line)));
  EXPECT_FALSE(x.grad().defined());
}

TEST(Anomaly, EveryDTypeAndResultIsChecked) {
  const AnomalyGuard guard;
  for (const DType t : {kFloat, kDouble, kHalf, kBFloat16}) {
    EXPECT_TRUE(contains(error_of([&] { (void)log(tensor({1, -1}, t)); }), "[1]")) << name(t);
  }
  EXPECT_TRUE(contains(error_of([&] { (void)topk(log(tensor({1, -1})), 1); }), "log: "));
  EXPECT_EQ(error_of([&] { (void)arange(3).view({3, 1})[0]; }), "");
}

TEST(Anomaly, HistoryAndVersionsStayRight) {
  Tensor x = tensor({1, -1}).requires_grad_();
  Tensor y = x * 1;
  const auto version = y.get().storage->version;
  {
    const AnomalyGuard guard;
    EXPECT_NE(error_of([&] { y.log_(); }), "");
  }
  EXPECT_EQ(y.get().storage->version, version + 1);
  y[0].sum().backward();
  EXPECT_EQ(x.grad()[0].item<float>(), 1);
}

// The environment is read once: each case is a process of its own.
[[noreturn]] void log_with(const char* value, double x) {
  setenv("INGOT_DETECT_ANOMALY", value, 1);
  std::thread([x] {
    try {
      (void)log(tensor({x}));
    } catch (const Error& error) {
      std::fputs(error.what(), stderr);
      std::exit(1);
    }
  }).join();
  std::exit(0);
}

TEST(AnomalyDeathTest, TheEnvironmentGuardsEveryThread) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(log_with("1", -1), testing::ExitedWithCode(1), "log: element .0. of .* is NaN");
  EXPECT_EXIT(log_with("1", 0), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(log_with("inf", 0), testing::ExitedWithCode(1), "is negatively infinite");
  EXPECT_EXIT(log_with("0", -1), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace ingot
