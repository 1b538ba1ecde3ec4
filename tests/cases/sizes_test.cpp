// Sizes at the edges: nothing at all, and batches of many axes. What lies beyond 2^31 elements is
// in large_sizes_test.cpp.
#include <functional>

#include "cases/both_modes.h"

namespace ingot {
namespace {

using namespace testing_support;

// A block of threads per batch index would need 4096 threads.
TEST(Sizes, Sz06BatchesOfManyMatrices) {
  const auto product = [](const Tensor& a, const Tensor& b) { return matmul(a, b); };
  const auto add = [](const Tensor& a, const Tensor& b) { return (a + b) * 2.0; };
  std::uint64_t seed = 1;
  for (const Dims& batch : {Dims{64, 64}, Dims{33, 32}, Dims{1, 4096}}) {
    const Dims wide{batch[0], batch[1], 3, 5}, tall{batch[0], batch[1], 5, 4};
    for (const Dims& right : {tall, Dims{batch[0], 1, 5, 4}, Dims{batch[1], 5, 4}, Dims{5, 4}}) {
      const Tensor a = noise(wide, ++seed), b = noise(right, ++seed);
      const Tensor y = in_both_modes(product, a, b);
      const Tensor expected = (a.unsqueeze(-1) * b.unsqueeze(-3)).sum({-2});
      EXPECT_TRUE(allclose(y, expected, 1e-5, 1e-5)) << to_string(batch) << to_string(right);
    }
    // Heads that were moved in front of the rows, and shared ones.
    const Tensor q = noise({batch[0], 3, batch[1], 5}, ++seed).transpose(1, 2);
    const Tensor scores = in_both_modes(product, q, q.transpose(2, 3));
    EXPECT_TRUE(allclose(scores, (q.unsqueeze(3) * q.unsqueeze(2)).sum({-1}), 1e-5, 1e-5));
    const Tensor x = noise(wide, ++seed), row = noise({batch[1], 1, 5}, ++seed);
    EXPECT_TRUE(same_bits(in_both_modes(add, x, row), (x + row.expand(wide)) * 2.0));
  }
}

const Dims kEmpty[] = {{0}, {0, 3}, {2, 0, 4}};

using Unary = std::function<Tensor(const Tensor&)>;
using Binary = std::function<Tensor(const Tensor&, const Tensor&)>;

TEST(Sizes, Sz07ElementwiseOpsOnNothing) {
  const Unary unary[] = {
      [](const Tensor& x) { return neg(x); },
      [](const Tensor& x) { return abs(x); },
      [](const Tensor& x) { return exp(x); },
      [](const Tensor& x) { return log(x); },
      [](const Tensor& x) { return sqrt(x); },
      [](const Tensor& x) { return tanh(x); },
      [](const Tensor& x) { return sigmoid(x); },
      [](const Tensor& x) { return relu(x); },
      [](const Tensor& x) { return gelu(x); },
      [](const Tensor& x) { return silu(x); },
      [](const Tensor& x) { return floor(x); },
      [](const Tensor& x) { return round(x); },
      [](const Tensor& x) { return isnan(x); },
      [](const Tensor& x) { return clamp(x, -1, 1); },
      [](const Tensor& x) { return tanh(x * 2.0 + 1.0) - x; },
      [](const Tensor& x) { return x.to(kDouble); },
      [](const Tensor& x) { return x.to(kBFloat16); },
      [](const Tensor& x) { return x.to(kLong); },
      [](const Tensor& x) { return x.clone(); },
      [](const Tensor& x) { return x + 1; },
      [](const Tensor& x) { return flip(x, {0}); },
      [](const Tensor& x) { return dropout(x, 0.5); },
      [](const Tensor& x) { return zeros_like(x); },
  };
  const Binary binary[] = {
      [](const Tensor& a, const Tensor& b) { return a + b; },
      [](const Tensor& a, const Tensor& b) { return a - b; },
      [](const Tensor& a, const Tensor& b) { return a * b; },
      [](const Tensor& a, const Tensor& b) { return a / b; },
      [](const Tensor& a, const Tensor& b) { return pow(a, b); },
      [](const Tensor& a, const Tensor& b) { return maximum(a, b); },
      [](const Tensor& a, const Tensor& b) { return a < b; },
      [](const Tensor& a, const Tensor& b) { return eq(a, b); },
      [](const Tensor& a, const Tensor& b) { return where(a < b, a, b); },
      [](const Tensor& a, const Tensor& b) { return lerp(a, b, 0.5); },
  };
  for (const Dims& sizes : kEmpty) {
    const Tensor x = zeros(sizes), y = ones(sizes);
    int i = 0;
    for (const Unary& f : unary) {
      EXPECT_EQ(in_both_modes(f, x).sizes(), sizes) << "unary " << i++ << to_string(sizes);
    }
    i = 0;
    for (const Binary& f : binary) {
      EXPECT_EQ(in_both_modes(f, x, y).sizes(), sizes) << "binary " << i << to_string(sizes);
      // A single element is stretched to nothing.
      EXPECT_EQ(in_both_modes(f, x, ones({1})).sizes(), sizes) << "binary " << i++;
    }
  }
  EXPECT_TRUE(has_values(ones({2}) + 1, {2, 2}));
}

TEST(Sizes, Sz07RowsAndSumsOfNothing) {
  for (const Dims& sizes : kEmpty) {
    const Tensor x = zeros(sizes);
    for (int axis = 0; axis < sizes.size(); ++axis) {
      Dims kept = sizes;
      kept.erase(axis);
      EXPECT_EQ(in_both_modes([=](const Tensor& t) { return softmax(t, axis); }, x).sizes(), sizes);
      EXPECT_EQ(in_both_modes([=](const Tensor& t) { return log_softmax(t, axis); }, x).sizes(),
                sizes);
      const Tensor s = in_both_modes([=](const Tensor& t) { return t.sum({axis}); }, x);
      EXPECT_TRUE(same_bits(s, zeros(kept))) << to_string(sizes) << " over " << axis;
      const Tensor chain =
          in_both_modes([=](const Tensor& t) { return tanh(t * 2.0).sum({axis}) + 1.0; }, x);
      EXPECT_TRUE(same_bits(chain, ones(kept))) << to_string(sizes) << " over " << axis;
    }
    EXPECT_TRUE(has_values(in_both_modes([](const Tensor& t) { return t.sum(); }, x), {0}));
    EXPECT_TRUE(has_values(in_both_modes([](const Tensor& t) { return t.prod(); }, x), {1}));
    EXPECT_TRUE(has_values(in_both_modes([](const Tensor& t) { return t.mean(); }, x), {kNaN}));
    const Dims last{sizes.back()};
    EXPECT_EQ(in_both_modes([=](const Tensor& t) { return layer_norm(t, last); }, x).sizes(),
              sizes);
  }
}

TEST(Sizes, Sz07ProductsOfNothing) {
  const auto product = [](const Tensor& a, const Tensor& b) { return matmul(a, b); };
  EXPECT_EQ(in_both_modes(product, zeros({0, 3}), ones({3, 2})).sizes(), (Dims{0, 2}));
  EXPECT_EQ(in_both_modes(product, ones({2, 3}), zeros({3, 0})).sizes(), (Dims{2, 0}));
  EXPECT_TRUE(same_bits(in_both_modes(product, zeros({2, 0}), zeros({0, 3})), zeros({2, 3})));
  EXPECT_EQ(in_both_modes(product, zeros({0, 2, 3}), ones({3, 4})).sizes(), (Dims{0, 2, 4}));
  EXPECT_EQ(in_both_modes(product, zeros({2, 0, 4, 3}), ones({3, 5})).sizes(), (Dims{2, 0, 4, 5}));
  EXPECT_TRUE(
      same_bits(in_both_modes(product, zeros({2, 3, 4, 0}).transpose(1, 2), zeros({4, 0, 5})),
                zeros({2, 4, 3, 5})));
  const auto layer = [](const Tensor& x, const Tensor& w, const Tensor& b) {
    return relu(linear(x, w, b));
  };
  EXPECT_EQ(in_both_modes(layer, zeros({0, 3}), ones({2, 3}), ones({2})).sizes(), (Dims{0, 2}));
  EXPECT_TRUE(
      same_bits(in_both_modes(layer, zeros({4, 0}), zeros({2, 0}), ones({2})), ones({4, 2})));
}

TEST(Sizes, Sz07NothingIsJoinedCopiedAndFilled) {
  const Tensor rows = noise({2, 3}, 4);
  const auto join = [](const Tensor& a, const Tensor& b) { return cat({a, b}, 0); };
  EXPECT_TRUE(same_bits(in_both_modes(join, zeros({0, 3}), rows), rows));
  EXPECT_TRUE(same_bits(in_both_modes(join, rows, zeros({0, 3})), rows));
  EXPECT_EQ(in_both_modes(join, zeros({0, 3}), zeros({0, 3})).sizes(), (Dims{0, 3}));
  for (const Dims& sizes : kEmpty) {
    for (const auto& random :
         {std::function<Tensor()>([&] { return rand(sizes); }), {[&] { return randn(sizes); }}}) {
      EXPECT_EQ(in_both_modes([&](const Tensor&) { return random(); }, ones({1})).sizes(), sizes);
    }
    const auto copied = [&](const Tensor& from) {
      Tensor to = full(sizes, 3.0);
      to.copy_(from);
      to.fill_(2.0);
      return to.add_(1.0);
    };
    EXPECT_EQ(in_both_modes(copied, zeros(sizes)).sizes(), sizes);
  }
}

TEST(Sizes, Sz07GradientsOfNothingAreZerosOfTheRightShape) {
  const auto gradient = [](const std::function<Tensor(const Tensor&)>& loss) {
    return [=](const Tensor& x) {
      const Tensor leaf = x.detach().clone().requires_grad_();
      loss(leaf).backward();
      return leaf.grad();
    };
  };
  for (const Dims& sizes : kEmpty) {
    const Tensor x = zeros(sizes);
    const auto simple = gradient([](const Tensor& t) { return (tanh(t) * 2.0).sum(); });
    EXPECT_TRUE(same_bits(in_both_modes(simple, x), x)) << to_string(sizes);
    const auto rows = gradient([](const Tensor& t) { return (softmax(t, -1) * 3.0).sum(); });
    EXPECT_TRUE(same_bits(in_both_modes(rows, x), x)) << to_string(sizes);
  }
  const Tensor none = zeros({0, 3});
  const auto weight = gradient([&](const Tensor& w) { return linear(none, w).sum(); });
  EXPECT_TRUE(same_bits(in_both_modes(weight, ones({2, 3})), zeros({2, 3})));
  const auto bias = gradient([](const Tensor& b) { return (zeros({0, 2}) + b).sum(); });
  EXPECT_TRUE(same_bits(in_both_modes(bias, ones({2})), zeros({2})));
}

}  // namespace
}  // namespace ingot
