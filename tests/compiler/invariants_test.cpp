// The invariants of a compiled call: the function runs once, the host sees eager's state at every
// moment, nothing is kept that should die, nothing pending is left behind.
#include <barrier>
#include <cmath>
#include <optional>
#include <thread>

#include <ingot/compiler/compile.h>
#include <ingot/runtime/allocator.h>
#include <ingot/runtime/autograd.h>
#include <ingot/runtime/config.h>
#include <ingot/runtime/dispatch.h>
#include <ingot/runtime/grad_mode.h>

#include "support/eager_and_compiled.h"

namespace ingot {
namespace {

using namespace testing_support;
using Tensors = std::vector<Tensor>;

ByteState state_of(const Tensor& t) { return t.get().storage->state.load(); }

// 1: once per call, whatever the call becomes: recorded, replayed, cut, missed, at the limit.
TEST(Invariants, TheFunctionRunsOncePerCall) {
  int runs = 0;
  auto f = compile(
      [&](const Tensor& t, int mode) {
        ++runs;
        Tensor y = t * 2;
        if (mode == 1) y = exp(y);
        if (mode == 2 && y.sum().item<float>() > 0) y = y - 1;
        if (mode == 3) throw std::runtime_error("no");
        return mode == 4 ? y + tanh(y) : y + 1;
      },
      {.disable = {"codegen"}, .max_variants = 3, .verify = true});
  Tensor x = noise({4}, 1);
  int calls = 0;
  for (int round = 0; round < 3; ++round) {
    for (int mode : {0, 1, 0, 2, 3, 2, 4, 4, 5}) {
      error_of([&] { (void)f(x, mode); });
      EXPECT_EQ(runs, ++calls);
    }
  }
  EXPECT_EQ(f.ledger().calls, calls);
}

// 2: shapes, dtypes, versions, history, grad flags and the random state are eager's inside the
// function; only bytes lag.
TEST(Invariants, HostStateIsEagersAtEveryMoment) {
  struct Facts {
    std::vector<std::string> seen;
    void note(const Tensor& t) {
      seen.push_back(describe(t.meta()) + (t.requires_grad() ? " grad" : "") +
                     (t.is_leaf() ? " leaf" : "") + " v" +
                     std::to_string(t.get().storage->version) + " offset " +
                     std::to_string(t.storage_offset()) + " history " +
                     std::to_string(t.requires_grad() ? history_size(t) : 0) + " drawn " +
                     std::to_string(generator_state().offset));
    }
  };
  Tensor w = noise({3, 4}, 2).requires_grad_();
  bool overwrites = false;
  auto body = [&](const Tensor& x, Facts& facts) {
    Tensor y = tanh(x * w);
    facts.note(y);
    Tensor row = y[1].narrow(0, 1, 2);
    facts.note(row);
    Tensor d = dropout(y, 0.5);
    facts.note(d);
    Tensor c = overwrites ? y.detach() : y.detach().clone();
    c.add_(1);
    facts.note(c);
    w.mutable_grad() = Tensor();
    (y * 2).sum().backward();
    facts.note(w.grad());
    facts.seen.push_back(y.defined() ? "defined" : "");
    return d.sum();
  };
  Tensor x = noise({3, 4}, 3);
  // The second way overwrites y through c before backward: tanh saved its result, so both modes
  // throw alike.
  for (bool way : {false, true}) {
    overwrites = way;
    Facts eager, compiled_facts;
    manual_seed(5);
    std::string eager_error = error_of([&] { (void)body(x, eager); });
    EXPECT_EQ(eager_error.empty(), !overwrites);
    auto f = compile([&](const Tensor& t) { return body(t, compiled_facts); }, verified());
    for (int call = 0; call < 4; ++call) {
      compiled_facts.seen.clear();
      manual_seed(5);
      EXPECT_EQ(error_of([&] { (void)f(x); }), eager_error);
      EXPECT_EQ(compiled_facts.seen, eager.seen) << "call " << call;
    }
  }
}

// 3: while ops are pending no byte has changed; what an observation forces is eager's.
TEST(Invariants, BytesLagUntilTheyAreObserved) {
  Tensor x = zeros({4});
  float* raw = x.data_ptr<float>();
  std::vector<float> seen;
  auto f = compile(
      [&](const Tensor& t) {
        Tensor y = t;
        y.add_(1);
        seen.push_back(raw[0]);  // outside of the API, to see the lag itself
        return t * 1.0;
      },
      interpreted());
  (void)f(x);
  EXPECT_EQ(seen.back(), 1);
  EXPECT_TRUE(has_values(f(x), {2, 2, 2, 2}));
  EXPECT_EQ(seen.back(), 1);  // replayed: still the value before the call
  EXPECT_EQ(raw[0], 2);
}

TEST(Invariants, ResultsArePendingInsideAndRealOutside) {
  std::vector<ByteState> states;
  auto f = compile(
      [&](const Tensor& t) {
        Tensor y = exp(t);
        states.push_back(state_of(y));
        return y;
      },
      interpreted());
  Tensor x = noise({4}, 4);
  for (int call = 0; call < 3; ++call) EXPECT_EQ(state_of(f(x)), ByteState::real);
  EXPECT_EQ(states,
            (std::vector<ByteState>{ByteState::real, ByteState::pending, ByteState::pending}));
}

// 4: every way to bytes is served with eager's value, in the recording and in replays.
TEST(Invariants, EveryAccessToBytesSeesEagersValue) {
  using Access = std::function<double(const Tensor&)>;
  const std::vector<std::pair<const char*, Access>> accesses = {
      {"item", [](const Tensor& t) { return t[0].item<double>(); }},
      {"to_vector", [](const Tensor& t) { return t.to_vector<double>()[0]; }},
      {"data_ptr", [](const Tensor& t) { return double{*t.data_ptr<float>()}; }},
      {"untyped data_ptr",
       [](const Tensor& t) { return double{*static_cast<float*>(t.data_ptr())}; }},
      {"accessor", [](const Tensor& t) { return double{t.accessor<float, 1>()[0]}; }},
      {"to_string", [](const Tensor& t) { return to_string(t) == "tensor([3., 3.])" ? 3.0 : 0.0; }},
      {"equal", [](const Tensor& t) { return equal(t, full({2}, 3.0)) ? 3.0 : 0.0; }},
      {"allclose", [](const Tensor& t) { return allclose(t, full({2}, 3.0)) ? 3.0 : 0.0; }},
      {"nonzero", [](const Tensor& t) { return static_cast<double>(nonzero(t).size(0)) + 1; }},
      {"masked_select", [](const Tensor& t) { return masked_select(t, t > 0)[0].item<double>(); }},
      {"view",
       [](const Tensor& t) {
         return t.view({2, 1})[1].item<double>();
       }},
  };
  for (const auto& [what, access] : accesses) {
    SCOPED_TRACE(what);
    std::vector<double> seen;
    auto f = compile(
        [&, &read = access](const Tensor& t) {
          Tensor y = t + 1;
          seen.push_back(read(y));
          return y * 2;
        },
        verified());
    for (int call = 0; call < 3; ++call) EXPECT_TRUE(has_values(f(full({2}, 2.0)), {6, 6}));
    EXPECT_EQ(seen, (std::vector<double>{3, 3, 3}));
    EXPECT_EQ(f.ledger().hits, 2);
    EXPECT_FALSE(f.ledger().cuts.empty());
  }
}

// A pointer to an argument that pending ops still read: they run before it is handed out.
TEST(Invariants, APointerForWritingWaitsForReaders) {
  auto f = compile(
      [](const Tensor& t) {
        Tensor y = t + 1;
        t.data_ptr<float>()[0] = 100;
        return y + t;
      },
      verified());
  for (int call = 0; call < 3; ++call) {
    EXPECT_TRUE(has_values(f(full({2}, 2.0)), {103, 5}));
  }
}

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

// 9: after a return, a throw, a failing kernel: nothing is pending, and eager work goes on.
TEST(Invariants, NothingIsPendingAfterAnyExit) {
  Tensors kept;
  Tensor weight = noise({4, 2}, 8);
  auto f = compile(
      [&](const Tensor& t, const Tensor& index, int mode) {
        kept.push_back(t * 2);
        kept.push_back(kept.back()[0]);
        if (mode == 1) throw std::runtime_error("stop");
        kept.push_back(embedding(weight, index));
        kept.push_back(exp(t));
        if (mode == 2) throw std::runtime_error("later");
      },
      interpreted());
  Tensor x = noise({3}, 9), good = tensor({1, 2}, kInt64), bad = tensor({1, 9}, kInt64);
  for (int round = 0; round < 3; ++round) {
    for (int mode = 0; mode < 3; ++mode) {
      for (const Tensor& index : {good, bad}) {
        kept.clear();
        error_of([&] { f(x, index, mode); });
        EXPECT_EQ(t_interceptor, nullptr);
        for (const Tensor& t : kept) EXPECT_NE(state_of(t), ByteState::pending);
        EXPECT_TRUE(same_bits(kept[0], x * 2));
      }
    }
  }
}

}  // namespace
}  // namespace ingot
