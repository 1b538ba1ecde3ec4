// Every elementwise row against its golden points, against double, and its gradients against exact
// derivatives; then the conventions at kinks and ties.

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "kernels/row_checks.h"

namespace ingot {
namespace {

using namespace row_checks;
using F = Num<float>;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(Rows, HaveDistinctNames) {
  std::set<std::string> names;
  int count = 0;
  each_row([&]<class R>() {
    names.insert(R::name);
    ++count;
  });
  EXPECT_EQ(int(names.size()), count);
  EXPECT_GE(count, 50);
}

TEST(Rows, MeetGoldenPoints) {
  each_row([]<class R>() { EXPECT_EQ(joined(golden_failures<R>()), ""); });
}

TEST(Rows, StayWithinTheirBoundAgainstDouble) {
  each_row([]<class R>() { EXPECT_EQ(joined(bound_failures<R>(20000)), ""); });
}

TEST(Rows, GradientsAreTheDerivatives) {
  int count = 0;
  each_row([&]<class R>() {
    each_gradient<R>([&]<class Row, int K>() {
      EXPECT_EQ(joined(gradient_failures<Row, K>(2000)), "") << Row::name << " operand " << K;
      ++count;
    });
  });
  EXPECT_GE(count, 55);
}

TEST(Rows, DualAgreesWithFiniteDifferences) {
  each_row([]<class R>() {
    each_gradient<R>([]<class Row, int K>() {
      EXPECT_EQ(joined(dual_failures<Row, K>(300)), "") << Row::name << " operand " << K;
    });
  });
}

// The checks above are worth something only if they refuse what is wrong.
struct NoGolden {
  static constexpr const char* name = "no_golden";
  template <class S>
  INGOT_HD static S value(S x) {
    return x + x;
  }
};
struct Wrong {
  static constexpr const char* name = "wrong";
  static constexpr Domain domain{0.5, 2};
  static constexpr int ulp = 1;
  static constexpr Golden golden[] = {{{1}, 2.718281828459045}, {{2}, 7.38}};
  template <class S>
  INGOT_HD static S value(S x) {
    return exp(x * S(1.00001)) / exp(x * S(0.00001));
  }
  template <class S>
  INGOT_HD static S grad(S x, S y, S dy) {
    return dy * (y + S(0.001) * x);
  }
};

TEST(Rows, ChecksRefuseWrongRows) {
  EXPECT_EQ(golden_failures<NoGolden>().size(), 1u);
  EXPECT_GE(golden_failures<Wrong>().size(), 1u);
  EXPECT_GE(bound_failures<Wrong>(1000).size(), 1u);
  EXPECT_GE((gradient_failures<Wrong, 0>(100).size()), 90u);
}

TEST(Rows, ReluKeepsNanAndMakesZerosPositive) {
  const auto relu = [](float x) { return rows::Relu::value(F(x)).v; };
  EXPECT_TRUE(std::isnan(relu(kNan)));
  EXPECT_FALSE(std::signbit(relu(-0.0f)));
  EXPECT_FALSE(std::signbit(relu(0.0f)));
  EXPECT_EQ(relu(-1), 0.0f);
  EXPECT_EQ(relu(2), 2.0f);
  EXPECT_EQ(rows::Relu::grad(F(0), F(0), F(3)).v, 0.0f);
  EXPECT_EQ(rows::Relu::value(Num<int>(-5)).v, 0);
}

TEST(Rows, NegativeOfPositiveZeroIsNegativeZero) {
  EXPECT_TRUE(std::signbit(rows::Neg::value(F(0)).v));
  EXPECT_FALSE(std::signbit(rows::Neg::value(F(-0.0f)).v));
}

TEST(Rows, MaximumMinimumClampPropagateNan) {
  using namespace rows;
  for (float other : {-1.0f, 0.0f, kInf}) {
    EXPECT_TRUE(std::isnan(Maximum::value(F(kNan), F(other)).v));
    EXPECT_TRUE(std::isnan(Maximum::value(F(other), F(kNan)).v));
    EXPECT_TRUE(std::isnan(Minimum::value(F(kNan), F(other)).v));
    EXPECT_TRUE(std::isnan(Minimum::value(F(other), F(kNan)).v));
    EXPECT_TRUE(std::isnan(ClampMin::value(F(kNan), F(other)).v));
    EXPECT_TRUE(std::isnan(ClampMax::value(F(kNan), F(other)).v));
    EXPECT_TRUE(std::isnan(Clamp::value(F(kNan), F(-1), F(other)).v));
    EXPECT_TRUE(std::isnan(Clamp::value(F(1), F(kNan), F(other)).v));
    EXPECT_TRUE(std::isnan(Clamp::value(F(1), F(other), F(kNan)).v));
  }
}

TEST(Rows, TiesShareOrPassTheGradient) {
  using namespace rows;
  EXPECT_EQ(Maximum::grad_a(F(2), F(2), F(2), F(1)).v, 0.5f);
  EXPECT_EQ(Maximum::grad_b(F(2), F(2), F(2), F(1)).v, 0.5f);
  EXPECT_EQ(Minimum::grad_a(F(2), F(2), F(2), F(1)).v, 0.5f);
  EXPECT_EQ(Minimum::grad_b(F(2), F(2), F(2), F(1)).v, 0.5f);
  EXPECT_EQ(Abs::grad(F(0), F(0), F(1)).v, 0.0f);
  EXPECT_EQ(Clamp::grad_a(F(1), F(1), F(2), F(1), F(1)).v, 1.0f);
  EXPECT_EQ(Clamp::grad_a(F(2), F(1), F(2), F(2), F(1)).v, 1.0f);
  EXPECT_EQ(Clamp::grad_a(F(3), F(1), F(2), F(2), F(1)).v, 0.0f);
  EXPECT_EQ(ClampMin::grad_a(F(1), F(1), F(1), F(1)).v, 1.0f);
  EXPECT_EQ(ClampMin::grad_b(F(1), F(1), F(1), F(1)).v, 0.0f);
  EXPECT_EQ(ClampMax::grad_a(F(1), F(1), F(1), F(1)).v, 1.0f);
}

TEST(Rows, ZeroGradientStaysZeroForInfiniteIncoming) {
  EXPECT_EQ(rows::Floor::grad(F(1.5f), F(1), F(kInf)).v, 0.0f);
  EXPECT_EQ(rows::Sign::grad(F(1.5f), F(1), F(kNan)).v, 0.0f);
}

TEST(Rows, PowGradientsAreFiniteAtZero) {
  using rows::Pow;
  EXPECT_EQ(Pow::grad_a(F(0), F(0), F(1), F(1)).v, 0.0f);
  EXPECT_EQ(Pow::grad_b(F(0), F(2), F(0), F(1)).v, 0.0f);
  EXPECT_EQ(Pow::grad_a(F(0), F(1), F(0), F(1)).v, 1.0f);
}

TEST(Rows, GeluTailKeepsItsSignAndSize) {
  const auto gelu = [](float x) { return double(rows::Gelu::value(F(x)).v); };
  EXPECT_NEAR(gelu(-5.5339069f), -8.66541e-08, 1e-12);
  EXPECT_NEAR(gelu(-8), -4.976767e-15, 1e-19);
  for (float x = -30; x < 0; x += 0.037f) EXPECT_LE(gelu(x), 0) << x;
  EXPECT_EQ(gelu(0), 0);
  EXPECT_EQ(gelu(20), 20);
}

TEST(Rows, FloatShortcutsKeepNanAndInfinity) {
  using namespace rows;
  EXPECT_TRUE(std::isnan(Mul::value(F(kInf), F(0)).v));
  EXPECT_TRUE(std::signbit(Mul::value(F(-3), F(0)).v));
  EXPECT_TRUE(std::isnan(Sub::value(F(kInf), F(kInf)).v));
  EXPECT_TRUE(std::isnan(Div::value(F(0), F(0)).v));
  EXPECT_TRUE(std::signbit(Div::value(F(0), F(-kInf)).v));
}

TEST(Rows, WhereTakesItsConditionAsBool) {
  EXPECT_EQ(rows::Where::value(Num<bool>(true), F(1), F(2)).v, 1.0f);
  EXPECT_EQ(rows::Where::value(Num<bool>(false), Num<Int64>(1), Num<Int64>(2)).v, 2);
  // Only the chosen side gets the gradient, whatever stands on the other.
  EXPECT_EQ(rows::Where::grad_b(Num<bool>(false), F(kNan), F(2), F(2), F(1)).v, 0.0f);
  EXPECT_EQ(rows::Where::grad_c(Num<bool>(false), F(kNan), F(2), F(2), F(1)).v, 1.0f);
}

TEST(Rows, LerpMeetsItsEndsExactly) {
  for (float a : {0.1f, -7.3f, 1e10f}) {
    for (float b : {0.3f, 5.0f}) {
      EXPECT_EQ(rows::Lerp::value(F(a), F(b), F(0)).v, a);
      EXPECT_EQ(rows::Lerp::value(F(a), F(b), F(1)).v, b);
    }
  }
}

}  // namespace
}  // namespace ingot
