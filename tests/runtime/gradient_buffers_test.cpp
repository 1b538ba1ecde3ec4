// Who may write a gradient's bytes: what a hook is given, a leaf's .grad and a retained gradient
// are their own, and so is the caller's seed; where one owner is left, nothing is copied.
#include <map>

#include <ingot/runtime/grad_mode.h>
#include <ingot/runtime/nn/nn.h>
#include <ingot/runtime/observer.h>
#include <ingot/runtime/ops.h>

#include "support/tensor_checks.h"

namespace ingot {
namespace {

using namespace testing_support;
using Op = std::function<Tensor(const Tensor&, const Tensor&)>;

Tensor leaf(std::initializer_list<double> values) {
  return tensor(values, kDouble).requires_grad_();
}

// Ops of two operands whose rules hand on the gradient that they got, or parts of it.
const std::map<std::string, Op>& passing_ops() {
  static const Tensor yes = tensor({1, 1, 1}).to(kBool);
  static const std::map<std::string, Op> ops = {
      {"add", [](const Tensor& a, const Tensor& b) { return a + b; }},
      {"the same twice", [](const Tensor& a, const Tensor& b) { return a + a + b; }},
      {"sub", [](const Tensor& a, const Tensor& b) { return b - (-a); }},
      {"where", [](const Tensor& a, const Tensor& b) { return where(yes, a, 0.0) + b; }},
      {"cat",
       [](const Tensor& a, const Tensor& b) {
         return cat({a, b}).narrow(0, 0, 3) + b;
       }},
      {"views",
       [](const Tensor& a, const Tensor& b) {
         return (a.view({3, 1}).t() + b.unsqueeze(0)).squeeze(0);
       }},
      {"clones", [](const Tensor& a, const Tensor& b) { return a.clone() + b.contiguous(); }},
      {"results", [](const Tensor& a, const Tensor& b) { return (a + 0.0) + (b - 0.0); }},
      {"lerp", [](const Tensor& a, const Tensor& b) { return lerp(a, b, 0.5) * 1.0; }},
      {"matmul", [](const Tensor& a, const Tensor& b) { return matmul(eye(3, kDouble), a) + b; }},
      {"copy_",
       [](const Tensor& a, const Tensor& b) {
         Tensor y = zeros({3}, kDouble);
         y.copy_(a);
         y[0] = b[0];
         return y + b;
       }},
  };
  return ops;
}

struct Gradients {
  Tensor a, b, seed;
};
Gradients gradients(const Op& op, const std::function<Tensor(const Tensor&)>& hook_of_a = {}) {
  Tensor a = leaf({1, 2, 3}), b = leaf({4, 5, 6}), seed = tensor({1, 1, 1}, kDouble);
  if (hook_of_a) a.register_hook(hook_of_a);
  op(a, b).backward(seed);
  return {a.grad(), b.grad(), seed};
}

TEST(GradientBuffers, WhatAHookWritesNobodyElseSees) {
  for (const auto& [name, op] : passing_ops()) {
    SCOPED_TRACE(name);
    const Gradients right = gradients(op);
    for (const bool returns : {true, false}) {
      const Gradients now = gradients(op, [&](const Tensor& g) {
        Tensor handle = g;
        handle.mul_(7);
        return returns ? handle : Tensor();
      });
      EXPECT_TRUE(same_bits(now.a, right.a * 7));
      EXPECT_TRUE(same_bits(now.b, right.b));
      EXPECT_TRUE(has_values(now.seed, {1, 1, 1}));
    }
  }
}

TEST(GradientBuffers, AGradientOfALeafIsItsOwn) {
  for (const auto& [name, op] : passing_ops()) {
    SCOPED_TRACE(name);
    const Gradients right = gradients(op);
    Gradients now = gradients(op);
    now.a.fill_(-1);
    EXPECT_TRUE(same_bits(now.b, right.b));
    EXPECT_TRUE(has_values(now.seed, {1, 1, 1}));
    now.b.fill_(-2);
    EXPECT_TRUE(has_values(now.a, {-1, -1, -1}));
    EXPECT_TRUE(has_values(now.seed, {1, 1, 1}));
    EXPECT_TRUE(now.a.is_contiguous() && now.b.is_contiguous());
  }
}

TEST(GradientBuffers, ARetainedGradientIsItsOwn) {
  Tensor x = leaf({1, 2, 3}), seed = ones({3}, kDouble);
  Tensor y = x + 0.0, z = y + 0.0;
  y.retain_grad();
  z.retain_grad();
  z.backward(seed);
  Tensor* const all[] = {&y.mutable_grad(), &z.mutable_grad(), &x.mutable_grad(), &seed};
  for (int i = 0; i < 4; ++i) all[i]->fill_(i);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(same_bits(*all[i], full({3}, i, kDouble))) << i;
  // Also while the run goes on: a is written by the hook of b, through the retained gradient of
  // both.
  Tensor a = leaf({1, 2, 3}), b = leaf({1, 2, 3});
  Tensor both = a + b;
  both.retain_grad();
  b.register_hook([&](const Tensor&) { return both.mutable_grad().fill_(9); });
  a.register_hook([&](const Tensor&) { return both.mutable_grad().fill_(9) * 0 + 5; });
  both.backward(ones({3}, kDouble));
  EXPECT_TRUE(has_values(a.grad(), {5, 5, 5}));
  EXPECT_TRUE(has_values(b.grad(), {9, 9, 9}));
}

TEST(GradientBuffers, MutableGradIsGrad) {
  Tensor x = leaf({1, 2});
  Tensor y = x * 2;
  y.retain_grad();
  EXPECT_FALSE(y.mutable_grad().defined());
  y.backward(ones({2}, kDouble), true);
  EXPECT_EQ(y.mutable_grad().impl(), y.grad().impl());
  EXPECT_EQ(x.mutable_grad().impl(), x.grad().impl());
  y.backward(ones({2}, kDouble), true);
  EXPECT_TRUE(has_values(y.grad(), {2, 2}));
  y.mutable_grad() = Tensor();
  EXPECT_FALSE(y.grad().defined());
  y.backward(ones({2}, kDouble));
  EXPECT_TRUE(has_values(y.grad(), {1, 1}));
}

TEST(GradientBuffers, ASeedOfALeafIsCopied) {
  Tensor x = leaf({1, 2}), seed = tensor({3, 4}, kDouble);
  x.backward(seed);
  seed.fill_(0);
  EXPECT_TRUE(has_values(x.grad(), {3, 4}));
  x.mutable_grad().fill_(8);
  EXPECT_TRUE(has_values(seed, {0, 0}));
}

// A handle that the user took sees what later calls add; memory that the user chose is filled.
TEST(GradientBuffers, GradAccumulatesInPlace) {
  Tensor x = leaf({1, 2});
  (x * 3).sum().backward();
  const Tensor held = x.grad();
  (x * 4).sum().backward();
  EXPECT_EQ(held.impl(), x.grad().impl());
  EXPECT_TRUE(has_values(held, {7, 7}));
  Tensor flat = zeros({4}, kDouble), a = leaf({1, 2}), b = leaf({3, 4});
  a.mutable_grad() = flat.narrow(0, 0, 2);
  b.mutable_grad() = flat.narrow(0, 2, 2);
  (a * b).sum().backward();
  EXPECT_TRUE(has_values(flat, {3, 4, 1, 2}));
}

// Expanded, transposed and broadcast gradients end as memory of their own, row-major.
TEST(GradientBuffers, GradIsWritableWhateverFlowedIn) {
  Tensor x = zeros({2, 3}, kDouble).requires_grad_(), one = leaf({0});
  Tensor expanded = ones({1, 1}, kDouble).expand({2, 3});
  x.backward(expanded);
  (x.t().sum() + (x + one).sum()).backward();
  EXPECT_TRUE(has_values(x.grad(), {3, 3, 3, 3, 3, 3}));
  x.mutable_grad()[0][1] = 0;
  EXPECT_TRUE(has_values(x.grad(), {3, 0, 3, 3, 3, 3}));
  EXPECT_TRUE(has_values(expanded, {1, 1, 1, 1, 1, 1}));
  x.mutable_grad() = Tensor();
  x.t().backward(arange(6, kDouble).reshape({3, 2}));
  EXPECT_TRUE(x.grad().is_contiguous());
  EXPECT_TRUE(has_values(x.grad(), {0, 2, 4, 1, 3, 5}));
}

// What a hook returns may be the user's memory, or have a history: neither becomes .grad itself.
TEST(GradientBuffers, WhatAHookReturnsStaysTheUsers) {
  double memory[] = {5, 6};
  for (const bool of_leaf : {true, false}) {
    Tensor x = leaf({1, 2}), w = leaf({3, 4});
    Tensor y = of_leaf ? x : x + 0.0;
    y.register_hook([&](const Tensor&) { return from_blob(memory, {2}, kDouble); });
    (y * 1.0).sum().backward();
    x.mutable_grad().fill_(0);
    EXPECT_EQ(memory[0], 5);
    Tensor v = leaf({1, 2});
    v.register_hook([&](const Tensor& g) {
      const EnableGradGuard on;
      return g * w;
    });
    v.sum().backward();
    EXPECT_FALSE(v.grad().requires_grad());
    EXPECT_TRUE(has_values(v.grad(), {3, 4}));
    Tensor kept = tensor({7, 7}, kDouble), u = leaf({1, 2});
    u.register_hook([&](const Tensor&) { return kept; });
    u.register_hook([](const Tensor& g) {
      Tensor handle = g;
      return handle.add_(1);
    });
    u.sum().backward();
    EXPECT_TRUE(has_values(u.grad(), {8, 8}));
    EXPECT_TRUE(has_values(kept, {7, 7}));
  }
}

// Ops by name while f runs.
std::map<std::string, int> ops_of(const std::function<void()>& f) {
  struct Counter final : Observer {
    std::map<std::string, int> ops;
    void begin(const Event& e) override {
      if (e.kind == EventKind::op) ++ops[e.name];
    }
    void end() override {}
    void memory(const MemoryEvent&) override {}
  } counter;
  g_observer = &counter;
  f();
  g_observer = nullptr;
  return counter.ops;
}

TEST(GradientBuffers, ABufferWithOneOwnerIsNotCopied) {
  struct Net : nn::Module {
    nn::Linear a{4, 8}, b{8, 2};
    nn::LayerNorm norm{Dims{8}};
    INGOT_MODULE(Net, a, b, norm)
  } net;
  const Tensor x = noise({3, 4});
  auto step = [&] { net.b(gelu(net.norm(net.a(x)))).square().mean().backward(); };
  auto ops = ops_of(step);
  EXPECT_EQ(ops["clone"] + ops["add"] + ops["add_"], 0);
  ops = ops_of(step);  // into .grad, which is there
  EXPECT_EQ(ops["clone"], 0);
  EXPECT_EQ(ops["add"], 6);
  // Of two leaves that get one buffer, one copies; a leaf used k times adds k - 1 times.
  Tensor a = leaf({1, 2}), b = leaf({3, 4});
  ops = ops_of([&] { (a + b).backward(ones({2}, kDouble)); });
  EXPECT_EQ(ops["clone"], 2);  // the seed is the caller's
  ops = ops_of([&] { (exp(a) + exp(b)).sum().backward(); });
  EXPECT_EQ(ops["clone"], 0);
  Tensor c = leaf({1, 2});
  ops = ops_of([&] { stack({exp(c), exp(c), exp(c), exp(c)}).sum().backward(); });
  EXPECT_EQ(ops["add"], 3);
  EXPECT_EQ(ops["clone"], 0);
}

}  // namespace
}  // namespace ingot
