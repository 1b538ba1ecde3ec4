// What is derived from a row's formulas: cost, the operands that a gradient reads, gradient rows
// and their own gradients.

#include <cstring>
#include <string_view>

#include <gtest/gtest.h>

#include "kernels/row_checks.h"

namespace ingot {
namespace {

using namespace row_checks;
using D = Num<double>;

// Bits from the lowest: inputs, then y, then dy.
static_assert(GradRow<rows::Exp, 0>::uses == 0b110);
static_assert(GradRow<rows::Tanh, 0>::uses == 0b110);
static_assert(GradRow<rows::Sigmoid, 0>::uses == 0b110);
static_assert(GradRow<rows::Sqrt, 0>::uses == 0b110);
static_assert(GradRow<rows::Relu, 0>::uses == 0b110);
static_assert(GradRow<rows::Log, 0>::uses == 0b101);
static_assert(GradRow<rows::Gelu, 0>::uses == 0b101);
static_assert(GradRow<rows::Neg, 0>::uses == 0b100);
static_assert(GradRow<rows::Floor, 0>::uses == 0b100);
static_assert(GradRow<rows::Add, 0>::uses == 0b1000);
static_assert(GradRow<rows::Mul, 0>::uses == 0b1010);
static_assert(GradRow<rows::Mul, 1>::uses == 0b1001);
static_assert(GradRow<rows::Div, 0>::uses == 0b1010);
static_assert(GradRow<rows::Div, 1>::uses == 0b1011);
static_assert(GradRow<rows::Pow, 0>::uses == 0b1011);
static_assert(GradRow<rows::Pow, 1>::uses == 0b1111);
static_assert(GradRow<rows::Where, 1>::uses == 0b10001);
static_assert(GradRow<rows::Addcmul, 2>::uses == 0b101010);

static_assert(GradRow<rows::Mul, 0>::arity == 2 && arity_of<GradRow<rows::Mul, 0>> == 2);
static_assert(GradRow<rows::Pow, 1>::arity == 4 && arity_of<GradRow<rows::Pow, 1>> == 4);
static_assert(has_condition<GradRow<rows::Where, 1>>);
static_assert(!is_differentiable_in<GradRow<rows::Where, 1>, 0>);  // the condition
static_assert(is_differentiable_in<GradRow<rows::Where, 1>, 1>);

static_assert(arity_of<rows::Exp> == 1 && arity_of<rows::Add> == 2 && arity_of<rows::Where> == 3 &&
              arity_of<rows::Addcdiv> == 4);
static_assert(is_differentiable<rows::Where> && !is_differentiable_in<rows::Where, 0>);
static_assert(!is_differentiable<rows::Eq> && !is_differentiable<rows::FloorDivide>);
static_assert(!is_differentiable_in<rows::Addcmul, 3>);

static_assert(flops<rows::Softplus>().flops == 4 && flops<rows::Softplus>().transcendentals == 2);
static_assert(flops<rows::Add>().flops == 1 && flops<rows::Add>().transcendentals == 0);
static_assert(flops<rows::Addcmul>().flops == 3);
static_assert(flops<GradRow<rows::Tanh, 0>>().flops == 3);

static_assert(contains(dtypes_of<rows::Add>, DTypeSet::boolean));
static_assert(!contains(dtypes_of<rows::Sub>, DTypeSet::boolean));
static_assert(!contains(dtypes_of<rows::Exp>, DTypeSet::ints));
static_assert(contains(dtypes_of<rows::Relu>, kind_of<unsigned char>));

TEST(GradRow, IsNamedAfterItsRow) {
  EXPECT_EQ(std::string_view(GradRow<rows::Mul, 1>::name), "mul_backward_1");
  EXPECT_EQ(std::string_view(GradRow<GradRow<rows::Tanh, 0>, 1>::name),
            "tanh_backward_0_backward_1");
}

TEST(GradRow, TakesTheOperandsThatItReads) {
  EXPECT_EQ((GradRow<rows::Exp, 0>::value(D(3), D(0.5)).v), 1.5);       // y, dy
  EXPECT_EQ((GradRow<rows::Mul, 0>::value(D(3), D(0.5)).v), 1.5);       // b, dy
  EXPECT_EQ((GradRow<rows::Div, 1>::value(D(6), D(2), D(1)).v), -1.5);  // a, b, dy
  EXPECT_EQ((GradRow<rows::Where, 2>::value(Num<bool>(false), D(7)).v), 7.0);
}

// A user's row without constexpr formulas: every operand is taken as read.
struct Cubed {
  static constexpr const char* name = "cubed";
  template <class S>
  static S value(S x) {
    return x * x * x;
  }
  template <class S>
  static S grad(S x, S, S dy) {
    return dy * (S(3) * x * x);
  }
};
static_assert(GradRow<Cubed, 0>::uses == 0b111);
static_assert(rule_of<Cubed> == DTypeRule::floating && dtypes_of<Cubed> == DTypeSet::floats);

TEST(GradRow, AcceptsRowsThatAreNotConstexpr) {
  EXPECT_EQ((GradRow<Cubed, 0>::value(D(2), D(8), D(1)).v), 12.0);
  EXPECT_EQ(std::string_view(GradRow<Cubed, 0>::name), "cubed_backward_0");
  EXPECT_EQ(flops<Cubed>().flops, 2);
}

TEST(GradRow, HasExactGradientsOfItsOwn) {
  // d/dy and d/d(dy) of dy (1 - y^2); operands (y, dy), then the row's result, then the seed.
  using Backward = GradRow<rows::Tanh, 0>;
  EXPECT_EQ((Backward::grad_a(D(0.5), D(3), D(0), D(2)).v), -6.0);
  EXPECT_EQ((Backward::grad_b(D(0.5), D(3), D(0), D(2)).v), 1.5);
  static_assert(GradRow<Backward, 0>::uses == 0b1011);
  static_assert(GradRow<Backward, 1>::uses == 0b1001);
  EXPECT_EQ((GradRow<Backward, 1>::value(D(0.5), D(2)).v), 1.5);
}

TEST(GradRow, SecondGradientsAgreeWithDifferences) {
  int count = 0;
  each_row([&]<class R>() {
    each_gradient<R>([&]<class Row, int K>() {
      using G = GradRow<Row, K>;
      each_gradient<G>([&]<class Grad, int J>() {
        double x[kMaxRowInputs] = {0.7, 0.6, 0.45, 0.3, 0.8};
        const double h = 1e-5, exact = call_gradient<Grad, J, D>(x, 1.0);
        double high[kMaxRowInputs], low[kMaxRowInputs];
        std::memcpy(high, x, sizeof(x));
        std::memcpy(low, x, sizeof(x));
        high[J] += h;
        low[J] -= h;
        const double slope = (call<Grad, D>(high) - call<Grad, D>(low)) / (2 * h);
        EXPECT_NEAR(exact, slope, 1e-6 * std::max(1.0, std::fabs(slope)))
            << Grad::name << " operand " << J;
        ++count;
      });
    });
  });
  EXPECT_GE(count, 100);
}

TEST(Dual, DropsDerivativesOfConstants) {
  using S = Dual<D>;
  const S x = S::variable(D(2)), c = S(std::numeric_limits<double>::infinity());
  EXPECT_EQ((x + c).d.v, 1.0);
  EXPECT_FALSE((c * c).active);
  EXPECT_EQ((S(0) * x).d.v, 0.0);
}

}  // namespace
}  // namespace ingot
