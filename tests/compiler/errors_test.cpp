// Exceptions in compiled calls: a throw after every op, data errors that kernels find, poison.
#include <functional>

#include <ingot/compiler/compile.h>
#include <ingot/runtime/allocator.h>
#include <ingot/runtime/dispatch.h>
#include <ingot/runtime/grad_mode.h>

#include "support/eager_and_compiled.h"

namespace ingot {
namespace {

using namespace testing_support;
using Tensors = std::vector<Tensor>;

// The program stops after op `at` in some calls; what was written before must be there.
TEST(Errors, AThrowAfterEveryOpLeavesEagersBytes) {
  for (int at = 0; at < 8; ++at) {
    SCOPED_TRACE(at);
    struct World {
      int at;
      Tensor x = noise({3, 4}, 1), w = noise({4, 4}, 2);
      Tensors kept = {};
      Tensors operator()(int call) {
        int op = 0;
        auto tick = [&](const Tensor& t) {
          if (op++ == at && call % 3 == 2) throw std::runtime_error("thrown by the program");
          return t;
        };
        kept.clear();
        Tensor a = tick(matmul(x, w));
        kept.push_back(a);
        (void)tick(x.mul_(0.5));
        Tensor row = tick(w[1]);
        (void)tick(row.add_(a.sum({0})));
        kept.push_back(tick(dropout(a, 0.5)));
        (void)tick(a.relu_());
        kept.push_back(tick(a.t()));
        w.copy_(tick(w.t() * 1.0));
        return {a};
      }
    };
    World eager{at}, twin{at};
    auto f = compile([&](int call) { return twin(call); }, verified());
    for (int call = 0; call < 7; ++call) {
      manual_seed(3);
      std::string expected = error_of([&] { (void)eager(call); });
      manual_seed(3);
      EXPECT_EQ(error_of([&] { (void)f(call); }), expected);
      EXPECT_TRUE(same_bits(eager.x, twin.x)) << call;
      EXPECT_TRUE(same_bits(eager.w, twin.w)) << call;
      ASSERT_EQ(eager.kept.size(), twin.kept.size());
      for (std::size_t i = 0; i < eager.kept.size(); ++i) {
        EXPECT_TRUE(same_bits(eager.kept[i], twin.kept[i])) << "call " << call << " kept " << i;
      }
    }
    EXPECT_GE(f.ledger().hits, 3);
  }
}

// gd-13: a first call that throws leaves nothing behind that a later one could take for a path.
TEST(Errors, AThrowWhileRecordingLeavesNoPath) {
  bool fail = true;
  auto f = compile(
      [&](const Tensor& t) {
        Tensor y = t + 1;
        if (fail) throw std::runtime_error("flag");
        return y * 2;
      },
      verified());
  EXPECT_EQ(error_of([&] { (void)f(ones({2})); }), "flag");
  EXPECT_EQ(f.ledger().variants, 0);
  fail = false;
  for (int call = 0; call < 3; ++call) EXPECT_TRUE(has_values(f(ones({2})), {4, 4}));
  EXPECT_EQ(f.ledger().variants, 1);
  EXPECT_EQ(f.ledger().hits, 2);
}

// A wrong shape inside: the sentence, with operands and line, is eager's.
TEST(Errors, AnOpThatIsRefusedHasEagersSentence) {
  struct World {
    Tensor x = noise({2, 3}, 3);
    Tensors operator()(int call) {
      Tensor y = x + 1;
      Tensor w = call == 2 ? ones({4, 2}) : ones({3, 2});
      return {matmul(y, w)};
    }
  };
  Ledger ledger = same_as_eager([] { return World(); }, 5);
  EXPECT_GE(ledger.hits, 3);
}

struct Lookup {
  Tensor weight = noise({4, 2}, 4), log = zeros({3});
  Tensor early, rows, late;
  int line = 0;
  Tensor operator()(const Tensor& index) {
    log.add_(1);
    early = log * 2;
    line = __LINE__ + 1;
    rows = embedding(weight, index);
    late = rows + 1;
    log.add_(10);
    return late.sum();
  }
};

TEST(Errors, ADataErrorNamesTheOpAndItsLine) {
  Lookup world;
  auto f = compile([&](const Tensor& index) { return world(index); }, interpreted());
  Tensor good = tensor({0, 3}, kInt64), bad = tensor({0, 4}, kInt64);
  (void)f(good), (void)f(good);
  EXPECT_EQ(f.ledger().hits, 1);
  std::string eager_error = error_of([&] { (void)Lookup()(bad); });
  std::string error = error_of([&] { (void)f(bad); });
  for (const std::string& text : {error, eager_error}) {
    EXPECT_TRUE(contains(text, "embedding"));
    EXPECT_TRUE(contains(text, "4"));
    EXPECT_TRUE(contains(text, "errors_test.cpp:" + std::to_string(world.line)));
  }
}

TEST(Errors, ADataErrorPoisonsWhatFollowsAndKeepsWhatWasBefore) {
  Lookup world;
  auto f = compile([&](const Tensor& index) { return world(index); }, interpreted());
  Tensor good = tensor({0, 3}, kInt64), bad = tensor({-9, 0}, kInt64);
  (void)f(good), (void)f(good);
  std::string error = error_of([&] { (void)f(bad); });
  EXPECT_NE(error, "");
  // Writes before the failing op stay, later ones do not happen.
  EXPECT_TRUE(has_values(world.log, {23, 23, 23}));
  EXPECT_TRUE(has_values(world.early, {46, 46, 46}));
  for (const Tensor& t : {world.rows, world.late}) {
    EXPECT_EQ(t.get().storage->state.load(), ByteState::poisoned);
    EXPECT_EQ(t.sizes()[0], 2);  // the host side of it is known
    EXPECT_EQ(error_of([&] { (void)t.to_vector<float>(); }), error);
    EXPECT_EQ(error_of([&] { (void)(t + 1); }), error);
    EXPECT_EQ(error_of([&] { (void)t[0].clone(); }), error);
    EXPECT_EQ(error_of([&] { (void)to_string(t); }), error);
    EXPECT_TRUE(contains(debug(t), "poisoned"));
  }
  // The function is usable afterwards, and a compiled function meets the poison, too.
  Tensor poisoned = world.late;
  (void)f(good);
  EXPECT_TRUE(has_values(world.log, {34, 34, 34}));
  auto g = compile([](const Tensor& t) { return t * 2; }, interpreted());
  for (int call = 0; call < 2; ++call) {
    (void)g(noise({2, 2}, 5));
    EXPECT_EQ(error_of([&] { (void)g(poisoned); }), error);
  }
}

// The kernel fails in a flush that an exception of the program has caused: that one wins.
TEST(Errors, AFlushThatFailsWhileUnwindingPoisons) {
  Tensor weight = noise({4, 2}, 6), rows;
  auto f = compile(
      [&](const Tensor& index, int stop) {
        rows = embedding(weight, index);
        if (stop != 0) throw std::runtime_error("the program's own");
        return rows * 2;
      },
      interpreted());
  Tensor good = tensor({1}, kInt64), bad = tensor({7}, kInt64);
  (void)f(good, 0), (void)f(good, 0);
  EXPECT_EQ(error_of([&] { (void)f(bad, 1); }), "the program's own");
  EXPECT_TRUE(contains(error_of([&] { (void)rows.to_vector<float>(); }), "embedding"));
  EXPECT_EQ(error_of([&] { (void)f(good, 0); }), "");
}

// The data error surfaces at an observation inside the function, where it can be caught.
TEST(Errors, ADataErrorAtACutCanBeCaught) {
  Tensor weight = noise({4, 2}, 7);
  auto f = compile(
      [&](const Tensor& index) {
        Tensor rows = embedding(weight, index);
        try {
          return full({}, rows.sum().item<double>());
        } catch (const Error&) {
          return full({}, -1.0);
        }
      },
      interpreted());
  Tensor good = tensor({1, 2}, kInt64), bad = tensor({1, 9}, kInt64);
  double sum = f(good).item<double>();
  (void)f(good);
  for (int call = 0; call < 3; ++call) {
    EXPECT_EQ(f(bad).item<double>(), -1);
    EXPECT_EQ(f(good).item<double>(), sum);
  }
  EXPECT_EQ(f.ledger().variants, 1);
}

// What follows such an error is no part of any path: it used to be recorded behind the op that had
// failed, and the next failing call replayed a plan for one op more than it had matched.
TEST(Errors, AfterACaughtDataErrorTheRestOfTheCallIsEager) {
  struct World {
    Tensor weight = noise({3, 4}, 7), log = zeros({2});
    Tensors operator()(int call) {
      Tensor rows;
      try {  // eager throws at the first line, a replay at the second
        rows = index_select(weight, 0, full({1}, call % 4));
        (void)rows.to_vector<float>();
      } catch (const Error&) {
        rows = weight * 0;
        log.add_(rows.sum() + 1);
      }
      return {rows + 1, log};
    }
  };
  (void)same_as_eager([] { return World(); }, 16);
}

TEST(Errors, AnUndefinedOperandIsRefusedInAReplay) {
  auto f = compile(
      [](const std::function<Tensor()>& w) {
        return matmul(ones({2, 2}) * 2, w());
      },
      interpreted());
  Tensor none, x = ones({2, 2});
  for (int call = 0; call < 2; ++call) (void)f([&] { return x; });
  std::string error = error_of([&] { (void)f([&] { return none; }); });
  EXPECT_TRUE(contains(error, "matmul: operand 1 is an undefined Tensor")) << error;
  EXPECT_TRUE(contains(error, "errors_test.cpp:"));
}

TEST(Errors, AMovedFromFunctionSaysSo) {
  auto f = compile([](const Tensor& t) { return t + 1; });
  auto g = std::move(f);
  EXPECT_TRUE(has_values(g(ones({1})), {2}));
  EXPECT_TRUE(contains(error_of([&] { (void)f(ones({1})); }), "moved from"));
  EXPECT_TRUE(contains(error_of([&] { (void)f.ledger(); }), "moved from"));
  EXPECT_TRUE(contains(error_of([&] { f.reset(); }), "moved from"));
}

TEST(Errors, OutOfMemoryLeavesTheProcessUsable) {
  auto f = compile(
      [](const Tensor& t, i64 n) {
        return (t * 2).expand({n, 4}).clone();
      },
      interpreted());
  Tensor x = noise({1, 4}, 8);
  (void)f(x, i64{2}), (void)f(x, i64{2});
  std::string error = error_of([&] { (void)f(x, i64{1} << 45); });
  EXPECT_TRUE(contains(error, "out of memory"));
  EXPECT_TRUE(contains(error, "errors_test.cpp:"));
  EXPECT_EQ(f(x, i64{2}).numel(), 8);
}

// The temporaries of a plan do not fit, although the results would.
TEST(Errors, AnArenaThatDoesNotFitIsAnError) {
  CompileOptions options = interpreted();
  options.disable.push_back("fusion");
  auto f = compile([](const Tensor& t) { return (t * 2).flip({0}).sum(); }, options);
  const Tensor x = noise({1 << 20}, 8);
  const Tensor expected = f(x);
  (void)f(x);
  const Device device = x.device();
  empty_cache(device);
  set_memory_limit(memory_stats(device).reserved + (1 << 20), device);
  const std::string error = error_of([&] { (void)f(x); });
  set_memory_limit(0, device);
  EXPECT_TRUE(contains(error, "out of memory")) << error;
  EXPECT_TRUE(equal(f(x), expected));
}

}  // namespace
}  // namespace ingot
