// Autograd and optimisers inside a compiled function: whole training steps are one path, with
// eager's bits.
#include <ingot/compiler/compile.h>
#include <ingot/runtime/grad_mode.h>
#include <ingot/runtime/nn/nn.h>
#include <ingot/runtime/optim/optim.h>

#include "support/eager_and_compiled.h"

namespace ingot {
namespace {

using namespace testing_support;
using Tensors = std::vector<Tensor>;

struct Mlp : nn::Module {
  nn::Linear a{8, 16}, b{16, 4};
  INGOT_MODULE(Mlp, a, b)
  Tensor operator()(const Tensor& x) { return b(gelu(a(x))); }
};

template <class Make>
void expect_whole_step(Make make_optimizer, int calls = 7) {
  struct World {
    std::shared_ptr<Mlp> net = std::make_shared<Mlp>();
    std::shared_ptr<optim::Optimizer> optimizer;
    Tensors operator()(int call) {
      Tensor x = noise({6, 8}, static_cast<std::uint64_t>(call));
      Tensor target = arange(6) - (arange(6) / 4).to(kInt64) * 4;
      optimizer->zero_grad();
      Tensor loss = cross_entropy((*net)(x), target);
      loss.backward();
      optimizer->step();
      Tensors out{loss.detach()};
      for (const Tensor& p : net->parameters()) out.push_back(p);
      for (const Tensor& p : net->parameters()) out.push_back(p.grad());
      return out;
    }
  };
  auto make = [&] {
    World w;
    w.optimizer = make_optimizer(w.net->parameters());
    return w;
  };
  Ledger ledger = same_as_eager(make, calls);
  // An optimiser that makes its state in the first step has the second call record again.
  EXPECT_GE(ledger.hits, calls - 2) << ledger.table();
  EXPECT_LE(ledger.variants, 2);
}

TEST(Training, SgdStepIsOnePath) {
  expect_whole_step([](const Tensors& p) {
    return std::make_shared<optim::SGD>(
        p, optim::SGDOptions{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01});
  });
}

TEST(Training, AdamWStepIsOnePath) {
  expect_whole_step([](const Tensors& p) {
    return std::make_shared<optim::AdamW>(p, optim::AdamWOptions{.lr = 1e-2});
  });
}

TEST(Training, PlainSgdHitsFromTheSecondCall) {
  struct World {
    Tensor w = noise({3}, 1).requires_grad_();
    Tensors operator()(int) {
      w.mutable_grad() = Tensor();
      (w * w).sum().backward();
      NoGradGuard guard;
      w.sub_(w.grad() * 0.1);
      return {w, w.grad()};
    }
  };
  EXPECT_EQ(same_as_eager([] { return World(); }, 5).hits, 4);
}

// Only forward is compiled; backward runs outside, over the tape that the replay has built.
TEST(Training, BackwardOutsideOfTheCompiledCall) {
  Tensor w = noise({4, 4}, 2).requires_grad_(), x = noise({3, 4}, 3);
  auto forward = [&](const Tensor& t) { return (tanh(matmul(t, w)) * 2).sum(); };
  auto compiled = compile(forward, verified());
  forward(x).backward();
  Tensor expected = w.grad();
  for (int call = 0; call < 4; ++call) {
    w.mutable_grad() = Tensor();
    compiled(x).backward();
    EXPECT_TRUE(same_bits(expected, w.grad())) << call;
  }
  EXPECT_EQ(compiled.ledger().hits, 3);
}

// Only backward is compiled: the tape comes from outside.
TEST(Training, BackwardOfAnOutsideTape) {
  struct World {
    Tensor w = noise({5}, 4).requires_grad_();
    Tensors operator()(int) { return {w, w.grad()}; }
  };
  World eager, twin;
  auto compiled = compile([&](const Tensor& loss) { loss.backward(); }, verified());
  for (int call = 0; call < 4; ++call) {
    (exp(eager.w) * 2).sum().backward();
    compiled((exp(twin.w) * 2).sum());
    EXPECT_TRUE(same_bits(eager.w.grad(), twin.w.grad())) << call;
  }
}

TEST(Training, LossReadBetweenForwardAndBackwardIsACut) {
  struct World {
    Tensor w = noise({5}, 5).requires_grad_();
    std::vector<double> losses;
    Tensors operator()(int) {
      w.mutable_grad() = Tensor();
      Tensor loss = square(w - 1).sum();
      losses.push_back(loss.item<double>());
      loss.backward();
      NoGradGuard guard;
      w.sub_(w.grad() * 0.05);
      return {w, tensor({losses.back()}, kFloat64)};
    }
  };
  Ledger ledger = same_as_eager([] { return World(); }, 6);
  EXPECT_EQ(ledger.hits, 5);
  EXPECT_EQ(ledger.cuts.size(), 1u);
}

TEST(Training, GradientAccumulation) {
  struct World {
    Tensor w = noise({4}, 6).requires_grad_();
    Tensors operator()(int call) {
      if (call % 3 == 0) w.mutable_grad() = Tensor();
      (sigmoid(w) * w).sum().backward();
      return {w.grad()};
    }
  };
  EXPECT_GE(same_as_eager([] { return World(); }, 9).hits, 7);
}

TEST(Training, HooksAndRetainedGradients) {
  struct World {
    Tensor w = noise({4}, 7).requires_grad_();
    Tensors operator()(int) {
      w.mutable_grad() = Tensor();
      Tensor h = tanh(w), seen;
      h.retain_grad();
      h.register_hook([&seen](const Tensor& g) { return seen = g * 3; });
      (h * h).sum().backward();
      return {w.grad(), h.grad(), seen};
    }
  };
  same_as_eager([] { return World(); }, 4);
}

TEST(Training, NoGradAndDetachInside) {
  struct World {
    Tensor w = noise({4}, 8).requires_grad_();
    Tensors operator()(int call) {
      Tensor y = w * 2;
      if (call % 2 == 1) {
        NoGradGuard guard;
        y = w * 2;
      }
      EXPECT_EQ(y.requires_grad(), call % 2 == 0);
      Tensor z = (y + w.detach()).sum() + (w * 3).sum();
      w.mutable_grad() = Tensor();
      z.backward();
      return {z.detach(), w.grad()};
    }
  };
  same_as_eager([] { return World(); }, 6);
}

// A value saved for backward is overwritten: the error is eager's, in every call.
TEST(Training, VersionErrorIsEagers) {
  struct World {
    Tensor w = noise({4}, 9).requires_grad_();
    Tensors operator()(int) {
      Tensor y = exp(w);
      Tensor z = (y * y).sum();
      {
        NoGradGuard guard;
        y.add_(1);
      }
      z.backward();
      return {w.grad()};
    }
  };
  World probe;
  EXPECT_NE(error_of([&] { probe(0); }), "");
  same_as_eager([] { return World(); }, 4);
}

// gd-03: freezing and unfreezing captured parameters between calls.
TEST(Training, RequiresGradOfCapturesIsSeen) {
  Tensor w = ones({2}).requires_grad_(), b = zeros({2}).requires_grad_(), x = tensor({2, 3});
  auto f = compile([&](const Tensor& t) { return (t * w + b).sum(); }, verified());
  for (int round = 0; round < 3; ++round) {
    w.mutable_grad() = b.mutable_grad() = Tensor();
    w.requires_grad_(false), b.requires_grad_(true);
    f(x).backward();
    EXPECT_FALSE(w.grad().defined());
    EXPECT_TRUE(has_values(b.grad(), {1, 1}));
    w.mutable_grad() = b.mutable_grad() = Tensor();
    w.requires_grad_(true), b.requires_grad_(false);
    f(x).backward();
    EXPECT_TRUE(has_values(w.grad(), {2, 3}));
    EXPECT_FALSE(b.grad().defined());
  }
  EXPECT_LE(f.ledger().variants, 2);
}

// gd-14: a module's train flag is host state that steers which ops run.
TEST(Training, TrainFlagSelectsThePath) {
  nn::Dropout drop(1.0);
  nn::Linear lin(4, 2);
  auto f = compile([&](const Tensor& t) { return lin(drop(t)); }, verified());
  Tensor x = ones({3, 4}), full_linear = lin(x), bias = lin(zeros({3, 4}));
  for (int round = 0; round < 3; ++round) {
    drop->train();
    EXPECT_TRUE(same_bits(f(x), bias));
    drop->eval();
    EXPECT_TRUE(same_bits(f(x), full_linear));
  }
  EXPECT_EQ(f.ledger().variants, 2);
}

// gd-18: the short last batch of an epoch.
TEST(Training, ShortLastBatch) {
  struct World {
    std::shared_ptr<Mlp> net = std::make_shared<Mlp>();
    Tensors operator()(int call) {
      Tensor x = noise({call % 4 == 3 ? 3 : 6, 8}, static_cast<std::uint64_t>(call));
      for (Tensor& p : net->parameters()) p.mutable_grad() = Tensor();
      square((*net)(x)).mean().backward();
      Tensors out;
      for (const Tensor& p : net->parameters()) out.push_back(p.grad());
      return out;
    }
  };
  Ledger ledger = same_as_eager([] { return World(); }, 8);
  EXPECT_EQ(ledger.variants, 2);
  EXPECT_EQ(ledger.hits, 6);
}

}  // namespace
}  // namespace ingot
