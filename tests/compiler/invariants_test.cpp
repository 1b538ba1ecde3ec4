// The invariants of a compiled call: the function runs once, the host sees eager's state at every
// moment, nothing pending is left behind. Those of its plan: invariants_plan_test.cpp.
#include <ingot/compiler/compile.h>
#include <ingot/runtime/autograd.h>
#include <ingot/runtime/dispatch.h>

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
