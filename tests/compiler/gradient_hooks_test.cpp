// Hooks, retained gradients and shared buffers inside compiled functions: called once in every
// call, with eager's bits, and no path more than without them.
#include <stdexcept>

#include <ingot/compiler/compile.h>
#include <ingot/runtime/nn/nn.h>
#include <ingot/runtime/optim/optim.h>

#include "support/eager_and_compiled.h"

namespace ingot {
namespace {

using namespace testing_support;
using Tensors = std::vector<Tensor>;

Tensor leaf(std::uint64_t seed) { return noise({2, 3}, seed).requires_grad_(); }

// Every consumer of one buffer writes what it got.
TEST(CompiledHooks, WhatOneWritesNobodyElseSees) {
  struct World {
    Tensor a = leaf(1), b = leaf(2), seed = noise({2, 3}, 3), kept = noise({2, 3}, 4);
    Tensors operator()(int call) {
      Tensor y = a + b, z = y.view({3, 2}) + 0.0;
      y.retain_grad();
      z.retain_grad();
      y.register_hook([](const Tensor& g) {
        Tensor handle = g;
        return handle.mul_(3);
      });
      z.register_hook([&](const Tensor&) { return kept.view({3, 2}); });
      if (call == 0) {
        a.register_hook([](const Tensor& g) {
          Tensor handle = g;
          handle.add_(1);
          return Tensor();
        });
      }
      z.backward(seed.view({3, 2}));
      b.mutable_grad().mul_(0.5);
      y.mutable_grad().add_(5);
      return {a.grad(), b.grad(), y.grad(), z.grad(), seed, kept};
    }
  };
  const Ledger ledger = same_as_eager([] { return World(); }, 6);
  EXPECT_GE(ledger.hits, 3) << ledger.table();
}

// Registered outside or inside; on leaves and results that are used several times.
TEST(CompiledHooks, TheyRunOnceOnTheWholeGradient) {
  struct World {
    Tensor x = leaf(1), w = leaf(2);
    std::shared_ptr<int> calls = std::make_shared<int>();
    World() {
      x.register_hook([calls = calls](const Tensor& g) {
        ++*calls;
        return clamp(g, std::nullopt, 2);
      });
    }
    Tensors operator()(int call) {
      w.mutable_grad() = Tensor();
      Tensor y = x * w;
      y.register_hook([calls = calls](const Tensor& g) {
        *calls += 100;
        return g * 2;
      });
      (sum(x) + 3 * sum(x) + y.sum() + (y * y).sum() + x[0].sum() + x.t()[1].sum()).backward();
      EXPECT_EQ(*calls, 101 * (call + 1));
      return {x.grad().clone(), w.grad()};
    }
  };
  const Ledger ledger = same_as_eager([] { return World(); }, 6);
  EXPECT_GE(ledger.hits, 4) << ledger.table();
  EXPECT_LE(ledger.variants, 2);
}

TEST(CompiledHooks, OneThatThrowsLeavesGradAsItWas) {
  struct World {
    Tensor x = leaf(1);
    std::shared_ptr<bool> fails = std::make_shared<bool>();
    World() {
      x.register_hook([fails = fails](const Tensor& g) -> Tensor {
        Tensor handle = g;
        handle.mul_(2);
        if (*fails) throw std::runtime_error("no");
        return handle;
      });
    }
    Tensors operator()(int call) {
      *fails = call % 2 == 1;
      const Tensor before = x.grad().defined() ? x.grad().clone() : zeros({2, 3});
      const std::string error = error_of([&] { ((x * 2).sum() + exp(x).sum()).backward(); });
      EXPECT_EQ(error, *fails ? "no" : "");
      if (*fails) return {before, x.grad(), before - x.grad()};
      return {x.grad().clone()};
    }
  };
  same_as_eager([] { return World(); }, 8);
}

// A whole step with clipping hooks, retained activations and tied weights is one path.
// What a hook reads is a break; behind it the gradient is still its only owner's.
TEST(CompiledHooks, ThatReadAndThenWriteStayOnOnePath) {
  std::vector<Tensor> weights;
  for (int i = 0; i < 5; ++i) {
    weights.push_back(noise({4}, static_cast<std::uint64_t>(i)).requires_grad_());
    weights.back().register_hook([](const Tensor& g) {
      Tensor h = g;
      const float norm = (h * h).sum().item<float>();
      if (norm > 0) h.mul_(1 / norm);
      return Tensor();
    });
  }
  const auto step = compile(
      [&](const Tensor& x) {
        Tensor y = x;
        for (const Tensor& w : weights) y = tanh(y * w);
        y.sum().backward();
        std::vector<Tensor> grads;
        for (Tensor& w : weights) {
          grads.push_back(w.grad());
          w.mutable_grad() = Tensor();
        }
        return grads;
      },
      verified());
  const Tensor x = noise({4}, 77);
  const std::vector<Tensor> first = step(x);
  for (int call = 0; call < 6; ++call) {
    const std::vector<Tensor> grads = step(x);
    for (std::size_t i = 0; i < grads.size(); ++i) EXPECT_TRUE(same_bits(grads[i], first[i]));
  }
  EXPECT_EQ(step.ledger().hits, 6);
  EXPECT_EQ(step.ledger().variants, 1);
}

TEST(CompiledHooks, ATrainingStepStaysOnePath) {
  struct Net : nn::Module {
    nn::Linear first{4, 4}, last{4, 4};
    INGOT_MODULE(Net, first, last)
  };
  struct World {
    std::shared_ptr<Net> net = std::make_shared<Net>();
    std::shared_ptr<optim::SGD> sgd;
    World() {
      net->last->weight = net->first->weight;
      for (Tensor& p : parameters())
        p.register_hook([](const Tensor& g) { return clamp(g, -1, 1); });
      sgd = std::make_shared<optim::SGD>(net->parameters(), optim::SGDOptions{.lr = 0.1});
    }
    Tensors parameters() const { return net->parameters(); }
    Tensors operator()(int call) {
      sgd->zero_grad();
      Tensor hidden = relu(net->first(noise({5, 4}, static_cast<std::uint64_t>(call))));
      hidden.retain_grad();
      Tensor loss = net->last(hidden).square().sum();
      loss.backward();
      sgd->step();
      Tensors out{loss.detach(), hidden.grad()};
      for (const Tensor& p : parameters()) out.insert(out.end(), {p, p.grad()});
      return out;
    }
  };
  const Ledger ledger = same_as_eager([] { return World(); }, 6);
  EXPECT_GE(ledger.hits, 5) << ledger.table();
  EXPECT_EQ(ledger.variants, 1);
}

// A gradient that is stolen by .grad in eager is .grad's own in a replay too.
TEST(CompiledHooks, GradAccumulatesIntoTheHandleThatTheCallerHolds) {
  struct World {
    Tensor x = leaf(1), w = leaf(2), held;
    Tensors operator()(int) {
      Tensor y = x * w + x;
      (y.sum() + (x * x).sum()).backward();
      if (!held.defined()) held = x.grad();
      EXPECT_EQ(held.impl(), x.grad().impl());
      w.mutable_grad().fill_(1);
      return {held.clone(), w.grad().clone()};
    }
  };
  same_as_eager([] { return World(); }, 6);
}

}  // namespace
}  // namespace ingot
