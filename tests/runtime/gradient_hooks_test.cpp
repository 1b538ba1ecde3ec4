// When hooks run and what they see: once, in order, the whole gradient of a leaf or of a result;
// and what is left when one throws.
#include <stdexcept>

#include <ingot/runtime/grad_mode.h>
#include <ingot/runtime/ops.h>

#include "support/tensor_checks.h"

namespace ingot {
namespace {

using namespace testing_support;
using Values = std::vector<std::vector<double>>;

Tensor leaf(std::initializer_list<double> values) {
  return tensor(values, kDouble).requires_grad_();
}

std::function<Tensor(const Tensor&)> into(Values* seen) {
  return [seen](const Tensor& g) {
    seen->push_back(g.to_vector<double>());
    return Tensor();
  };
}

TEST(GradientHooks, ALeafsHookSeesTheWholeGradientOnce) {
  const std::vector<std::function<Tensor(const Tensor&)>> uses = {
      [](const Tensor& x) { return sum(x) + 3 * sum(x); },
      [](const Tensor& x) { return x[0] * 4 + (x * 4).narrow(0, 1, 1).sum(); },
      [](const Tensor& x) {
        return (x.view({2, 1}) + x.view({1, 2})).sum();
      },
      [](const Tensor& x) {
        return (cat({x, x}) + cat({x, x})).sum();
      },
      [](const Tensor& x) { return (x + (x + (x + x))).sum(); },
      [](const Tensor& x) {  // one of its uses passes nothing on
        Tensor y = x * 5;
        y.zero_();
        return (y + x * 4).sum();
      },
  };
  for (std::size_t i = 0; i < uses.size(); ++i) {
    SCOPED_TRACE(i);
    Tensor x = leaf({1, 2});
    Values seen;
    x.register_hook([&](const Tensor& g) {
      seen.push_back(g.to_vector<double>());
      return clamp(g, std::nullopt, 2);
    });
    uses[i](x).backward();
    EXPECT_EQ(seen, (Values{{4, 4}}));
    EXPECT_TRUE(has_values(x.grad(), {2, 2}));
  }
}

TEST(GradientHooks, ItSeesTheGradientOfOneBackwardNotTheSum) {
  Tensor x = leaf({1, 2});
  Values seen;
  x.register_hook(into(&seen));
  for (int i = 1; i <= 3; ++i) (x * i).sum().backward();
  EXPECT_EQ(seen, (Values{{1, 1}, {2, 2}, {3, 3}}));
  EXPECT_TRUE(has_values(x.grad(), {6, 6}));
}

TEST(GradientHooks, AResultsHookSeesTheWholeGradientOnce) {
  Tensor x = leaf({1, 2});
  Tensor y = x * 1;
  Values of_y, of_view, of_values;
  y.register_hook(into(&of_y));
  Tensor view = y.view({1, 2});
  view.register_hook(into(&of_view));
  auto top = topk(y, 1);
  top.values.register_hook(into(&of_values));
  (y.sum() + view.sum() * 2 + y[0] + view.t().sum() + top.values.sum() * 2 + top.values.sum())
      .backward();
  EXPECT_EQ(of_view, (Values{{3, 3}}));
  EXPECT_EQ(of_values, (Values{{3}}));
  EXPECT_EQ(of_y, (Values{{5, 7}}));
}

TEST(GradientHooks, TheyRunInOrderBeforeGradAddsWhatTheyLeave) {
  for (const bool of_leaf : {true, false}) {
    Tensor x = leaf({1, 2});
    Tensor y = of_leaf ? x : x * 1;
    std::vector<double> before;
    y.register_hook([](const Tensor& g) { return g + 1; });
    y.retain_grad();  // after the hooks, wherever it is called
    y.register_hook([](const Tensor&) { return Tensor(); });
    y.register_hook([&](const Tensor& g) {
      before = x.grad().to_vector<double>();
      return g * 10;
    });
    x.mutable_grad() = ones({2}, kDouble);
    y.sum().backward();
    EXPECT_EQ(before, (std::vector<double>{1, 1}));
    EXPECT_TRUE(has_values(x.grad(), {21, 21}));
    if (of_leaf) continue;
    EXPECT_TRUE(has_values(y.grad(), {20, 20}));
  }
}

TEST(GradientHooks, OneThatThrowsLeavesGradAsItWas) {
  for (const bool of_leaf : {true, false}) {
    Tensor x = leaf({1, 2});
    x.sum().backward();
    Tensor y = of_leaf ? x : x * 1;
    y.register_hook([](const Tensor& g) {
      Tensor handle = g;
      return handle.fill_(100);
    });
    bool fails = true;
    y.register_hook([&](const Tensor& g) -> Tensor {
      if (fails) throw std::runtime_error("no");
      return g;
    });
    Tensor loss = y.sum() + (y * 2).sum();
    EXPECT_EQ(error_of([&] { loss.backward({}, true); }), "no");
    EXPECT_TRUE(has_values(x.grad(), {1, 1}));
    fails = false;
    loss.backward();
    EXPECT_TRUE(has_values(x.grad(), {101, 101}));
  }
}

TEST(GradientHooks, OneMayRegisterMore) {
  for (const bool of_leaf : {true, false}) {
    Tensor x = leaf({1, 2});
    Tensor y = of_leaf ? x : x * 1;
    int calls = 0, later = 0;
    y.register_hook([&, many = std::vector<int>(100, 1)](const Tensor&) {
      for (int i : many) {
        y.register_hook([&](const Tensor&) {
          ++later;
          return Tensor();
        });
        calls += i;
      }
      return Tensor();
    });
    Tensor loss = y.sum();
    loss.backward({}, true);
    EXPECT_EQ(calls, 100);
    EXPECT_EQ(later, 0);
    loss.backward();
    EXPECT_EQ(later, 100);
  }
}

// A hook that counts in itself is not copied.
TEST(GradientHooks, OneKeepsItsState) {
  Tensor x = leaf({1, 2});
  x.register_hook([n = 0](const Tensor& g) mutable { return g * ++n; });
  for (int i = 0; i < 3; ++i) x.sum().backward();
  EXPECT_TRUE(has_values(x.grad(), {6, 6}));
}

TEST(GradientHooks, OneMayRunBackwardItself) {
  Tensor x = leaf({1, 2}), w = leaf({3, 4});
  x.register_hook([&](const Tensor& g) {
    const EnableGradGuard on;
    (w * g.detach()).sum().backward();
    return Tensor();
  });
  ((x * 2).sum() + (x * 3).sum() + w.sum()).backward();
  EXPECT_TRUE(has_values(x.grad(), {5, 5}));
  EXPECT_TRUE(has_values(w.grad(), {6, 6}));
}

// The tensor, and the handle that backward() was called on, may go meanwhile.
TEST(GradientHooks, OneMayDropWhatItHangsOn) {
  Tensor x = leaf({1, 2}), other = leaf({1, 2});
  Tensor y = x * 2;
  Tensor loss = (y * other).sum() + y.sum();
  y.register_hook([&](const Tensor&) {
    y = x = loss = Tensor();
    return Tensor();
  });
  loss.backward();
  EXPECT_TRUE(has_values(other.grad(), {2, 4}));
}

// What a tensor retains is the gradient of its present values; a hook stays with those it was
// registered for. As in PyTorch.
TEST(GradientHooks, AWriteInPlaceTakesRetainedAlongNotHooks) {
  Tensor x = leaf({1, 2});
  Tensor y = x * 1;
  Values before, after;
  y.register_hook(into(&before));
  y.retain_grad();
  y.mul_(3);
  y.register_hook(into(&after));
  (y * 5).sum().backward();
  EXPECT_EQ(before, (Values{{15, 15}}));
  EXPECT_EQ(after, (Values{{5, 5}}));
  EXPECT_TRUE(has_values(y.grad(), {5, 5}));
  EXPECT_TRUE(has_values(x.grad(), {15, 15}));
}

// A view's history is that of its base: hooks find it there although the base was written since.
TEST(GradientHooks, AViewThatIsOlderThanAWriteToItsBase) {
  Tensor x = leaf({1, 2});
  for (const bool with_history : {true, false}) {
    Tensor y = with_history ? x * 1 : zeros({2}, kDouble);
    Tensor view = y.view({1, 2});
    y.add_(x);
    Values seen;
    view.register_hook(into(&seen));
    view.retain_grad();
    (view * 5).sum().backward();
    EXPECT_EQ(seen, (Values{{5, 5}}));
    EXPECT_TRUE(has_values(view.grad(), {5, 5}));
    Tensor z = zeros({1}, kDouble), row = z.view({1, 1});
    z.add_(x.narrow(0, 0, 1));
    row.backward(ones({1, 1}, kDouble));
  }
  EXPECT_TRUE(has_values(x.grad(), {17, 15}));
}

TEST(GradientHooks, TheDeviceDTypeAndShapeAreKept) {
  Tensor x = leaf({1, 2});
  x.register_hook([](const Tensor& g) { return g.to(kFloat); });
  const std::string error = error_of([&] { (x.sum() + x.sum()).backward(); });
  EXPECT_TRUE(contains(error, "a hook was given f64[2]")) << error;
  EXPECT_TRUE(contains(error, "and returned f32[2]")) << error;
  EXPECT_FALSE(x.grad().defined());
}

}  // namespace
}  // namespace ingot
