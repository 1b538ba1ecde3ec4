// Errors that the function catches: a path like any other, recorded once and then replayed.
#include <atomic>
#include <functional>
#include <thread>

#include <ingot/compiler/compile.h>

#include "support/eager_and_compiled.h"

namespace ingot {
namespace {

using namespace testing_support;
using Tensors = std::vector<Tensor>;

TEST(CaughtErrors, OfAShapeAreReplayed) {
  Tensor bad = ones({7, 7});
  std::vector<std::string> texts;
  auto f = compile(
      [&](const Tensor& x) {
        Tensor y = x * 2;
        texts.push_back(error_of([&] { (void)matmul(y, bad); }));
        return y + 1;
      },
      verified());
  Tensor x = noise({3, 4}, 1);
  for (int call = 0; call < 40; ++call) EXPECT_TRUE(same_bits(f(x), x * 2 + 1));
  EXPECT_EQ(f.ledger().hits, 39);
  EXPECT_EQ(f.ledger().variants, 1);
  if (default_device().is_cpu()) {  // where what is not compiled is interpreted as one
    EXPECT_EQ(f.ledger().launches_compiled, 1);
  }
  for (const std::string& text : texts) EXPECT_EQ(text, texts[0]);
  EXPECT_TRUE(contains(texts[0], "matmul"));
  // A shape for which nothing is thrown has paths of its own.
  bad = ones({4, 4});
  for (int call = 0; call < 10; ++call) (void)f(noise({3, 4}, 2));
  EXPECT_EQ(f.ledger().hits, 39 + 9);
}

// Of each kind that an op is refused for: operands, dtypes, devices, numbers, what is undefined.
TEST(CaughtErrors, OfEveryCheckAreReplayed) {
  const std::pair<const char*, std::function<void(const Tensor&)>> kinds[] = {
      {"broadcast", [](const Tensor& y) { (void)(y + ones({5})); }},
      {"in place", [](const Tensor& y) { y.detach().add_(ones({5})); }},
      {"dtype", [](const Tensor& y) { (void)softmax(y.to(kInt64), 0); }},
      {"undefined", [](const Tensor& y) { (void)(y + Tensor()); }},
      {"axis", [](const Tensor& y) { (void)y.sum({9}); }},
      {"index", [](const Tensor& y) { (void)y.select(0, 9); }},
      {"view", [](const Tensor& y) { (void)y.t().view({-1}); }},
      {"two results", [](const Tensor& y) { (void)y.topk(9, 0); }},
  };
  for (const auto& [name, fails] : kinds) {
    SCOPED_TRACE(name);
    auto make = [&fails = fails] {
      return [&fails, x = noise({3, 4}, 3)](int call) {
        Tensor y = x * (call + 1);
        const std::string first = error_of([&] { fails(y); });
        Tensor z = exp(y) + 1;
        const std::string second = error_of([&] { fails(z); });
        EXPECT_FALSE(first.empty());
        EXPECT_FALSE(second.empty());
        return Tensors{z, from_vector(std::vector<double>{static_cast<double>(first.size())}, {1})};
      };
    };
    const Ledger ledger = same_as_eager(make, 6);
    EXPECT_EQ(ledger.hits, 5);
    EXPECT_EQ(ledger.variants, 1);
  }
}

// The number decides: what is refused in one call is not in the next.
TEST(CaughtErrors, ComeAndGoWithANumber) {
  auto make = [] {
    return [x = noise({3, 4}, 4)](int call) {
      Tensor y = x * 2;
      Tensor z = y;
      const std::string text = error_of([&] { z = y.select(0, call % 4) * 3; });
      EXPECT_EQ(text.empty(), call % 4 != 3);
      return Tensors{z + 1};
    };
  };
  const Ledger ledger = same_as_eager(make, 12);
  EXPECT_GE(ledger.hits, 9);
}

// A kernel that refuses its bytes: the op runs by itself from then on, whether it throws or not.
TEST(CaughtErrors, OfDataAreReplayed) {
  auto make = [] {
    return [x = noise({3, 4}, 5), index = zeros({2}, dtype(kInt64))](int call) mutable {
      index.fill_(call % 3 == 2 ? 1 : 8);
      Tensor y = x * 2;
      Tensor z = y;
      const std::string text = error_of([&] { z = index_select(y, 0, index); });
      EXPECT_EQ(text.empty(), call % 3 == 2);
      return Tensors{exp(z) + 1, y};
    };
  };
  const Ledger ledger = same_as_eager(make, 9);
  EXPECT_EQ(ledger.variants, 2);
  EXPECT_EQ(ledger.hits, 7);
}

TEST(CaughtErrors, LeaveTensorsAsTheyWere) {
  auto make = [] {
    return [x = noise({3, 4}, 6)](int) {
      Tensor y = x.clone();
      Tensor index = full({2}, 9, dtype(kInt64));
      EXPECT_FALSE(error_of([&] { y.index_put_({index}, 5); }).empty());
      y.add_(1);
      return Tensors{y};
    };
  };
  EXPECT_EQ(same_as_eager(make, 5).hits, 4);
}

// Threads that record one path at once make one variant of it.
TEST(CaughtErrors, PathsRecordedAtOnceAreOne) {
  auto f = compile([](const Tensor& x) { return exp(x * 2) + 1; }, interpreted());
  std::vector<std::thread> threads;
  std::atomic<int> ready{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      Tensor x = noise({16}, 7);
      ++ready;
      while (ready < 4) std::this_thread::yield();
      for (int call = 0; call < 3; ++call) (void)f(x);
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(f.ledger().variants, 1);
}

}  // namespace
}  // namespace ingot
