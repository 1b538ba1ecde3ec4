// Addresses taken inside a compiled function: between any two ops the function may read or write
// through them, and sees and leaves what it would in eager execution.
#include <cstring>
#include <functional>
#include <stdexcept>
#include <thread>

#include <ingot/compiler/compile.h>
#include <ingot/runtime/autograd.h>
#include <ingot/runtime/grad_mode.h>

#include "support/eager_and_compiled.h"

namespace ingot {
namespace {

using namespace testing_support;
using Tensors = std::vector<Tensor>;

Tensor value(double v) { return tensor({v}, kFloat64); }

// Every way to take an address; each gives reader and writer of element 0.
struct Handle {
  const char* name;
  std::function<float*(const Tensor&)> take;
};
const Handle kHandles[] = {
    {"data_ptr", [](const Tensor& t) { return t.data_ptr<float>(); }},
    {"untyped data_ptr", [](const Tensor& t) { return static_cast<float*>(t.data_ptr()); }},
    {"accessor", [](const Tensor& t) { return &t.accessor<float, 1>()[0]; }},
};

TEST(Exposure, APointerSeesWhatLaterOpsWrite) {
  for (const Handle& handle : kHandles) {
    SCOPED_TRACE(handle.name);
    auto make = [&handle] {
      return [&handle, x = noise({5}, 1)](int call) mutable {
        x.fill_(call);
        const float* p = handle.take(x);
        x.add_(1);
        const double first = double{*p};
        x.mul_(3);
        Tensor y = exp(x) * 2;
        return Tensors{value(first), value(double{*p}), y, x.clone()};
      };
    };
    const Ledger ledger = same_as_eager(make, 5);
    EXPECT_EQ(ledger.hits, 4);
  }
}

TEST(Exposure, OpsSeeWhatIsWrittenThroughAPointer) {
  for (const Handle& handle : kHandles) {
    SCOPED_TRACE(handle.name);
    auto make = [&handle] {
      return [&handle, b = ones({4})](int call) {
        float* p = handle.take(b);
        p[0] = static_cast<float>(call);
        Tensor y = b * 2;
        p[0] = 100;
        Tensor sum = y.sum();
        p[1] = static_cast<float>(call + 7);
        return Tensors{y, sum, b + y};
      };
    };
    EXPECT_EQ(same_as_eager(make, 5).hits, 4);
  }
}

// A pointer that only reads delays nothing but writers.
TEST(Exposure, APointerToConstDelaysWritersOnly) {
  int reads = 0;
  auto make = [&reads] {
    return [&reads, x = noise({6}, 2)](int call) mutable {
      x.fill_(call);
      const float* p = x.const_data_ptr<float>();
      const auto a = x.accessor<const float, 1>();
      Tensor y = exp(x * 2) + 1;
      const double before = double{*p};
      x.sub_(0.5);
      ++reads;
      return Tensors{y, value(before), value(double{*p} + double{a[1]}), x * 1};
    };
  };
  EXPECT_EQ(same_as_eager(make).hits, 3);
  auto f = compile(
      [](const Tensor& x) {
        const float* p = x.const_data_ptr<float>();
        return (x * 2 + 1).exp() * double{*p};
      },
      interpreted());
  Tensor x = noise({8}, 3);
  for (int call = 0; call < 3; ++call) {
    EXPECT_TRUE(same_bits(f(x), (x * 2 + 1).exp() * double{x[0].item<float>()}));
  }
  EXPECT_EQ(f.ledger().hits, 2);
  EXPECT_EQ(f.ledger().launches_compiled, 1);
}

// Views, results and saved tensors of exposed memory are exposed with it.
TEST(Exposure, HoldsForEverythingInThatMemory) {
  auto make = [] {
    return [x = noise({4, 4}, 4)](int call) {
      Tensor row = x[1];
      float* p = x.data_ptr<float>();
      Tensor other = x.t();
      p[4] = static_cast<float>(call);
      Tensor a = row * 2;
      p[4] = -1;
      row.add_(1);
      const double seen = double{p[4]};
      Tensor y = other + 1;
      p[4] = 50;
      Tensor z = y * 2;
      float* q = y.data_ptr<float>();
      q[0] = static_cast<float>(call) + 0.25f;
      Tensor w = y.slice(0, 0, 2) - z.slice(0, 0, 2);
      q[0] = 9;
      return Tensors{a, value(seen), z, w, y, x.clone()};
    };
  };
  EXPECT_EQ(same_as_eager(make).hits, 3);
}

TEST(Exposure, GradientsOfExposedMemory) {
  auto make = [] {
    return [w = noise({3}, 5).requires_grad_(), x = noise({3}, 6)](int call) mutable {
      float* p = x.data_ptr<float>();
      p[0] = static_cast<float>(call);
      Tensor loss = (tanh(x * w) * x).sum();
      loss.backward();
      Tensor grad = w.grad().clone();
      float* g = w.mutable_grad().data_ptr<float>();
      g[1] = 0;
      Tensor clipped = w.grad() * 2;
      g[1] = 77;
      {
        NoGradGuard guard;
        w.sub_(w.grad());
      }
      w.mutable_grad() = Tensor();
      return Tensors{loss, grad, clipped, w.detach().clone()};
    };
  };
  EXPECT_EQ(same_as_eager(make, 5).hits, 4);
}

// A buffer of the program's own, refilled while the function runs.
TEST(Exposure, AStagingBufferIsRefilledBetweenOps) {
  auto make = [] {
    return [stage = zeros({3}), sum = zeros({3})](int call) mutable {
      float* p = stage.data_ptr<float>();
      Tensor total = zeros({3});
      for (int step = 0; step < 3; ++step) {
        for (int i = 0; i < 3; ++i) p[i] = static_cast<float>(call * 10 + step + i);
        total = total + stage * 2;
      }
      sum.add_(total);
      return Tensors{total, sum.clone()};
    };
  };
  EXPECT_EQ(same_as_eager(make).hits, 3);
}

// A call that takes an address and one that does not are told apart.
TEST(Exposure, CallsWithAndWithoutAPointerAlternate) {
  auto make = [] {
    return [x = ones({3})](int call) {
      float* p = call % 2 == 0 ? x.data_ptr<float>() : nullptr;
      Tensor y = x * 3;
      if (p != nullptr) p[0] = static_cast<float>(call);
      return Tensors{y + x};
    };
  };
  const Ledger ledger = same_as_eager(make, 8);
  EXPECT_EQ(ledger.hits, 6);
  EXPECT_EQ(ledger.variants, 2);
}

// What is exposed in one call is not in the next, nor what it shared its address with.
TEST(Exposure, EndsWithTheCall) {
  bool take = true;
  auto f = compile(
      [&](const Tensor& x) {
        if (take) (void)x.data_ptr<float>();
        return exp(x * 2 + 1);
      },
      interpreted());
  Tensor x = noise({4}, 8);
  (void)f(x);
  take = false;
  for (int call = 0; call < 3; ++call) (void)f(x);
  EXPECT_EQ(f.ledger().hits, 2);
  EXPECT_EQ(f.ledger().launches_compiled, 1);
  EXPECT_TRUE(contains(f.ledger().table(), "the address of its memory was handed out"));
}

TEST(Exposure, IsRefusedByFullgraph) {
  auto f = compile(
      [](const Tensor& x) {
        (void)x.data_ptr<float>();
        return x * 2;
      },
      {.fullgraph = true});
  EXPECT_TRUE(contains(error_of([&] { (void)f(ones({2})); }),
                       "mul, on memory whose address was handed out, reads a value"));
}

// While a write waits, another thread is refused, and afterwards it reads the new bytes.
TEST(Exposure, AnotherThreadIsRefusedWhileAWriteWaits) {
  Tensor state = zeros({2});
  std::string seen;
  const auto look = [&] {
    std::string text;
    std::thread([&] { text = error_of([&] { (void)state.to_vector<float>(); }); }).join();
    return text;
  };
  auto f = compile(
      [&](const Tensor& x) {
        state.add_(x);
        seen = look();
        return state * 2;
      },
      interpreted());
  (void)f(ones({2}));
  EXPECT_EQ(seen, "");
  for (int call = 1; call < 3; ++call) {
    (void)f(ones({2}));
    EXPECT_TRUE(contains(seen, "pending in a compiled call of another thread"));
    EXPECT_EQ(look(), "");
    EXPECT_EQ(state[0].item<float>(), static_cast<float>(call + 1));
  }
  EXPECT_EQ(f.ledger().hits, 2);
  // Also when what waits is run op by op, or fails.
  auto g = compile(
      [&](const Tensor& x, bool more) {
        state.add_(x);
        if (more) throw std::runtime_error("no");
        return state * 2;
      },
      interpreted());
  (void)g(ones({2}), false);
  EXPECT_THROW((void)g(ones({2}), true), std::runtime_error);
  EXPECT_EQ(look(), "");
}

}  // namespace
}  // namespace ingot
