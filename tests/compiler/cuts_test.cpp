// Observations inside a compiled function: they split the path, and the parts stay compiled.
#include <ingot/compiler/compile.h>
#include <ingot/runtime/grad_mode.h>

#include "support/eager_and_compiled.h"

namespace ingot {
namespace {

using namespace testing_support;
using Tensors = std::vector<Tensor>;

TEST(Cuts, ItemBetweenOpsKeepsBothSegments) {
  std::vector<float> seen;
  int line = 0;
  auto f = compile(
      [&](const Tensor& t) {
        Tensor y = tanh(t) * 2;
        line = __LINE__ + 1;
        seen.push_back(y.sum().item<float>());
        return exp(y) + 1;
      },
      {.name = "cut", .disable = {"codegen"}, .verify = true});
  Tensor x = noise({3, 5}, 1);
  Tensor expected = exp(tanh(x) * 2) + 1;
  float expected_sum = (tanh(x) * 2).sum().item<float>();
  for (int call = 0; call < 4; ++call) {
    EXPECT_TRUE(same_bits(f(x), expected));
    EXPECT_EQ(seen.back(), expected_sum);
  }
  Ledger ledger = f.ledger();
  EXPECT_EQ(ledger.hits, 3);
  ASSERT_EQ(ledger.cuts.size(), 1u);
  EXPECT_TRUE(contains(ledger.cuts[0].what, "item"));
  EXPECT_EQ(to_string(ledger.cuts[0].where), "cuts_test.cpp:" + std::to_string(line));
}

TEST(Cuts, AnObservationAfterEveryOp) {
  for (int at = 0; at < 6; ++at) {
    SCOPED_TRACE(at);
    auto make = [at] {
      return [at, x = noise({4, 4}, 2)](int) {
        int op = 0;
        double seen = 0;
        auto maybe = [&](const Tensor& t) {
          if (op++ == at) seen = t.reshape({-1})[3].item<double>();
          return t;
        };
        Tensor a = maybe(x * 2);
        Tensor b = maybe(a.t());
        Tensor c = maybe(matmul(b, x));
        c.add_(a);
        (void)maybe(c);
        Tensor d = maybe(c.sum({0}));
        Tensor e = maybe(softmax(d, 0));
        return Tensors{c, e, tensor({seen}, kFloat64)};
      };
    };
    EXPECT_EQ(same_as_eager(make).hits, 3);
  }
}

// A value read before anything pending touches it costs no cut.
TEST(Cuts, ReadingWhatIsNotPendingIsFree) {
  Tensor scale = full({}, 3.0);
  auto f = compile(
      [&](const Tensor& t) {
        Tensor y = t + 1;
        return y * scale.item<float>();
      },
      verified());
  for (int call = 0; call < 3; ++call) {
    scale.fill_(3.0 + call);
    EXPECT_EQ(f(ones({2}))[0].item<float>(), 2 * (3.0f + static_cast<float>(call)));
  }
  EXPECT_EQ(f.ledger().hits, 2);
  EXPECT_TRUE(f.ledger().cuts.empty());
}

// Reading a tensor that pending ops read, too, is free; reading one that they write is not.
TEST(Cuts, ReadOfASharedOperand) {
  struct World {
    Tensor x = noise({4}, 3);
    Tensors operator()(int) {
      Tensor y = x * 2;
      double before = x[0].item<double>();  // x is only read so far
      x.add_(1);
      double after = x[0].item<double>();
      return {y, x, tensor({before, after}, kFloat64)};
    }
  };
  Ledger ledger = same_as_eager([] { return World(); });
  EXPECT_EQ(ledger.hits, 3);
  EXPECT_EQ(ledger.cuts.size(), 1u);
}

TEST(Cuts, BranchesOnData) {
  struct World {
    Tensor x = noise({4}, 4);
    Tensors operator()(int call) {
      Tensor y = x * (call % 2 == 0 ? 1.0 : -1.0);
      if (y[0].item<float>() > 0) return {exp(y)};
      return {tanh(y) * 2, y};
    }
  };
  Ledger ledger = same_as_eager([] { return World(); }, 6);
  EXPECT_EQ(ledger.hits, 4);
  EXPECT_EQ(ledger.variants, 2);
}

TEST(Cuts, LoopUntilAValueIsReached) {
  struct World {
    Tensors operator()(int call) {
      Tensor x = full({2}, 1.0 + call);
      int steps = 0;
      while (x.sum().item<float>() < 40) {
        x = x * 2;
        ++steps;
      }
      return {x, full({}, steps)};
    }
  };
  same_as_eager([] { return World(); }, 6);
}

// An observation that the recorded call did not make: it is served, and becomes a path.
TEST(Cuts, AnObservationThatIsNew) {
  struct World {
    Tensor x = noise({4}, 5);
    Tensors operator()(int call) {
      Tensor y = exp(x) + 1;
      double seen = call == 2 || call == 3 ? y[1].item<double>() : 0;
      return {y * 2, tensor({seen}, kFloat64)};
    }
  };
  Ledger ledger = same_as_eager([] { return World(); }, 6);
  EXPECT_EQ(ledger.hits, 4);
}

// What lives across a cut is only what is still referenced there; a later call may keep more.
TEST(Cuts, LateEscapeAcrossACut) {
  struct World {
    Tensor x = noise({4}, 6);
    Tensors kept;
    Tensors operator()(int call) {
      Tensor out;
      {
        Tensor a = x * 3, b = a + 1;
        if (call == 2) kept.push_back(a.narrow(0, 1, 2));
        out = tanh(b);
        (void)out.sum().item<float>();
      }
      Tensors r = kept;
      r.push_back(out + 1);
      return r;
    }
  };
  same_as_eager([] { return World(); }, 5);
}

TEST(Cuts, FullgraphMakesAnObservationAnError) {
  auto f = compile(
      [](const Tensor& t) {
        Tensor y = t + 1;
        return y * y.sum().item<float>();
      },
      {.name = "whole", .disable = {"codegen"}, .fullgraph = true});
  for (int call = 0; call < 3; ++call) {
    std::string error = error_of([&] { (void)f(ones({2})); });
    EXPECT_TRUE(contains(error, "whole: item"));
    EXPECT_TRUE(contains(error, "fullgraph"));
    EXPECT_TRUE(contains(error, "at cuts_test.cpp:"));
  }
}

TEST(Cuts, FullgraphAllowsWhatIsNoCut) {
  auto f = compile([](const Tensor& t) { return t * t[0].item<float>(); },
                   {.disable = {"codegen"}, .fullgraph = true});
  for (int call = 0; call < 3; ++call) EXPECT_TRUE(has_values(f(full({2}, 3.0)), {9, 9}));
  EXPECT_EQ(f.ledger().hits, 2);
}

}  // namespace
}  // namespace ingot
