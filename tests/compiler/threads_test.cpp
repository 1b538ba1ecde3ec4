// Compiled functions and threads: many callers of one function, and tensors that are pending on
// another thread.
#include <atomic>
#include <mutex>
#include <thread>

#include <ingot/compiler/compile.h>
#include <ingot/runtime/allocator.h>
#include <ingot/runtime/grad_mode.h>

#include "support/eager_and_compiled.h"

namespace ingot {
namespace {

using namespace testing_support;

TEST(Threads, ManyCallersOfOneFunction) {
  Tensor w = noise({6, 6}, 1);
  auto body = [&w](const Tensor& x, int n) {
    Tensor y = x;
    for (int i = 0; i < n; ++i) y = tanh(matmul(y, w)) * 0.5 + 1;
    return y.sum({0});
  };
  auto f = compile(body, interpreted());
  constexpr int kThreads = 8, kRounds = 30;
  std::vector<Tensor> inputs, expected;
  for (int i = 0; i < 6; ++i) {
    inputs.push_back(noise({3 + i % 2, 6}, 10 + static_cast<std::uint64_t>(i)));
    expected.push_back(body(inputs.back(), 1 + i % 3));
  }
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < kRounds; ++round) {
        auto i = static_cast<std::size_t>((t + round) % 6);
        Tensor y = f(inputs[i], 1 + static_cast<int>(i) % 3);
        if (y.to_vector<float>() != expected[i].to_vector<float>()) ++wrong;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong.load(), 0);
  Ledger ledger = f.ledger();
  EXPECT_EQ(ledger.calls, kThreads * kRounds);
  EXPECT_GT(ledger.hits, kThreads * kRounds / 2);
}

TEST(Threads, TrainingStepsSideBySide) {
  auto f = compile(
      [](Tensor& w, const Tensor& x) {
        w.mutable_grad() = Tensor();
        square(matmul(x, w)).sum().backward();
        NoGradGuard guard;
        w.sub_(w.grad() * 0.01);
      },
      interpreted());
  auto train = [](auto& step, std::uint64_t seed) {
    Tensor w = noise({4, 3}, seed).requires_grad_(), x = noise({5, 4}, seed + 100);
    for (int i = 0; i < 10; ++i) step(w, x);
    return w.detach();
  };
  std::vector<Tensor> results(8);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < results.size(); ++t) {
    threads.emplace_back([&, t] { results[t] = train(f, t); });
  }
  for (std::thread& t : threads) t.join();
  auto& eager = f.function();
  for (std::size_t t = 0; t < results.size(); ++t) {
    EXPECT_TRUE(same_bits(results[t], train(eager, t))) << t;
  }
}

TEST(Threads, APendingTensorOnAnotherThreadIsAClearError) {
  std::string op_error, read_error;
  auto f = compile(
      [&](const Tensor& t) {
        Tensor y = exp(t);
        std::thread([&] {
          op_error = error_of([&] { (void)(y + 1); });
          read_error = error_of([&] { (void)y.to_vector<float>(); });
        }).join();
        return y;
      },
      interpreted());
  Tensor x = noise({3}, 2);
  (void)f(x);
  EXPECT_EQ(op_error, "");  // recorded: the bytes are there
  Tensor y = f(x);
  for (const std::string& error : {op_error, read_error}) {
    EXPECT_TRUE(contains(error, "pending in a compiled call of another thread"));
    EXPECT_TRUE(contains(error, "threads_test.cpp:"));
  }
  EXPECT_TRUE(same_bits(y, exp(x)));
}

// The last handle of a result may go on any thread, while the call runs or after it.
TEST(Threads, HandlesDieOnAnotherThread) {
  std::mutex mutex;
  std::vector<Tensor> handed;
  std::atomic<bool> stop{false};
  std::thread reaper([&] {
    while (!stop.load()) {
      std::vector<Tensor> mine;
      {
        std::lock_guard lock(mutex);
        mine.swap(handed);
      }
      std::this_thread::yield();
    }
  });
  auto body = [&](const Tensor& x, bool hand_over) {
    Tensor y = x;
    for (int i = 0; i < 8; ++i) {
      Tensor t = tanh(y) + 1;
      y = t * 0.5;
      if (!hand_over) continue;
      std::lock_guard lock(mutex);
      handed.push_back(std::move(t));
    }
    return y;
  };
  Tensor x = noise({5, 7}, 3), expected = body(x, false);
  const i64 before = memory_stats(kCPU).allocated;
  {
    auto f = compile(body, interpreted());
    for (int call = 0; call < 500; ++call) EXPECT_TRUE(same_bits(f(x, true), expected)) << call;
    EXPECT_GT(f.ledger().hits, 0);
  }
  stop = true;
  reaper.join();
  handed.clear();
  EXPECT_EQ(memory_stats(kCPU).allocated, before);
}

// Ops of another thread are its own: they neither match nor disturb the call in progress.
TEST(Threads, AThreadInsideTheFunctionRunsEagerly) {
  auto f = compile(
      [](const Tensor& t) {
        Tensor y = t * 2, side;
        std::thread([&] { side = t * 3; }).join();
        return y + side;
      },
      interpreted());
  for (int call = 0; call < 3; ++call) EXPECT_TRUE(has_values(f(ones({2})), {5, 5}));
  EXPECT_EQ(f.ledger().hits, 2);
}

}  // namespace
}  // namespace ingot
