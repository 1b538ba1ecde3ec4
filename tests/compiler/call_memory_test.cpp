// Memory and time of a compiled call against eager's: recording, breaks, misses, limits; and the
// cost of breaks and captures, which does not grow with their number.
#include <algorithm>
#include <chrono>
#include <functional>

#include <ingot/compiler/compile.h>
#include <ingot/runtime/allocator.h>

#include "support/eager_and_compiled.h"

namespace ingot {
namespace {

using namespace testing_support;

template <class F>
i64 peak_of(F f) {
  empty_cache();
  reset_peak_memory();
  const i64 before = memory_stats().allocated;
  f();
  return memory_stats().peak_allocated - before;
}

template <class F>
double best_seconds(F f, int rounds = 5) {
  double best = 1e9;
  for (int i = 0; i < rounds; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    f();
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

Tensor long_chain(const Tensor& x) {
  Tensor y = x;
  for (int i = 0; i < 60; ++i) y = y * 1.001 + 0.001;
  return y;
}

// Reads a value every few ops: each is a break, and the temporaries live across them.
Tensor chain_with_breaks(const Tensor& x) {
  Tensor y = x;
  for (int i = 0; i < 60; ++i) {
    Tensor t = y * 1.001;
    const double s = i % 5 == 0 ? t.reshape({-1})[0].item<double>() * 1e-9 : 0.0;
    y = t + s;
  }
  return y;
}

TEST(CallMemory, OfEveryCallIsNearEagers) {
  const std::pair<const char*, Tensor (*)(const Tensor&)> functions[] = {
      {"chain", long_chain}, {"breaks", chain_with_breaks}};
  for (const auto& [name, function] : functions) {
    SCOPED_TRACE(name);
    Tensor x = noise({256, 256}, 1);
    const i64 eager = peak_of([&, f = function] { (void)f(x); });
    auto f = compile(function, interpreted());
    auto missing = compile(
        [f = function](const Tensor& t, int path) {
          Tensor y = f(t);
          return path == 0 ? y * 2 : path == 1 ? y + 2 : y - 2;
        },
        {.disable = {"codegen"}, .max_variants = 2});
    for (int call = 0; call < 4; ++call) {
      const i64 arena = f.memory().arena;
      EXPECT_LE(static_cast<double>(peak_of([&] { (void)f(x); })),
                1.1 * static_cast<double>(eager) + static_cast<double>(arena))
          << "call " << call;
    }
    EXPECT_EQ(f.ledger().hits, 3);
    // A path that is left at its end, recorded or eager from there.
    for (int path = 0; path < 4; ++path) {
      const i64 peak = peak_of([&] { (void)missing(x, path); });
      EXPECT_LE(static_cast<double>(peak),
                1.1 * static_cast<double>(eager) + static_cast<double>(missing.memory().arena))
          << "path " << path;
    }
  }
}

struct Limit {
  explicit Limit(i64 bytes) { set_memory_limit(bytes); }
  ~Limit() { set_memory_limit(0); }
};

// Where eager execution fits, each compiled call does.
TEST(CallMemory, WhereEagerFitsACompiledCallDoes) {
  Tensor x = noise({256, 256}, 2);  // 256 KiB
  empty_cache();
  const auto many = [](const Tensor& t) {  // eager holds three at a time, an arena would hold more
    Tensor sum = t * 0;
    for (int i = 0; i < 40; ++i) sum = sum + matmul(t * (0.5 + i), t.t());
    return sum;
  };
  const Tensor expected = many(x);
  const i64 live = memory_stats().allocated;
  for (auto function : {std::function(many), std::function(long_chain)}) {
    const Tensor right = function(x);
    auto f = compile([&](const Tensor& t) { return function(t); }, interpreted());
    empty_cache();
    const Limit limit(live + (5 << 18));
    (void)function(x);
    for (int call = 0; call < 5; ++call) EXPECT_TRUE(same_bits(f(x), right)) << call;
    EXPECT_EQ(f.ledger().hits, 4);
  }
}

// What dies inside the function goes at once, whatever the call becomes: arguments by value,
// captures that are replaced, results behind a break.
TEST(CallMemory, NothingOutlivesItsHandles) {
  Tensor state = noise({256, 256}, 3);
  auto body = [&](const Tensor& x) {
    for (int i = 0; i < 12; ++i) {
      state = tanh(state + x);
      if (i % 3 == 2) (void)state.reshape({-1})[0].item<float>();
    }
    return state.sum();
  };
  Tensor x = noise({256, 256}, 4);
  const i64 eager = peak_of([&] { (void)body(x); });
  auto f = compile(body, interpreted());
  for (int call = 0; call < 3; ++call) {
    EXPECT_LE(static_cast<double>(peak_of([&] { (void)f(x); })),
              1.1 * static_cast<double>(eager) + static_cast<double>(f.memory().arena))
        << call;
  }
  EXPECT_EQ(f.ledger().hits, 2);
}

// The time of a replay over that of eager execution, at n and at 16 n.
template <class Body>
void expect_linear(Body body, int n) {
  const auto ratio = [&](int count) {
    auto f = compile([&](int) { return body(count); }, interpreted());
    for (int i = 0; i < 3; ++i) (void)f(0);
    EXPECT_EQ(f.ledger().hits, 2);
    const double eager = best_seconds([&] { (void)body(count); });
    return best_seconds([&] { (void)f(0); }) / eager;
  };
  const double few = ratio(n), many = ratio(16 * n);
  EXPECT_LT(many, 3 * few + 1) << few << " at " << n << ", " << many << " at " << 16 * n;
}

TEST(CallTime, OfReadingOtherTensorsIsLinear) {
  Tensor t = noise({4000}, 5);
  expect_linear(
      [&](int n) {
        Tensor y = zeros({2});
        for (int i = 0; i < n; ++i) y = y + t[i].item<float>();
        return y;
      },
      250);
}

TEST(CallTime, OfBreaksIsLinear) {
  expect_linear(
      [&](int n) {
        Tensor y = zeros({2});
        for (int i = 0; i < n; ++i) y = y + y[0].item<float>() * 1e-3f;
        return y;
      },
      100);
}

TEST(CallTime, OfCapturesIsLinear) {
  std::vector<Tensor> w;
  for (int i = 0; i < 8000; ++i) w.push_back(noise({2}, static_cast<std::uint64_t>(i)));
  expect_linear(
      [&](int n) {
        Tensor y = zeros({2});
        for (int i = 0; i < n; ++i) y = y + w[static_cast<std::size_t>(i)];
        return y;
      },
      500);
}

}  // namespace
}  // namespace ingot
