// What a compiled function keeps between calls: as much after ten thousand calls as after a
// thousand, whatever kind of call it is; and what reset() gives back, and when.
#include <atomic>
#include <fstream>
#include <functional>
#include <malloc.h>
#include <stdexcept>
#include <thread>
#include <unistd.h>

#include <ingot/compiler/compile.h>
#include <ingot/runtime/allocator.h>

#include "support/eager_and_compiled.h"

namespace ingot {
namespace {

using namespace testing_support;

// Sanitizers' allocators hold on to what was freed and report nothing here.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kHeapIsSeen = false;
#else
constexpr bool kHeapIsSeen = true;
#endif

i64 heap_bytes() { return static_cast<i64>(mallinfo2().uordblks + mallinfo2().hblkhd); }

i64 resident_bytes() {
  i64 size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

// call(i) for i = 0 ... 9999. After the first thousand neither the heap nor the process grows by
// more than a few bytes a call, and the last thousand take no longer than the second.
void expect_flat(const std::function<void(int)>& call) {
  constexpr int kCalls = 10000, kPart = 1000;
  const auto part = [&](int from) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = from; i < from + kPart; ++i) call(i);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    return took.count();
  };
  part(0);
  const i64 heap = heap_bytes(), resident = resident_bytes();
  double second = part(kPart), last = 0;
  for (int from = 2 * kPart; from < kCalls; from += kPart) last = part(from);
  if (kHeapIsSeen) {
    EXPECT_LT(heap_bytes() - heap, 64 << 10);
    EXPECT_LT(resident_bytes() - resident, 4 << 20);
  }
  EXPECT_LT(last, 5 * second + 0.05) << "seconds for a thousand calls";
}

// Ten thousand sizes, none larger than 100 x 100; the memory that the tensors themselves take is
// in use before.
Tensor of_shape(int i) { return ones({i % 100 + 1, i / 100 + 1}); }

struct Keeps : ::testing::Test {
  void SetUp() override {
    for (int i = 0; i < 10000; i += 7) {
      const Tensor x = of_shape(i);
      (void)((x * 2 + 1) * x);
    }
  }
  void TearDown() override { set_stance(Stance::standard); }
};

Tensor three_ops(const Tensor& x) { return (x * 2 + 1).exp(); }

TEST_F(Keeps, NothingOfCallsThatThrow) {
  auto f = compile(
      [](const Tensor& x) -> Tensor {
        (void)(x * 2);
        throw std::runtime_error("no");
      },
      interpreted());
  expect_flat([&](int i) { EXPECT_EQ(error_of([&] { (void)f(of_shape(i)); }), "no"); });
  EXPECT_EQ(f.ledger().calls, 10000);
  EXPECT_EQ(f.ledger().variants, 0);
}

// Not when paths are known, either.
TEST_F(Keeps, NothingOfCallsThatThrowBesideOthers) {
  auto f = compile(
      [](const Tensor& x) {
        Tensor y = x * 2;
        if (x.size(0) != 1) throw std::runtime_error("no");
        return y;
      },
      interpreted());
  (void)f(ones({1}));
  expect_flat([&](int i) { error_of([&] { (void)f(of_shape(i)); }); });
  const i64 hits = f.ledger().hits;
  (void)f(ones({1}));
  EXPECT_EQ(f.ledger().hits, hits + 1);
}

TEST_F(Keeps, NothingOverResets) {
  auto f = compile(
      [](const Tensor& x) {
        Tensor y = x;
        for (int i = 0; i < 5; ++i) y = y * 2 + 1;
        return y;
      },
      interpreted());
  Tensor x = ones({8});
  expect_flat([&](int) {
    (void)f(x);
    f.reset();
  });
}

TEST_F(Keeps, NothingOfNewSignaturesPastTheLimit) {
  auto f = compile(three_ops, {.disable = {"codegen"}, .max_variants = 3});
  expect_flat([&](int i) { (void)f(of_shape(i)); });
  EXPECT_EQ(f.ledger().unrecorded, 9997);
}

TEST_F(Keeps, NothingOfNewPathsPastTheLimit) {
  int length = 0;
  auto f = compile(
      [&](const Tensor& x) {
        Tensor y = x * 2;
        for (int i = 0; i < length % 7; ++i) y = y + 1;
        return y * Scalar(i64{length});
      },
      {.disable = {"codegen"}, .max_variants = 3});
  Tensor x = ones({4});
  expect_flat([&](int i) {
    length = i;
    (void)f(x);
  });
}

TEST_F(Keeps, NothingOfACacheThatGrows) {
  Tensor cache, x = ones({1, 4});
  auto f = compile(
      [&](const Tensor& t) {
        cache = cat({cache, t}, 0);
        return cache.sum();
      },
      {.disable = {"codegen"}, .max_variants = 3});
  expect_flat([&](int i) {
    if (i % 500 == 0) cache = ones({1, 4});
    (void)f(x);
  });
}

TEST_F(Keeps, NothingOfFunctionsThatAreGone) {
  const std::size_t before = ledgers().size();
  Tensor x = ones({4});
  expect_flat([&](int) {
    auto f = compile(three_ops, interpreted());
    (void)f(x);
  });
  EXPECT_EQ(ledgers().size(), before);
}

TEST_F(Keeps, NothingOfCallsUnderAnotherStance) {
  for (const Stance stance : {Stance::force_eager, Stance::eager_on_miss, Stance::fail_on_miss}) {
    SCOPED_TRACE(static_cast<int>(stance));
    set_stance(Stance::standard);
    auto f = compile(three_ops, interpreted());
    (void)f(ones({1000}));
    set_stance(stance);
    expect_flat([&](int i) { error_of([&] { (void)f(of_shape(i)); }); });
    EXPECT_EQ(f.ledger().variants, 1);
  }
}

TEST_F(Keeps, NothingOfThreadsThatAreGone) {
  auto f = compile(three_ops, interpreted());
  Tensor x = ones({4});
  const auto call = [&](int) { std::thread([&] { (void)f(x); }).join(); };
  for (int i = 0; i < 100; ++i) call(i);
  const i64 heap = heap_bytes();
  for (int i = 0; i < 1000; ++i) call(i);
  if (kHeapIsSeen) {
    EXPECT_LT(heap_bytes() - heap, 64 << 10);
  }
}

// A call that another thread's reset() overtakes ends on what it knew; its figures and its path are
// those of before.
TEST(Resets, ACallInProgressEndsAsItBegan) {
  std::atomic<int> at{0};
  auto f = compile(
      [&](const Tensor& x) {
        Tensor y = x * 2;
        if (at == 1) {
          at = 2;
          while (at == 2) std::this_thread::yield();
        }
        return y + 1;
      },
      verified());
  Tensor x = noise({6}, 1), expected = x * 2 + 1;
  for (const bool records : {true, false}) {
    SCOPED_TRACE(records);
    f.reset();
    if (!records) (void)f(x);
    at = 1;
    Tensor y;
    std::thread caller([&] { y = f(x); });
    while (at != 2) std::this_thread::yield();
    f.reset();
    at = 3;
    caller.join();
    EXPECT_TRUE(same_bits(y, expected));
    EXPECT_EQ(f.ledger().calls, 0);
    EXPECT_EQ(f.ledger().hits, 0);
    EXPECT_EQ(f.ledger().variants, 0);
    EXPECT_TRUE(same_bits(f(x), expected));
    EXPECT_TRUE(same_bits(f(x), expected));
    EXPECT_EQ(f.ledger().hits, 1);
  }
}

// The memory of a replaced path goes with the last call that reads it.
TEST(Resets, WhatACallReadsIsFreedWhenItEnds) {
  if (!kHeapIsSeen) GTEST_SKIP();
  std::atomic<int> at{0};
  auto f = compile(
      [&](const Tensor& x) {
        Tensor y = x;
        for (int i = 0; i < 300; ++i) y = y * 2 + 1;
        if (at == 1) {
          at = 2;
          while (at == 2) std::this_thread::yield();
        }
        return y;
      },
      interpreted());
  Tensor x = ones({4});
  (void)f(x);
  at = 1;
  std::thread caller([&] { (void)f(x); });
  while (at != 2) std::this_thread::yield();
  f.reset();
  const i64 during = heap_bytes();
  at = 3;
  caller.join();
  EXPECT_GT(during - heap_bytes(), 100 << 10);
}

// A function may reset itself, and others may while it is called.
TEST(Resets, InsideTheFunctionAndAmongCallers) {
  std::atomic<bool> stop{false};
  std::function<void()> reset = [] {};
  auto f = compile(
      [&](const Tensor& x) {
        Tensor y = x * 2;
        reset();
        return y + 1;
      },
      interpreted());
  Tensor x = noise({6}, 1), expected = x * 2 + 1;
  reset = [&] { f.reset(); };
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(same_bits(f(x), expected));
  reset = [] {};
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&, t] {
      const Tensor mine = noise({6 + t % 2}, 2), right = mine * 2 + 1;
      while (!stop) wrong += same_bits(f(mine), right) ? 0 : 1;
    });
  }
  for (int i = 0; i < 500; ++i) {
    f.reset();
    (void)f.ledger();
    (void)f.graph();
    std::this_thread::yield();
  }
  stop = true;
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(wrong, 0);
}

// Threads that record the same path at once make one variant of it, and none exceeds the limit.
TEST(Resets, ThreadsThatRecordAtOnceMakeOneVariant) {
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> waiting{0};
    auto f = compile(
        [&](const Tensor& x) {
          ++waiting;
          while (waiting < 4) std::this_thread::yield();
          return x * 2 + 1;
        },
        {.disable = {"codegen"}, .max_variants = 2});
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) threads.emplace_back([&] { (void)f(ones({3})); });
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(f.ledger().variants, 1);
    (void)f(ones({3}));
    EXPECT_EQ(f.ledger().hits, 1);
  }
}

}  // namespace
}  // namespace ingot
