// What autograd gets wrong elsewhere: unselected branches, versions, grad mode and random masks.
#include <stdexcept>

#include <ingot/runtime/autograd.h>
#include <ingot/runtime/grad_mode.h>

#include "cases/both_modes.h"

namespace ingot {
namespace {

using namespace testing_support;
using Tensors = std::vector<Tensor>;

// The gradient of sum(f(x)) at x.
template <class F>
Tensor gradient_in_both_modes(F f, const Tensor& at) {
  return in_both_modes(
      [f](const Tensor& values) {
        Tensor x = values.clone().requires_grad_();
        f(x).sum().backward();
        return x.grad();
      },
      at);
}

// 0 times an infinite derivative in the branch that where() did not take: NaN by the chain rule in
// the plain form, as in PyTorch; 0 where the operand is guarded too.
TEST(AutogradCases, Ag01TheUnselectedBranchOfWhere) {
  const Tensor x = tensor({0, kInf}), roots = tensor({4, 0});
  auto plain = [](const Tensor& t) { return where(t < 1, cos(t), 0.0); };
  auto guarded = [](const Tensor& t) { return where(t < 1, cos(where(t < 1, t, 0.0)), 0.0); };
  EXPECT_TRUE(has_values(gradient_in_both_modes(plain, x), {-0.0, kNaN}));
  EXPECT_TRUE(has_values(gradient_in_both_modes(guarded, x) + 0.0, {0, 0}));
  auto root = [](const Tensor& t) { return where(t > 0, sqrt(t), 0.0); };
  auto guarded_root = [](const Tensor& t) { return where(t > 0, sqrt(where(t > 0, t, 1.0)), 0.0); };
  EXPECT_TRUE(has_values(gradient_in_both_modes(root, roots), {0.25, kNaN}));
  EXPECT_TRUE(has_values(gradient_in_both_modes(guarded_root, roots), {0.25, 0}));
}

// std of equal values has no derivative: 0 by convention, as PyTorch has it, not 0 * inf. Its other
// values below are PyTorch 1.13's.
TEST(AutogradCases, TheGradientOfStdOfEqualValuesIsZero) {
  for (const DType t : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    for (const double value : {2.0, 0.1, -7.7, 0.0}) {
      for (const Dims& axes : {Dims{}, Dims{0}, Dims{1}, Dims{0, 2}, Dims{-1}}) {
        for (const int correction : {0, 1}) {
          for (const bool keep : {true, false}) {
            auto f = [&](const Tensor& x) { return x.std(axes, correction, keep) * 3; };
            const Tensor x = full({2, 3, 5}, value, t);
            const Tensor g = gradient_in_both_modes(f, x);
            EXPECT_TRUE(equal(g, zeros({2, 3, 5}, t))) << describe(g.meta()) << to_string(g);
          }
        }
      }
    }
  }
  auto gradient = [](std::initializer_list<double> values, int correction) {
    auto f = [=](const Tensor& x) { return x.std(0, correction); };
    return gradient_in_both_modes(f, tensor(values, kDouble));
  };
  EXPECT_TRUE(has_values(gradient({2}, 0), {0}));
  EXPECT_TRUE(has_values(gradient({2}, 1), {kNaN}));
  EXPECT_TRUE(has_values(gradient({2, 2, 2}, 3), {kNaN, kNaN, kNaN}));
  EXPECT_TRUE(has_values(gradient({1, 2}, 0), {-0.5, 0.5}));
  EXPECT_TRUE(has_values(gradient({1, 2}, 2), {kNaN, kNaN}));
  EXPECT_TRUE(has_values(gradient({1, 2, 4}, 1),
                         {-0.43643578047198484, -0.10910894511799625, 0.5455447255899809}, 1e-15));
  EXPECT_TRUE(has_values(gradient({1, 2, 4}, 2),
                         {-0.6172133998483678, -0.154303349962092, 0.7715167498104596}, 1e-15));
  // One row of several: the others keep their gradients. What is not std keeps sqrt's own.
  Tensor rows = in_both_modes(
      [](const Tensor& values) {
        Tensor x = values.clone().requires_grad_();
        x.std(1, 0).sum().backward();
        return x.grad();
      },
      tensor({1, 1, 1, 2}, kDouble).reshape({2, 2}));
  EXPECT_TRUE(has_values(rows, {0, 0, -0.5, 0.5}));
  auto root_of_var = [](const Tensor& x) { return sqrt(x.var()); };
  EXPECT_TRUE(has_values(gradient_in_both_modes(root_of_var, tensor({2, 2})), {kNaN, kNaN}));
}

// A write to a saved operand that needs no gradient itself.
TEST(AutogradCases, Ag07AWriteToASavedOperandWithoutGradIsSeen) {
  struct World {
    Tensor s = full({}, 5.0);
    Tensors operator()(int) {
      Tensor u = ones({2}).requires_grad_(), v = ones({2}).requires_grad_();
      NoGradGuard no_grad;
      s.fill_(5);
      Tensor y, z;
      {
        const EnableGradGuard grad;
        y = u * s;
        z = v * s;
      }
      y.backward(ones({2}));
      s.add_(5);
      const std::string error = error_of([&] { z.backward(ones({2})); });
      EXPECT_TRUE(contains(error, "overwritten in place"));
      EXPECT_FALSE(v.grad().defined());
      EXPECT_TRUE(has_values(u.grad(), {5, 5}));
      return {u.grad(), s.clone()};
    }
  };
  same_as_eager([] { return World(); });
}

// Guards inside of the function hold for its ops, and the caller's mode is as before, also when the
// function throws.
TEST(AutogradCases, Ag12GradModeSwitchedInsideTheFunction) {
  for (const bool compiled : {false, true}) {
    SCOPED_TRACE(compiled ? "compiled" : "eager");
    bool fail = false;
    auto enabling = [&](const Tensor& x) {
      const EnableGradGuard on;
      Tensor y = x + 1;
      if (fail) throw std::runtime_error("no");
      return y;
    };
    auto partly = [](const Tensor& x) {
      Tensor y;
      {
        const NoGradGuard off;
        y = x * 2;
      }
      return y + x;
    };
    auto f = compile(enabling, verified());
    auto g = compile(partly, verified());
    for (int call = 0; call < 4; ++call) {
      Tensor x = tensor({1, 2}).requires_grad_();
      for (const bool mode : {false, true}) {
        set_grad_enabled(mode);
        Tensor y = compiled ? f(x) : enabling(x);
        EXPECT_TRUE(y.requires_grad());
        EXPECT_EQ(grad_enabled(), mode);
        fail = true;
        EXPECT_EQ(error_of([&] { (void)(compiled ? f(x) : enabling(x)); }), "no");
        EXPECT_EQ(grad_enabled(), mode);
        fail = false;
        y.backward(ones({2}));
      }
      EXPECT_TRUE(has_values(x.grad(), {2, 2}));
      x.mutable_grad() = Tensor();
      Tensor z = compiled ? g(x) : partly(x);
      EXPECT_TRUE(has_values(z.detach(), {3, 6}));
      z.backward(ones({2}));
      EXPECT_TRUE(has_values(x.grad(), {1, 1}));
      const NoGradGuard off;
      EXPECT_FALSE((compiled ? g(x) : partly(x)).requires_grad());
    }
    EXPECT_LE(g.ledger().variants, 2);
  }
}

// The mask of dropout's gradient is that of its forward pass: with x = 1 they are the same numbers.
TEST(AutogradCases, Rn02TheGradientOfDropoutUsesTheForwardMask) {
  struct World {
    Tensor x = ones({4096}).requires_grad_();
    Tensors operator()(int) {
      x.mutable_grad() = Tensor();
      Tensor y = dropout(x, 0.5);
      Tensor other = dropout(x.detach(), 0.5);  // a draw between forward and backward
      y.sum().backward();
      return {y.detach(), x.grad(), other};
    }
  };
  const Ledger ledger = same_as_eager([] { return World(); }, 5);
  EXPECT_GE(ledger.hits, 4) << ledger.table();
  for (const CompileOptions& options : {verified(), interpreted(), CompileOptions{}}) {
    World world;
    auto compiled = compile([&](int call) { return world(call); }, options);
    Tensor last;
    for (int call = 0; call < 5; ++call) {
      const Tensors out = call == 0 ? world(call) : compiled(call);
      EXPECT_TRUE(same_bits(out[0], out[1]));
      const double kept = out[0].sum().item<double>() / 2;
      EXPECT_GT(kept, 1800);
      EXPECT_LT(kept, 2300);
      EXPECT_TRUE(equal(out[0] * (out[0] - 2), zeros({4096})));
      EXPECT_FALSE(last.defined() && equal(last, out[0])) << "the same mask again";
      last = out[0];
    }
    // forward compiled, backward outside of it
    auto forward = compile([](const Tensor& x) { return dropout(x * 1.0, 0.5); }, options);
    for (int call = 0; call < 3; ++call) {
      Tensor x = ones({4096}).requires_grad_();
      Tensor y = forward(x);
      y.sum().backward();
      EXPECT_TRUE(same_bits(y.detach(), x.grad()));
    }
  }
}

}  // namespace
}  // namespace ingot
