// What autograd promises besides values: which tensors have history, when it is kept, what a write
// in place does to it, and how long chains end.
#include <ingot/runtime/grad_mode.h>
#include <ingot/runtime/ops.h>

#include "support/tensor_checks.h"

namespace ingot {
namespace {

using namespace testing_support;

Tensor leaf(std::initializer_list<double> values) {
  return tensor(values, kDouble).requires_grad_();
}

bool mentions(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

TEST(Autograd, GradientsAccumulateUntilTheyAreDropped) {
  Tensor x = leaf({1, 2, 3});
  (x * x).sum().backward();
  EXPECT_TRUE(has_values(x.grad(), {2, 4, 6}));
  (x * 3).sum().backward();
  EXPECT_TRUE(has_values(x.grad(), {5, 7, 9}));
  x.mutable_grad() = Tensor();
  EXPECT_FALSE(x.grad().defined());
  (x * x * x).sum().backward();
  EXPECT_TRUE(has_values(x.grad(), {3, 12, 27}));
}

TEST(Autograd, WhoHasHistory) {
  Tensor x = leaf({1, 2}), plain = tensor({3, 4}, kDouble);
  EXPECT_TRUE(x.is_leaf());
  EXPECT_FALSE((plain * 2).requires_grad());
  EXPECT_TRUE((plain * x).requires_grad());
  EXPECT_FALSE((plain * x).is_leaf());
  EXPECT_FALSE((x > 1).requires_grad());
  EXPECT_FALSE(x.to(kInt64).requires_grad());
  EXPECT_FALSE(argmax(x).requires_grad());
  EXPECT_FALSE(x.detach().requires_grad());
  {
    NoGradGuard guard;
    EXPECT_FALSE((plain * x).requires_grad());
  }
  EXPECT_TRUE((plain * x).requires_grad());
  (x.detach() * x).sum().backward();
  EXPECT_TRUE(has_values(x.grad(), {1, 2}));
}

TEST(Autograd, IntegersCannotRequireGradients) {
  Tensor i = arange(3);
  EXPECT_TRUE(mentions(error_of([&] { i.requires_grad_(); }), "i64"));
  EXPECT_FALSE(i.requires_grad());
}

TEST(Autograd, ASecondBackwardNeedsRetainGraph) {
  Tensor x = leaf({1, 2});
  Tensor y = (x * x).sum();
  y.backward({}, true);
  y.backward();
  EXPECT_TRUE(has_values(x.grad(), {4, 8}));
  EXPECT_TRUE(mentions(error_of([&] { y.backward(); }), "retain_graph"));
  EXPECT_TRUE(has_values(x.grad(), {4, 8}));  // nothing half added
}

TEST(Autograd, BackwardStartsFromOneNumberOrAGivenGradient) {
  Tensor x = leaf({1, 2});
  Tensor y = x * x;
  EXPECT_FALSE(error_of([&] { y.backward(); }).empty());
  EXPECT_FALSE(error_of([&] { y.backward(ones({3}, kDouble)); }).empty());
  y.backward(tensor({10, 100}, kDouble));
  EXPECT_TRUE(has_values(x.grad(), {20, 400}));
  EXPECT_FALSE(error_of([] { tensor({1.0}).backward(); }).empty());  // no history at all
}

TEST(Autograd, AWriteToASavedValueIsAnErrorThatNamesTheOp) {
  Tensor x = leaf({1, 2}), w = leaf({3, 4});
  Tensor a = x * 1;
  Tensor y = (a * w).sum();  // keeps a for the gradient of w
  a.add_(1);
  const std::string error = error_of([&] { y.backward(); });
  EXPECT_TRUE(mentions(error, "mul")) << error;
  EXPECT_TRUE(mentions(error, "autograd_test.cpp")) << error;
  // What the gradient does not need may be written.
  Tensor b = x * 1;
  Tensor z = (b + w).sum();
  b.add_(1);
  z.backward();
  EXPECT_TRUE(has_values(w.grad(), {1, 1}));
}

TEST(Autograd, ALeafThatRequiresGradIsNotWrittenInPlace) {
  Tensor x = leaf({1, 2});
  EXPECT_FALSE(error_of([&] { x.add_(1); }).empty());
  EXPECT_FALSE(error_of([&] { x[0] = 5; }).empty());
  EXPECT_TRUE(has_values(x.detach(), {1, 2}));
  NoGradGuard guard;
  x.add_(1);
  EXPECT_TRUE(has_values(x.detach(), {2, 3}));
}

TEST(Autograd, AVersionCountsWritesThroughEveryView) {
  Tensor x = leaf({1, 2, 3, 4});
  Tensor base = (x * 1).reshape({2, 2});
  Tensor y = (base * base).sum();
  base[0][1] = 7;
  EXPECT_FALSE(error_of([&] { y.backward(); }).empty());
}

TEST(Autograd, OneTensorManyUses) {
  Tensor x = leaf({2});
  Tensor y = x;
  for (int i = 0; i < 10; ++i) y = y + y;  // 2^10 paths, 10 nodes
  y.sum().backward();
  EXPECT_TRUE(has_values(x.grad(), {1024}));
}

// Neither the walk nor the release of a long history recurses.
TEST(Autograd, AHundredThousandOpsInARow) {
  Tensor x = leaf({1, 2});
  {
    Tensor y = x;
    for (int i = 0; i < 100000; ++i) y = y + 1;
    y.sum().backward();
    EXPECT_TRUE(has_values(x.grad(), {1, 1}));
  }
  Tensor dropped = x;
  for (int i = 0; i < 100000; ++i) dropped = dropped * 1.0;
  dropped = Tensor();
  Tensor held = x;
  for (int i = 0; i < 100000; ++i) held = held * 1.0;
  held.sum().backward({}, true);
}

TEST(Autograd, ExtremesShareTheGradient) {
  Tensor x = leaf({3, 1, 3});
  amax(x).backward();
  EXPECT_TRUE(has_values(x.grad(), {0.5, 0, 0.5}));
  Tensor y = leaf({3, 1, 3});
  max(y, 0).values.backward();  // with an index: the first takes it
  EXPECT_TRUE(has_values(y.grad(), {1, 0, 0}));
}

TEST(Autograd, GradientsHaveTheDTypeOfTheirTensor) {
  Tensor x = tensor({1, 2}).requires_grad_();
  (x.to(kDouble) * 2).sum().backward();
  EXPECT_EQ(x.grad().dtype(), DType::f32);
  Tensor a = tensor({1, 2}).requires_grad_(), b = tensor({3, 4}, kDouble).requires_grad_();
  (a * b).sum().backward();
  EXPECT_EQ(a.grad().dtype(), DType::f32);
  EXPECT_EQ(b.grad().dtype(), DType::f64);
}

// The hook's tensor has another handle on its bytes: .grad is written in place, they must stay.
TEST(Autograd, AHooksResultIsNotTakenForTheGradientsOwnMemory) {
  Tensor x = leaf({1, 2}), kept = tensor({5, 5}, kDouble);
  for (int i = 0; i < 2; ++i) {
    Tensor y = x + 0.0;
    y.register_hook([&](const Tensor&) { return kept.detach(); });
    y.sum().backward();
  }
  EXPECT_TRUE(has_values(x.grad(), {10, 10}));
  EXPECT_TRUE(has_values(kept, {5, 5}));
}

TEST(Autograd, AHookMustKeepShapeAndDtype) {
  for (bool of_leaf : {true, false}) {
    Tensor x = leaf({1, 2});
    Tensor y = of_leaf ? x : x * 2;
    y.register_hook([](const Tensor&) { return ones({7}, kDouble); });
    std::string error = error_of([&] { (y * 3).sum().backward(); });
    EXPECT_TRUE(mentions(error, "a hook was given f64[2] and returned f64[7]; at autograd_test"))
        << error;
    EXPECT_FALSE(x.grad().defined());
    EXPECT_TRUE(mentions(error_of([&] { y.register_hook({}); }), "empty function"));
  }
}

// A result that cannot be differentiated says so, instead of passing for a constant.
TEST(Autograd, BackwardNamesTheOpWithoutAGradient) {
  Tensor x = tensor({1, 2, 3}, kDouble).requires_grad_();
  Tensor p = prod(x);
  const int line = __LINE__ - 1;
  const std::string error = error_of([&] { (p + x.sum()).backward(); });
  EXPECT_TRUE(p.requires_grad());
  EXPECT_TRUE(contains(error, "backward: prod has no gradient")) << error;
  EXPECT_TRUE(
      contains(error, "detach() its operands at autograd_test.cpp:" + std::to_string(line)));
  EXPECT_TRUE(error.ends_with("; at autograd_test.cpp:" + std::to_string(line + 2))) << error;
  // Where no gradient is wanted it is as before.
  x.mutable_grad() = Tensor();
  (prod(x.detach()) * x).sum().backward();
  EXPECT_TRUE(has_values(x.grad(), {6, 6, 6}));
  NoGradGuard no_grad;
  EXPECT_FALSE(prod(x).requires_grad());
}

}  // namespace
}  // namespace ingot
