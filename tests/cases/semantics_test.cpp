// Elementwise arithmetic on floating values: what rewrites, contraction and second formulas of the
// same function get wrong in other libraries. README.md says where the cases come from.
#include "cases/both_modes.h"

namespace ingot {
namespace {

using namespace testing_support;

// An activation that keeps or drops the sign of zero as the path likes: ours always gives +0.
TEST(Semantics, Sem03ReluOfMinusZeroIsPlusZeroEverywhere) {
  Tensor x = tensor({-0.0, 0.0, -1, 2, kNaN});
  EXPECT_TRUE(
      has_values(in_both_modes([](const Tensor& t) { return relu(t); }, x), {0, 0, 0, 2, kNaN}));
  EXPECT_TRUE(has_values(in_both_modes([](const Tensor& t) { return 1 / relu(t); }, x),
                         {kInf, kInf, kInf, 0.5, kNaN}));
}

// Simplifications that hold for integers only lose NaN and infinity.
TEST(Semantics, Sem05NoShortcutsForFloats) {
  Tensor x = tensor({kNaN, kInf, -kInf, 3, -3, 0});
  auto both = [&](auto f) {
    return in_both_modes([f](const Tensor& t) { return f(t) + -0.0; }, x);
  };
  EXPECT_TRUE(
      has_values(both([](const Tensor& t) { return t * 0; }), {kNaN, kNaN, kNaN, 0, -0.0, 0}));
  EXPECT_TRUE(has_values(both([](const Tensor& t) { return t - t; }), {kNaN, kNaN, kNaN, 0, 0, 0}));
  EXPECT_TRUE(
      has_values(both([](const Tensor& t) { return t / t; }), {kNaN, kNaN, kNaN, 1, 1, kNaN}));
  EXPECT_TRUE(
      has_values(both([](const Tensor& t) { return 0 / t; }), {kNaN, 0, -0.0, 0, -0.0, kNaN}));
}

// A negation that is generated as 0 - x.
TEST(Semantics, Sem06NegationFlipsTheSignOfZero) {
  Tensor x = tensor({0.0, -0.0, 1});
  EXPECT_TRUE(has_values(in_both_modes([](const Tensor& t) { return -t; }, x), {-0.0, 0.0, -1}));
  EXPECT_TRUE(
      has_values(in_both_modes([](const Tensor& t) { return 1 / -t; }, x), {-kInf, kInf, -1}));
}

// floor(a / b) of the rounded quotient steps over the true one.
TEST(Semantics, Sem10FloorDivideUsesTheTrueQuotient) {
  Tensor a = tensor({1.0, 0.5, 6.0, 0.7, 3.0}), b = tensor({0.1, 0.1, 0.2, 0.1, 0.1});
  auto divide = [](const Tensor& x, const Tensor& y) { return floor_divide(x, y) * 1.0; };
  EXPECT_TRUE(has_values(in_both_modes(divide, a, b), {9, 4, 29, 6, 29}));
}

// pow rewritten as sqrt, as a chain of products or as exp(n log x).
TEST(Semantics, Sem26SpecialCasesOfPow) {
  Tensor base = tensor({0, kNaN, 1, -8, -2, 0, -0.0, -kInf, -0.0, 2});
  Tensor exponent = tensor({0, 0, kNaN, 1.0 / 3, 3, -1, -1, 0.5, 0.5, -2});
  const std::initializer_list<double> right = {1, 1, 1, kNaN, -8, kInf, -kInf, kInf, 0, 0.25};
  auto power = [](const Tensor& a, const Tensor& b) { return pow(a, b) * 1.0; };
  EXPECT_TRUE(has_values(in_both_modes(power, base, exponent), right));
  const std::vector<double> wanted(right), exponents = exponent.to_vector<double>();
  for (i64 i = 0; i < base.numel(); ++i) {
    SCOPED_TRACE(i);
    const double e = exponents[static_cast<std::size_t>(i)];
    Tensor y =
        in_both_modes([e](const Tensor& a) { return pow(a, e) * 1.0; }, base.narrow(0, i, 1));
    EXPECT_TRUE(has_values(y, {wanted[static_cast<std::size_t>(i)]}));
  }
}

// exp(x) - 1 and log(1 + x) lose small arguments and the sign of zero.
TEST(Semantics, Sem29Expm1AndLog1pKeepSmallArguments) {
  Tensor x = tensor({1e-8, -0.0, -1, 90});
  const auto tiny = static_cast<double>(1e-8F);
  Tensor e = in_both_modes([](const Tensor& t) { return expm1(t) * 1.0; }, x);
  EXPECT_TRUE(has_values(e.narrow(0, 0, 2), {tiny, -0.0}));
  EXPECT_NEAR(e[2].item<double>(), -0.6321206, 1e-6);
  EXPECT_EQ(e[3].item<double>(), kInf);
  Tensor l = in_both_modes([](const Tensor& t) { return log1p(t) * 1.0; }, x);
  EXPECT_TRUE(has_values(l.narrow(0, 0, 3), {tiny, -0.0, -kInf}));
  EXPECT_NEAR(l[3].item<double>(), 4.5108595, 1e-6);
}

// Halves rounded away from zero in one path and to even in the other; floor(x + 0.5).
TEST(Semantics, Sem30RoundTakesTiesToEven) {
  Tensor x = tensor({0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999997, 8388609});
  EXPECT_TRUE(has_values(in_both_modes([](const Tensor& t) { return round(t) * 1.0; }, x),
                         {0, 2, 2, -0.0, -2, -2, 0, 8388609}));
}

// A contracted multiply-add makes a difference of equal products non-zero, depending on what else
// the function returns.
TEST(Semantics, Sem31EqualProductsDifferByExactlyZero) {
  Tensor a = full({64, 53}, 1.1), b = full({64, 53}, 1.3);
  auto difference = [](const Tensor& x, const Tensor& y) {
    Tensor p = x * y;
    return x * y - p;
  };
  EXPECT_TRUE(equal(in_both_modes(difference, a, b), zeros({64, 53})));
  Tensor places = in_both_modes(
      [&](const Tensor& x, const Tensor& y) { return argmax(difference(x, y), 1); }, a, b);
  EXPECT_TRUE(equal(places, zeros({64}, kInt64)));
  same_as_eager([&] {
    return [&](int) {
      Tensor p = a * b;
      return std::vector<Tensor>{p, argmax(a * b - p, 1)};
    };
  });
}

// An approximation of erf with a wrong tail turns the sign of tiny results.
TEST(Semantics, Sem33GeluIsNeverPositiveLeftOfZero) {
  Tensor x = tensor({-5.5339069, -8, -20, 0, 20});
  Tensor y = in_both_modes([](const Tensor& t) { return gelu(t) * 1.0; }, x);
  EXPECT_TRUE(has_values(y, {-8.66541e-08, -5e-15, 0, 0, 20}, 1e-6));
  for (i64 i = 0; i < 3; ++i) EXPECT_LE(y[i].item<double>(), 0);
  // The vector loop's body and tail, and one element alone.
  Tensor many = x.narrow(0, 0, 1).expand({37}).contiguous();
  Tensor all = in_both_modes([](const Tensor& t) { return gelu(t); }, many);
  EXPECT_TRUE(same_bits(all, gelu(x.narrow(0, 0, 1)).expand({37})));
}

}  // namespace
}  // namespace ingot
