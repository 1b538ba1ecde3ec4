// What a compiled function must notice between calls, and what must not cost a compilation.
#include <algorithm>
#include <chrono>
#include <functional>

#include <ingot/runtime/nn/nn.h>
#include <ingot/runtime/optim/optim.h>

#include "cases/both_modes.h"

namespace ingot {
namespace {

using namespace testing_support;
using Tensors = std::vector<Tensor>;

// A kernel's key that leaves out which operand each op reads.
TEST(Guards, Gd01TheWiringIsPartOfAKernelsIdentity) {
  Tensor p = full({3, 3}, 2.0), q = full({3, 3}, 7.0), r = full({3, 3}, 1.0);
  const std::vector<std::pair<std::function<Tensor(const Tensor&, const Tensor&)>, double>> cases =
      {{[](const Tensor& s, const Tensor& t) { return s * t - t; }, 24},
       {[](const Tensor& s, const Tensor& t) { return s * t - s; }, 18},
       {[](const Tensor& s, const Tensor& t) { return t * s - s; }, 18},
       {[](const Tensor& s, const Tensor& t) { return s * s - t; }, 78}};
  for (const bool codegen : {false, true}) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      SCOPED_TRACE(i);
      auto f = compile([&](const Tensor& a, const Tensor& b,
                           const Tensor& c) { return cases[i].first(a + b, a + c); },
                       codegen ? CompileOptions{} : interpreted());
      for (int call = 0; call < 3; ++call) {
        EXPECT_TRUE(equal(f(p, q, r), full({3, 3}, cases[i].second)));
      }
    }
  }
}

// A capture that starts or stops needing a gradient.
TEST(Guards, Gd03RequiresGradOfACapture) {
  Tensor w = tensor({1, 1}), b = tensor({0, 0}), x = tensor({2, 3});
  auto f = compile([&](const Tensor& t) { return t * w + b; }, verified());
  w.requires_grad_(false);
  b.requires_grad_(true);
  f(x).sum().backward();
  EXPECT_FALSE(w.grad().defined());
  EXPECT_TRUE(has_values(b.grad(), {1, 1}));
  b.mutable_grad() = Tensor();
  b.requires_grad_(false);
  w.requires_grad_(true);
  f(x).sum().backward();
  EXPECT_TRUE(has_values(w.grad(), {2, 3}));
  EXPECT_FALSE(b.grad().defined());
}

// A helper that the function calls is replaced.
TEST(Guards, Gd05AReplacedHelperIsCalled) {
  std::function<Tensor(const Tensor&)> helper = [](const Tensor& t) { return t + 20; };
  auto f = compile([&](const Tensor& t) { return helper(t) * 2; }, verified());
  Tensor x = tensor({1});
  for (int call = 0; call < 3; ++call) EXPECT_TRUE(has_values(f(x), {42}));
  helper = [](const Tensor& t) { return t - 1; };
  for (int call = 0; call < 3; ++call) EXPECT_TRUE(has_values(f(x), {0}));
}

// A number that changes in every call.
TEST(Guards, Gd07AChangingNumberIsNoNewPath) {
  auto f = compile([](const Tensor& p, double a, double b) { return p * (a * b); }, verified());
  Tensor p = ones({10});
  for (int i = 0; i < 100; ++i) {
    const double a = i / 100.0;
    EXPECT_TRUE(same_bits(f(p, a, 1.0), p * a));
  }
  EXPECT_EQ(f.ledger().variants, 1);
  EXPECT_EQ(f.ledger().hits, 99);
}

