// Record and replay: which calls are hits, what outlives a call, writes, aliases, nesting.
#include <ingot/compiler/compile.h>
#include <ingot/runtime/grad_mode.h>

#include "support/eager_and_compiled.h"

namespace ingot {
namespace {

using namespace testing_support;
using Tensors = std::vector<Tensor>;

TEST(Replay, SecondCallIsAHitWithEagersBits) {
  Tensor x = noise({5, 7}, 1), w = noise({7, 3}, 2);
  auto f = [&](const Tensor& t) { return softmax(tanh(matmul(t, w)) * 0.5 + 1, -1); };
  auto compiled = compile(f, verified());
  Tensor expected = f(x);
  for (int call = 0; call < 4; ++call) {
    EXPECT_TRUE(same_bits(expected, compiled(x)));
    EXPECT_EQ(compiled.ledger().hits, call);
  }
  EXPECT_EQ(compiled.ledger().calls, 4);
  EXPECT_EQ(compiled.ledger().variants, 1);
}

// New values, a new tensor and new weights of the same metadata take the same path.
TEST(Replay, ArgumentsAndCapturesAreRebound) {
  Tensor w = noise({4}, 2);
  auto f = [&w](const Tensor& t) { return t * w + 1; };
  auto compiled = compile(f, verified());
  for (int call = 0; call < 5; ++call) {
    w = noise({4}, 10 + static_cast<std::uint64_t>(call));
    Tensor x = noise({3, 4}, 20 + static_cast<std::uint64_t>(call));
    EXPECT_TRUE(same_bits(f(x), compiled(x)));
  }
  EXPECT_EQ(compiled.ledger().hits, 4);
}

TEST(Replay, ScalarsAndStartsAreRunTimeValues) {
  auto make = [] {
    return [x = noise({6, 4}, 3)](int call) {
      Tensor row = x[call], part = x.narrow(0, call, 2);
      return Tensors{row * (0.25 * call), clamp(part, -0.1 * call, 1.5), full({2}, 1.5 * call),
                     arange(call, call + 3)};
    };
  };
  Ledger ledger = same_as_eager(make, 5);
  EXPECT_EQ(ledger.hits, 4);
  EXPECT_EQ(ledger.variants, 1);
}

// A value that the recorded call dropped and a later one keeps: a new end, not a wrong plan.
TEST(Replay, LateEscape) {
  auto make = [] {
    return [x = noise({3, 4}, 4), kept = Tensors()](int call) mutable {
      Tensor a = x * 2, b = exp(a), c = b + a;
      if (call == 2) kept.push_back(b);
      if (call == 4) kept.push_back(a[1]);  // a view keeps its whole storage
      Tensors out = kept;
      out.push_back(c);
      return out;
    };
  };
  Ledger ledger = same_as_eager(make, 7);
  EXPECT_GE(ledger.hits, 3);
}

TEST(Replay, AViewOfATemporaryKeepsItsStorage) {
  auto make = [] {
    return [x = noise({4, 6}, 5)](int) {
      Tensor t = tanh(x) + 1;
      return Tensors{t.t().narrow(0, 1, 3), t.select(1, 2)};
    };
  };
  EXPECT_EQ(same_as_eager(make).hits, 3);
}

TEST(Replay, AResultIsNotOverwrittenByTheNextCall) {
  Tensor x = noise({64}, 6);
  auto compiled = compile([](const Tensor& t) { return exp(t) * 2; }, interpreted());
  (void)compiled(x);
  Tensor first = compiled(x), copy = first.clone();
  Tensor second = compiled(x + 1);
  EXPECT_TRUE(same_bits(first, copy));
  EXPECT_NE(first.data_ptr<float>(), second.data_ptr<float>());
}

// What is returned without having been computed here: arguments, captures and views of them.
TEST(Replay, ReturnsWhatItWasGiven) {
  Tensor x = noise({3, 3}, 7), c = noise({2}, 8);
  auto compiled = compile(
      [&c](const Tensor& t) {
        return Tensors{t, c, t.t(), t + 1};
      },
      verified());
  for (int call = 0; call < 3; ++call) {
    Tensors out = compiled(x);
    EXPECT_EQ(out[0].impl(), x.impl());
    EXPECT_EQ(out[1].impl(), c.impl());
    EXPECT_EQ(out[2].data_ptr<float>(), x.data_ptr<float>());
  }
  EXPECT_EQ(compiled.ledger().hits, 2);
}

TEST(Replay, WritesToArgumentsCapturesAndViews) {
  auto make = [] {
    Tensor arg = noise({3, 4}, 9), capture = noise({4, 4}, 10);
    return [arg, capture](int call) mutable {
      Tensor window = capture[1];
      arg.add_(0.5).mul_(window);     // reads a view of what is written below
      window.copy_(arg[0]);           // a view of a capture
      Tensor after = capture * 1.0;   // sees the write
      capture[{All, 2}] = arg.sum();  // through a strided view
      capture.copy_(capture.t() * 1.0);
      arg[call % 3] = 7;
      return Tensors{arg, capture, after, window};
    };
  };
  Ledger ledger = same_as_eager(make, 6);
  EXPECT_GE(ledger.hits, 5);
}

// A read before and a read after a write of the same tensor must not become one.
TEST(Replay, ReadsAroundAWrite) {
  auto make = [] {
    return [x = noise({8}, 11)](int) mutable {
      Tensor before = x + 1;
      x.mul_(2);
      Tensor after = x + 1;
      x.zero_();
      return Tensors{before, after, x + 1, before - after};
    };
  };
  EXPECT_EQ(same_as_eager(make).hits, 3);
}

TEST(Replay, WritesToATemporaryAndItsViews) {
  auto make = [] {
    return [x = noise({4, 5}, 12)](int) {
      Tensor t = x * 1.0;
      Tensor column = t[{All, 1}];
      column.fill_(3);
      t[2].add_(column.sum());
      t.relu_();
      return Tensors{t, column * 2};
    };
  };
  EXPECT_EQ(same_as_eager(make).hits, 3);
}

// The same metadata, but two names of one storage: another alias class, so another path.
// Two rows of one tensor have the same shape and strides; that they are other elements shows only
// when a call binds their offsets. The fused group then runs apart, with room for its temporaries.
TEST(Replay, AWriteToOneRowAndTemporariesOfAnother) {
  auto f = [](const Tensor& t) {
    Tensor first = t[0];
    first.add_(1);
    return (t[1] * 2 + 1).tanh() + first;
  };
  auto compiled = compile(f, verified());
  for (int call = 0; call < 4; ++call) {
    Tensor x = noise({2, 50}, static_cast<std::uint64_t>(call)), y = x.clone();
    EXPECT_TRUE(same_bits(f(x), compiled(y)));
    EXPECT_TRUE(same_bits(x, y));
  }
}

TEST(Replay, AliasClasses) {
  struct World {
    Tensor a = noise({6}, 13), b = noise({6}, 14), big = noise({9}, 15);
    Tensors operator()(int call) {
      Tensor x = a, y = b;
      if (call == 2 || call == 5) y = x;            // the same tensor
      if (call == 3 || call == 6) y = a.view({6});  // another handle on the same bytes
      if (call == 4) x = big.narrow(0, 0, 6), y = big.narrow(0, 3, 6);  // overlapping windows
      x.add_(1);
      Tensor r = x * y;
      y.mul_(0.5);
      return {r, x + y, a, b, big};
    }
  };
  same_as_eager([] { return World(); }, 9);
}

TEST(Replay, UnalignedCaptures) {
  struct World {
    Tensor buffer = noise({64}, 16);
    Tensors operator()(int call) {
      Tensor w = buffer.narrow(0, call, 32);
      return {exp(w) + w, w.sum()};
    }
  };
  EXPECT_EQ(same_as_eager([] { return World(); }, 8).hits, 7);
}

TEST(Replay, StridesArePartOfThePath) {
  struct World {
    Tensor a = noise({4, 4}, 17);
    Tensors operator()(int call) {
      Tensor x = call % 2 == 0 ? a : a.t();
      return {x * 2 + 1, x.sum({1})};
    }
  };
  Ledger ledger = same_as_eager([] { return World(); }, 6);
  EXPECT_EQ(ledger.variants, 2);
  EXPECT_EQ(ledger.hits, 4);
}

TEST(Replay, RandomStateAdvancesAsInEager) {
  auto make = [] {
    return [x = noise({5, 9}, 18)](int) {
      Tensor dead = rand({3, 3});  // nobody reads it; it draws all the same
      return Tensors{dropout(x, 0.3), rand({7}), randn({4, 2}), randint(0, 9, {11}), randn({1})};
    };
  };
  EXPECT_EQ(same_as_eager(make, 5).hits, 4);
}

// Two equal random calls in one function draw different numbers in every mode.
TEST(Replay, RandomOpsAreNotMerged) {
  auto compiled = compile([] { return Tensors{rand({16}), rand({16})}; }, verified());
  for (int call = 0; call < 3; ++call) {
    Tensors out = compiled();
    EXPECT_FALSE(equal(out[0], out[1]));
  }
}

TEST(Replay, NestedCompiledFunctionsInline) {
  auto inner = compile([](const Tensor& t) { return tanh(t) * 0.5; }, interpreted());
  auto outer = compile([&](const Tensor& t) { return inner(t + 1) - inner(t); }, verified());
  Tensor x = noise({3, 3}, 19);
  Tensor expected = tanh(x + 1) * 0.5 - tanh(x) * 0.5;
  for (int call = 0; call < 3; ++call) EXPECT_TRUE(same_bits(expected, outer(x)));
  EXPECT_EQ(outer.ledger().hits, 2);
  EXPECT_EQ(inner.ledger().calls, 0);  // the callee's own entry is untouched
  EXPECT_TRUE(same_bits(inner(x), tanh(x) * 0.5));
  EXPECT_EQ(inner.ledger().calls, 1);
}

TEST(Replay, RecursiveCompiledFunctions) {
  std::function<Tensor(const Tensor&, int)> call;
  auto f =
      compile([&call](const Tensor& t,
                      int depth) { return depth == 0 ? t * 1.0 : call(t * 0.5 + 1, depth - 1); },
              verified());
  call = [&f](const Tensor& t, int depth) { return f(t, depth); };
  Tensor x = noise({4}, 20);
  for (int round = 0; round < 3; ++round) {
    for (int depth : {0, 3, 1}) {
      Tensor expected = x;
      for (int i = 0; i < depth; ++i) expected = expected * 0.5 + 1;
      EXPECT_TRUE(same_bits(expected * 1.0, f(x, depth))) << depth;
    }
  }
  EXPECT_EQ(f.ledger().hits, 6);
}

TEST(Replay, StagingBufferIsCopiedWhenItIsHandedOver) {
  struct World {
    std::vector<float> staging = std::vector<float>(4);
    Tensors operator()(int call) {
      Tensor sum = zeros({4});
      for (int i = 0; i < 3; ++i) {
        for (float& v : staging) v = static_cast<float>(10 * call + i);
        sum = sum * 2 + from_vector(staging, {4});
      }
      return {sum};
    }
  };
  EXPECT_EQ(same_as_eager([] { return World(); }).hits, 3);
}

// Memory of the caller's, refilled and gone before the function returns.
TEST(Replay, BorrowedMemoryIsReadWhenTheOpIsCalled) {
  struct World {
    Tensor w = noise({4}, 21);
    Tensors operator()(int call) {
      Tensor sum = w * 1.0;
      float staging[4];
      for (int i = 0; i < 3; ++i) {
        for (float& v : staging) v = static_cast<float>(10 * call + i);
        sum = sum * 2 + from_blob(staging, {4});
      }
      for (float& v : staging) v = -1e9f;
      return {sum};
    }
  };
  EXPECT_EQ(same_as_eager([] { return World(); }).hits, 3);
}

TEST(Replay, PrintTellsTheValue) {
  std::string last;
  auto f = compile(
      [&](const Tensor& t) {
        Tensor y = t + 1;
        last = to_string(y);
        return y * 2;
      },
      verified());
  for (int call = 0; call < 3; ++call) {
    (void)f(full({2}, static_cast<double>(call)));
    EXPECT_EQ(last, to_string(full({2}, call + 1.0)));
  }
  EXPECT_EQ(f.ledger().hits, 2);
}

TEST(Replay, EmptyTensorsAndFunctions) {
  auto nothing = compile([](const Tensor& t) { return t; }, verified());
  auto empty_rows = compile([](const Tensor& t) { return (t * 2 + 1).sum({1}); }, verified());
  Tensor x = noise({2}, 22), none = zeros({0, 3});
  for (int call = 0; call < 3; ++call) {
    EXPECT_EQ(nothing(x).impl(), x.impl());
    EXPECT_EQ(empty_rows(none).numel(), 0);
  }
  EXPECT_EQ(empty_rows.ledger().hits, 2);
}

// The sentence of a miss names the field that differs.
TEST(Replay, AMissSaysWhatDiffered) {
  Tensor w = noise({4}, 23);
  auto f = compile([&](const Tensor& t) { return t * w; }, interpreted());
  Tensor x = noise({4}, 24);
  (void)f(x), (void)f(x);
  w = noise({1}, 25);
  (void)f(x);
  Ledger ledger = f.ledger();
  ASSERT_EQ(ledger.misses.size(), 1u);
  EXPECT_TRUE(contains(ledger.misses[0].what, "[1]")) << ledger.misses[0].what;
  EXPECT_TRUE(contains(ledger.misses[0].what, "[4]")) << ledger.misses[0].what;
}

// A whole number becomes a float at once, not by way of a double.
TEST(Replay, WholeNumbersAreRoundedOnce) {
  const i64 number = (i64{1} << 54) + (i64{1} << 30) + 1;
  const auto body = [number](const Tensor& t) { return (t * 0 + number) * 1; };
  const auto f = compile(body, interpreted());
  for (int call = 0; call < 3; ++call) EXPECT_TRUE(same_bits(f(ones({3})), body(ones({3}))));
  EXPECT_EQ(f.ledger().hits, 2);
}

}  // namespace
}  // namespace ingot
