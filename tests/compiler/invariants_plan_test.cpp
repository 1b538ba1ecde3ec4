// The invariants of a plan: what it owns, what it relies on, what may not choose its bits.
#include <barrier>
#include <cmath>
#include <optional>
#include <thread>

#include <ingot/compiler/compile.h>
#include <ingot/runtime/allocator.h>
#include <ingot/runtime/config.h>
#include <ingot/runtime/grad_mode.h>

#include "support/eager_and_compiled.h"

namespace ingot {
namespace {

using namespace testing_support;

// 5: the entry owns no tensor: weights that the program drops are freed.
TEST(Invariants, OldWeightsDie) {
  constexpr i64 kBytes = 4 << 20;
  i64 before = memory_stats().allocated;
  Tensor w = zeros({kBytes / 4}), x = ones({1});
  auto f = compile([&](const Tensor& t) { return (w * t).sum(); }, interpreted());
  for (int call = 0; call < 4; ++call) {
    (void)f(x);
    EXPECT_EQ(w.impl()->use_count(), 1u);
    EXPECT_EQ(w.impl()->storage->use_count(), 1u);
    w = zeros({kBytes / 4});
    EXPECT_LT(memory_stats().allocated - before, kBytes + kBytes / 2) << call;
  }
  w = Tensor();
  EXPECT_LT(memory_stats().allocated - before, kBytes / 2);
  EXPECT_GE(f.ledger().hits, 3);
}

TEST(Invariants, DroppedTemporariesAreNotKept) {
  i64 before = memory_stats().allocated;
  auto f = compile([](const Tensor& t) { return (exp(t) + tanh(t)).sum(); }, interpreted());
  {
    Tensor x = zeros({1 << 18});
    for (int call = 0; call < 3; ++call) (void)f(x);
  }
  EXPECT_LT(memory_stats().allocated - before, 1 << 18);
}

// The frame owns what its ops read: a capture that is rebound before the commit.
TEST(Invariants, TheFrameKeepsWhatItNeeds) {
  Tensor w;
  auto f = compile(
      [&](const Tensor& t) {
        w = full({4}, 5.0) * 1.0;
        Tensor y = t * w;
        w = Tensor();
        Tensor junk = full({4}, -1.0) * 3.0;  // would take the freed block
        return y + junk * 0;
      },
      verified());
  for (int call = 0; call < 3; ++call) {
    EXPECT_TRUE(has_values(f(full({4}, 2.0)), {10, 10, 10, 10}));
  }
}

TEST(Invariants, ADroppedCaptureLivesUntilTheCommit) {
  std::unique_ptr<Tensor> w;
  auto f = compile(
      [&](const Tensor& t) {
        Tensor y = t * *w;
        w.reset();
        return y + zeros({4});
      },
      verified());
  for (int call = 0; call < 4; ++call) {
    w = std::make_unique<Tensor>(full({4}, 1.0 + call));
    Tensor y = f(full({4}, 2.0));
    EXPECT_EQ(y[0].item<double>(), 2 * (1.0 + call));
  }
  EXPECT_EQ(f.ledger().hits, 3);
}

// 6: a plan knows nothing of a call but what matching compares. Values, numbers, starts, fills,
// addresses and threads may all change from call to call: each is a hit with eager's bits.
TEST(Invariants, WhatIsNotComparedMayChange) {
  std::vector<float> borrowed(130, 0.25F);
  Tensor big = noise({65}, 20), capture = noise({64}, 21);
  double factor = 0.5;
  i64 start = 0;
  auto body = [&](const Tensor& t) {
    Tensor row = t[start];
    return tanh(row * factor + capture) + full({64}, factor) * t.narrow(0, start, 1).sum();
  };
  const Tensor awkward = from_vector(std::vector<float>(256, std::nanf("")), {4, 64});
  const std::vector<std::pair<const char*, std::function<void(Tensor&)>>> changes = {
      {"nothing", [](Tensor&) {}},
      {"values",
       [](Tensor& t) {
         t = noise({4, 64}, 31);
       }},
      {"values that are no numbers", [&](Tensor& t) { t = awkward; }},
      {"a number", [&](Tensor&) { factor = -3.25; }},
      {"a start", [&](Tensor&) { start = 3; }},
      {"another tensor as capture", [&](Tensor&) { capture = noise({64}, 22); }},
      {"an offset", [&](Tensor&) { capture = big.narrow(0, 1, 64); }},
      {"an odd address", [&](Tensor&) { capture = from_blob(borrowed.data() + 3, {64}); }},
      {"threads", [](Tensor&) { set_num_threads(3); }},
  };
  const int threads = num_threads();
  for (const CompileOptions& options :
       {interpreted(), verified(), CompileOptions{.disable = {"fusion"}},
        CompileOptions{.verify = true}}) {
    capture = noise({64}, 21), factor = 0.5, start = 0;
    Tensor x = noise({4, 64}, 30);
    auto f = compile(body, options);
    (void)f(x);
    i64 hits = 0;
    for (const auto& [what, change] : changes) {
      SCOPED_TRACE(what);
      change(x);
      EXPECT_TRUE(same_bits(body(x), f(x)));
      EXPECT_EQ(f.ledger().hits, ++hits);
    }
    EXPECT_EQ(f.ledger().variants, 1);
    set_num_threads(threads);
  }
}

// The other side of 6: what a plan does rely on is compared, so that a change is no hit.
TEST(Invariants, WhatPlansRelyOnIsCompared) {
  const std::vector<std::pair<const char*, std::function<Tensor()>>> captures = {
      {"plain", [] { return noise({8}, 40); }},
      {"sizes", [] { return noise({1}, 41); }},
      {"dims",
       [] {
         return noise({8, 8}, 42);
       }},
      {"strides",
       [] {
         return noise({8, 2}, 43).select(1, 0);
       }},
      {"expanded", [] { return noise({1}, 44).expand({8}); }},
      {"dtype", [] { return noise({8}, 45, kDouble); }},
      {"kind", [] { return iota({8}, DType::i64); }},
  };
  Tensor capture;
  auto body = [&](const Tensor& t) { return (t * capture + 1) * t; };
  auto f = compile(body, verified());
  Tensor x = noise({8}, 48);
  i64 hits = 0;
  for (const auto& [what, make] : captures) {
    SCOPED_TRACE(what);
    capture = make();
    for (bool known : {false, true}) {
      EXPECT_TRUE(same_bits(body(x), f(x)));
      EXPECT_EQ(f.ledger().hits, hits += known);
    }
  }
}

// Plans know nothing of history: it is made while matching, as the call's own tensors ask for it.
TEST(Invariants, HistoryFollowsTheCallNotThePath) {
  Tensor leaf, capture;
  auto body = [&](const Tensor& t) { return tanh(t * capture + 1) * t; };
  auto f = compile(body, verified());
  const Tensor x = noise({8}, 46);
  auto gradient = [&](const Tensor& y) {
    leaf.mutable_grad() = Tensor();
    if (y.requires_grad()) y.sum().backward();
    return leaf.grad();
  };
  for (const std::string kind : {"plain", "leaf", "history", "plain", "no grad", "leaf"}) {
    SCOPED_TRACE(kind);
    leaf = noise({8}, 47).requires_grad_(kind != "plain");
    capture = kind == "history" ? leaf * 1.0 : leaf;
    for (int call = 0; call < 2; ++call) {
      std::optional<NoGradGuard> guard;
      if (kind == "no grad") guard.emplace();
      Tensor eager = body(x), compiled = f(x);
      EXPECT_TRUE(same_bits(eager, compiled));
      EXPECT_EQ(eager.requires_grad(), kind == "leaf" || kind == "history");
      EXPECT_EQ(compiled.requires_grad(), eager.requires_grad());
      Tensor expected = gradient(eager);
      EXPECT_TRUE(same_bits(expected, gradient(compiled)));
      EXPECT_EQ(expected.defined(), eager.requires_grad());
    }
  }
  EXPECT_GT(f.ledger().hits, 0);
}

TEST(Invariants, SharedStoragesAreCompared) {
  Tensor p, q;
  auto body = [&](const Tensor& t) {
    p.add_(t);
    return q * 2 + p;
  };
  auto f = compile(body, verified());
  const Tensor x = full({4}, 10.0);
  for (bool shared : {false, true, true, false}) {
    SCOPED_TRACE(shared ? "one storage" : "two storages");
    p = zeros({4});
    q = shared ? p.view({4}) : ones({4});
    const double expected = shared ? 30 : 12;
    EXPECT_TRUE(has_values(f(x), {expected, expected, expected, expected}));
  }
  EXPECT_EQ(f.ledger().hits, 2);
}

// 7: matching writes nothing shared but reference counts: threads that stand in the middle of one
// path, each with numbers of its own, do not see each other, and leave what they met as it was.
TEST(Invariants, ThreadsMatchOnePathAtOnce) {
  constexpr int kThreads = 4, kRounds = 20;
  Tensor w = noise({64}, 50);
  thread_local double factor = 1;
  std::barrier<> meet(kThreads);
  bool together = false;
  auto body = [&](const Tensor& t) {
    Tensor y = tanh(t * w) * factor;
    if (together) meet.arrive_and_wait();
    Tensor z = y + w.narrow(0, 0, 32).sum() * factor;
    if (together) meet.arrive_and_wait();
    return z * y + full({64}, factor);
  };
  auto f = compile(body, interpreted());
  (void)f(noise({64}, 51));
  (void)f(noise({64}, 52));
  const std::string graph = f.graph(), bytes = to_string(w);
  const auto version = w.get().storage->version;
  std::vector<Tensor> inputs, expected;
  for (int t = 0; t < kThreads; ++t) {
    factor = 1.5 + t;
    inputs.push_back(noise({64}, 60 + static_cast<std::uint64_t>(t)));
    expected.push_back(body(inputs.back()));
  }
  together = true;
  std::vector<int> wrong(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      factor = 1.5 + t;
      const auto i = static_cast<std::size_t>(t);
      for (int round = 0; round < kRounds; ++round) {
        if (!same_bits(f(inputs[i]), expected[i])) ++wrong[i];
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, std::vector<int>(kThreads));
  EXPECT_EQ(f.ledger().hits, 1 + kThreads * kRounds);
  EXPECT_EQ(f.ledger().variants, 1);
  EXPECT_EQ(f.graph(), graph);
  EXPECT_EQ(to_string(w), bytes);
  EXPECT_EQ(w.get().storage->version, version);
  EXPECT_EQ(w.impl()->use_count(), 1u);
  EXPECT_EQ(w.impl()->storage->use_count(), 1u);
  for (const Tensor& x : inputs) EXPECT_EQ(x.impl()->use_count(), 1u);
}

// 8: neither threads nor earlier calls choose bits.
TEST(Invariants, ThreadsAndHistoryDoNotChangeBits) {
  Tensor x = noise({257, 130}, 6), w = noise({130, 70}, 7);
  auto body = [&](const Tensor& t) { return softmax(matmul(t, w) * 0.5, -1).sum({0}); };
  int threads = num_threads();
  set_num_threads(1);
  Tensor expected = body(x);
  for (int n : {1, 2, 3, 8}) {
    set_num_threads(n);
    EXPECT_TRUE(same_bits(expected, body(x))) << n << " threads, eager";
    auto f = compile(body, interpreted());
    (void)f(noise({257, 130}, 99));
    for (int call = 0; call < 3; ++call) EXPECT_TRUE(same_bits(expected, f(x))) << n << " threads";
  }
  set_num_threads(threads);
}

}  // namespace
}  // namespace ingot