// An endless row of numbers must not make the look-up slower.
TEST(Guards, Gd08ManyNumbersShareOnePath) {
  auto f = compile([](const Tensor& t, int k) { return t + k; }, interpreted());
  Tensor x = zeros({4});
  // The quickest of many short stretches of calls: what else runs on the machine only adds.
  constexpr int kCalls = 20000, kWindow = 1000, kStretch = 20;
  const auto quickest = [&](int from) {
    double best = 1e300;
    for (int k = from; k < from + kWindow; k += kStretch) {
      const auto begin = std::chrono::steady_clock::now();
      for (int i = 0; i < kStretch; ++i) (void)f(x, k + i);
      best = std::min(
          best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    return best;
  };
  const double first = quickest(0);
  const std::string graph = f.graph();
  for (int k = kWindow; k < kCalls - kWindow; ++k) {
    Tensor y = f(x, k);
    if (k % kWindow != 0) continue;
    EXPECT_TRUE(equal(y, full({4}, static_cast<float>(k))));
  }
  const double last = quickest(kCalls - kWindow);
  EXPECT_LT(last, 2 * first);
  EXPECT_EQ(f.graph(), graph);  // nothing was added
  EXPECT_EQ(f.ledger().variants, 1);
  EXPECT_EQ(f.ledger().hits, kCalls - 1);
}

// The same where the number decides a stride, so that each call has a new signature:
// beyond the limit nothing is kept, and calls are as quick as the first ones there.
TEST(Guards, Gd08BeyondTheLimitNothingGrows) {
  auto f = compile([](const Tensor& t) { return t + 1; }, interpreted());
  const Tensor many = zeros({4 * 5000});
  const auto input = [&](int k) { return many[{Slice(0, 4 * (k + 1), k + 1)}]; };  // other strides
  constexpr int kCalls = 4000, kWindow = 400, kStretch = 20;
  const auto quickest = [&](int from) {
    double best = 1e300;
    for (int k = from; k < from + kWindow; k += kStretch) {
      std::vector<Tensor> inputs;
      for (int i = 0; i < kStretch; ++i) inputs.push_back(input(k + i));
      const auto begin = std::chrono::steady_clock::now();
      for (const Tensor& t : inputs) (void)f(t);
      best = std::min(
          best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    return best;
  };
  for (int k = 0; k < 100; ++k) (void)f(input(k));  // the limit, and the list of misses full
  const double first = quickest(100);
  for (int k = 100 + kWindow; k < kCalls; ++k) (void)f(input(k));
  EXPECT_LT(quickest(kCalls), 2 * first);
  EXPECT_EQ(f.ledger().variants, 16);
  EXPECT_LE(f.ledger().misses.size(), 64u);
}

// A view and its base alternate, with other sizes each time: the kernel is compiled once a pattern.
TEST(Guards, Gd10StridesAndSizesDoNotCallTheCompilerAgain) {
  auto f = compile([](const Tensor& t) { return t * 2 + 1; },
                   {.disable = {"disk_cache"}, .max_variants = 100});
  for (i64 n = 3; n <= 40; ++n) {
    Tensor x = n % 2 == 0 ? iota({n, 8}) : iota({n, 9})[{All, Slice(0, 8)}];
    EXPECT_TRUE(equal(f(x), x * 2 + 1)) << n;
    EXPECT_TRUE(equal(f(x), x * 2 + 1)) << n;
  }
  EXPECT_EQ(f.ledger().hits, 38);
  EXPECT_LE(f.ledger().compiles, 3);
}

// A size that happens to be 1 still broadcasts.
TEST(Guards, Gd11ASizeOfOneBroadcasts) {
  auto f = compile(
      [](const Tensor& a, const Tensor& b) {
        return a.view({-1, 4}) * b.view({-1, 4});
      },
      verified());
  Tensor four = tensor({1, 2, 3, 4}), eight = tensor({1, 2, 3, 4, 5, 6, 7, 8});
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(has_values(f(four, eight), {1, 4, 9, 16, 5, 12, 21, 32}));
    EXPECT_TRUE(has_values(f(eight, eight), {1, 4, 9, 16, 25, 36, 49, 64}));
    EXPECT_TRUE(has_values(f(eight, four), {1, 4, 9, 16, 5, 12, 21, 32}));
  }
}

// A first call that throws leaves an entry which looks complete.
TEST(Guards, Gd13AFirstCallThatThrowsLeavesNothing) {
  for (const bool op_throws : {false, true}) {
    bool fail = true;
    auto f = compile(
        [&](const Tensor& t) {
          Tensor y = t * 2;
          if (fail && op_throws) return y.view({5});
          if (fail) throw std::runtime_error("not yet");
          return y + 1;
        },
        verified());
    Tensor x = tensor({1, 2});
    EXPECT_NE(error_of([&] { (void)f(x); }), "");
    fail = false;
    for (int call = 0; call < 3; ++call) EXPECT_TRUE(has_values(f(x), {3, 5}));
    EXPECT_EQ(f.ledger().variants, 1);
  }
}

struct DropNet : nn::Module {
  nn::Dropout drop{1.0};
  nn::Linear fc{3, 2};
  INGOT_MODULE(DropNet, drop, fc)
};

// train() and eval() of a module.
TEST(Guards, Gd14TrainAndEvalAreSeen) {
  DropNet net;
  auto f = compile([&](const Tensor& t) { return net.fc(net.drop(t)); }, verified());
  Tensor x = ones({2, 3});
  Tensor bias = net.fc->bias.detach().expand({2, 2}), whole = net.fc(x);
  for (int round = 0; round < 2; ++round) {
    net.train();
    EXPECT_TRUE(allclose(f(x), bias));
    net.eval();
    EXPECT_TRUE(allclose(f(x), whole));
  }
  EXPECT_EQ(f.ledger().variants, 2);
}

// A capture that is gone: one clear error, and no recompilation for what comes after.
TEST(Guards, Gd15ACaptureThatIsGoneIsAnError) {
  Tensor w = tensor({1, 2});
  auto f = compile([&](const Tensor& t) { return t * w; }, verified());
  Tensor x = tensor({3, 4});
  for (int call = 0; call < 2; ++call) EXPECT_TRUE(has_values(f(x), {3, 8}));
  w = Tensor();
  for (int call = 0; call < 5; ++call) {
    EXPECT_TRUE(contains(error_of([&] { (void)f(x); }), "undefined"));
  }
  w = tensor({2, 2});
  EXPECT_TRUE(has_values(f(x), {6, 8}));
  EXPECT_EQ(f.ledger().variants, 1);
}

// A last batch that is shorter than the one that was recorded.
TEST(Guards, Gd18TheLastBatchIsShorter) {
  nn::Linear hidden{32, 16}, out{16, 4};
  auto step = [&](const Tensor& x, const Tensor& y) {
    for (Tensor* p : {&hidden->weight, &hidden->bias, &out->weight, &out->bias}) {
      p->mutable_grad() = Tensor();
    }
    Tensor loss = mse_loss(out(relu(hidden(x))), y);
    loss.backward();
    return Tensors{loss.detach(), hidden->weight.grad(), hidden->bias.grad(), out->weight.grad(),
                   out->bias.grad()};
  };
  auto compiled = compile(step, verified());
  for (i64 batch : {64, 64, 64, 10}) {
    Tensor x = noise({batch, 32}, 1), y = noise({batch, 4}, 2);
    Tensors eager = step(x, y), now = compiled(x, y);
    for (std::size_t i = 0; i < eager.size(); ++i) EXPECT_TRUE(same_bits(eager[i], now[i]));
  }
  EXPECT_EQ(compiled.ledger().variants, 2);
}

}  // namespace
}  // namespace ingot
