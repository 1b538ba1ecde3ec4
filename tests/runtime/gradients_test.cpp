// The gradient of every differentiable op against central differences, in f64, along random
// directions: sum(f(x + h v) - f(x - h v)) / 2h must be <grad, v>.
#include <cmath>
#include <functional>

#include <ingot/runtime/generator.h>
#include <ingot/runtime/grad_mode.h>
#include <ingot/runtime/ops.h>

#include "support/tensor_checks.h"

namespace ingot {
namespace {

using Tensors = std::vector<Tensor>;
using Function = std::function<Tensor(const Tensors&)>;

struct Case {
  const char* name;
  std::vector<Dims> shapes;
  Function f;
  double low = -2, high = 2;  // where the inputs are drawn
};

Tensor uniform(Dims sizes, double low, double high) {
  return rand(sizes, kDouble) * (high - low) + low;
}

// Weighted, so that no error cancels in a sum of ones.
Tensor weighted(const Tensor& y, const Tensor& w) { return (y * w).sum(); }

void check(const Case& c) {
  SCOPED_TRACE(c.name);
  manual_seed(11);
  Tensors x;
  for (const Dims& shape : c.shapes) {
    x.push_back(uniform(shape, c.low, c.high).detach().requires_grad_());
  }
  Tensor y = c.f(x);
  const Tensor w = uniform(y.sizes(), 0.5, 1.5);
  weighted(y, w).backward();
  for (int direction = 0; direction < 2; ++direction) {
    constexpr double kStep = 1e-6;
    Tensors up, down;
    double analytic = 0;
    for (const Tensor& t : x) {
      NoGradGuard guard;
      Tensor v = uniform(t.sizes(), -1, 1);
      up.push_back(t.detach() + v * kStep);
      down.push_back(t.detach() - v * kStep);
      ASSERT_TRUE(t.grad().defined());
      ASSERT_TRUE(t.grad().sizes() == t.sizes());
      analytic += (t.grad() * v).sum().item<double>();
    }
    NoGradGuard guard;
    const double numeric =
        (weighted(c.f(up), w).item<double>() - weighted(c.f(down), w).item<double>()) / (2 * kStep);
    EXPECT_NEAR(analytic, numeric, 1e-6 * (1 + std::abs(numeric)));
  }
}

using Unary = Tensor (*)(const Tensor&, Loc);
Function of(Unary f) {
  return [f](const Tensors& x) { return f(x[0], Loc::here()); };
}

TEST(Gradients, OfElementwiseOpsOfOneOperand) {
  const Dims s{3, 4};
  const Case cases[] = {
      {"neg", {s}, of(neg)},
      {"abs", {s}, of(abs)},
      {"exp", {s}, of(exp)},
      {"expm1", {s}, of(expm1)},
      {"log", {s}, of(log), 0.3, 3},
      {"log1p", {s}, of(log1p), -0.5, 3},
      {"sqrt", {s}, of(sqrt), 0.3, 3},
      {"rsqrt", {s}, of(rsqrt), 0.3, 3},
      {"square", {s}, of(square)},
      {"reciprocal", {s}, of(reciprocal), 0.3, 3},
      {"tanh", {s}, of(tanh)},
      {"sigmoid", {s}, of(sigmoid)},
      {"erf", {s}, of(erf)},
      {"relu", {s}, of(relu)},
      {"silu", {s}, of(silu)},
      {"softplus", {s}, of(softplus)},
      {"sin", {s}, of(sin)},
      {"cos", {s}, of(cos)},
      {"gelu", {s}, [](const Tensors& x) { return gelu(x[0]); }},
      {"gelu tanh", {s}, [](const Tensors& x) { return gelu(x[0], "tanh"); }},
      {"clamp", {s}, [](const Tensors& x) { return clamp(x[0], -0.5, 1.0); }},
      {"pow 3", {s}, [](const Tensors& x) { return pow(x[0], 3); }},
      {"2 ^ x", {s}, [](const Tensors& x) { return pow(2.0, x[0]); }},
      {"1 / x", {s}, [](const Tensors& x) { return 1 / x[0]; }, 0.3, 3},
  };
  for (const Case& c : cases) check(c);
}

TEST(Gradients, OfElementwiseOpsWithBroadcasting) {
  const std::vector<Dims> shapes[] = {
      {{3, 4}, {3, 4}}, {{3, 4}, {4}}, {{2, 1, 4}, {3, 1}}, {{}, {3, 4}}};
  for (const auto& s : shapes) {
    const Case cases[] = {
        {"add", s, [](const Tensors& x) { return x[0] + x[1]; }},
        {"sub", s, [](const Tensors& x) { return x[0] - x[1]; }},
        {"mul", s, [](const Tensors& x) { return x[0] * x[1]; }},
        {"div", s, [](const Tensors& x) { return x[0] / x[1]; }, 0.4, 2},
        {"pow", s, [](const Tensors& x) { return pow(x[0], x[1]); }, 0.4, 2},
        {"maximum", s, [](const Tensors& x) { return maximum(x[0], x[1]); }},
        {"minimum", s, [](const Tensors& x) { return minimum(x[0], x[1]); }},
        {"where", s, [](const Tensors& x) { return where(x[0] > x[1], x[0], x[1] * 2); }},
        {"addcmul", s, [](const Tensors& x) { return addcmul(x[0] + x[1], x[0], x[1], 0.7); }},
        {"addcdiv", s, [](const Tensors& x) { return addcdiv(x[0] + x[1], x[0], x[1], 0.7); }, 0.4,
         2},
        {"mse_loss", s,
         [](const Tensors& x) { return mse_loss(x[0] + x[1] * 0, x[1] + x[0] * 0); }},
    };
    for (const Case& c : cases) check(c);
  }
  check({"lerp", {{3, 4}, {3, 4}, {4}}, [](const Tensors& x) { return lerp(x[0], x[1], x[2]); }});
}

TEST(Gradients, OfViewsAndData) {
  const Tensor index = from_vector(std::vector<i64>{2, 0, 2}, {3});
  const Tensor wide = from_vector(std::vector<i64>{0, 2, 1, 1, 0, 2}, {2, 3});
  const Dims s{3, 4};
  const Case cases[] = {
      {"reshape",
       {s},
       [](const Tensors& x) {
         return x[0].t().reshape({2, 6});
       }},
      {"permute",
       {{2, 3, 4}},
       [](const Tensors& x) {
         return permute(x[0], {2, 0, 1});
       }},
      {"expand",
       {{3, 1}},
       [](const Tensors& x) {
         return expand(x[0], {2, 3, 4});
       }},
      {"slice", {s}, [](const Tensors& x) { return slice(x[0], 1, 0, 4, 2); }},
      {"select", {s}, [](const Tensors& x) { return x[0][1]; }},
      {"indexing",
       {s},
       [](const Tensors& x) {
         return x[0][{None, Slice(0, 2), Ellipsis, 1}];
       }},
      {"squeeze", {{3, 1, 4}}, [](const Tensors& x) { return squeeze(x[0], 1).unsqueeze(0); }},
      {"cat",
       {s, {2, 4}},
       [](const Tensors& x) {
         return cat({x[0], x[1], x[0]}, 0);
       }},
      {"stack",
       {s, s},
       [](const Tensors& x) {
         return stack({x[0], x[1]}, 1);
       }},
      {"flip",
       {s},
       [](const Tensors& x) {
         return flip(x[0], {0, 1});
       }},
      {"clone", {s}, [](const Tensors& x) { return clone(x[0].t()).contiguous(); }},
      {"index_select", {s}, [&](const Tensors& x) { return index_select(x[0], 0, index); }},
      {"index_add", {s, s}, [&](const Tensors& x) { return index_add(x[0], 0, index, x[1]); }},
      {"gather", {{4, 3}}, [&](const Tensors& x) { return gather(x[0], 0, wide); }},
      {"scatter_add",
       {{3, 3}, {2, 3}},
       [&](const Tensors& x) { return scatter_add(x[0], 0, wide, x[1]); }},
      {"embedding", {{4, 5}}, [&](const Tensors& x) { return embedding(x[0], wide); }},
      {"to f64", {s}, [](const Tensors& x) { return x[0].to(kDouble) * 2; }},
      {"masked_select",
       {s},
       [](const Tensors& x) {
         return masked_select(x[0], (arange(12).reshape({3, 4}) > 4));
       }},
      {"dropout in evaluation", {s}, [](const Tensors& x) { return dropout(x[0], 0.5, false); }},
  };
  for (const Case& c : cases) check(c);
}

TEST(Gradients, OfReductions) {
  for (const Dims& axes : {Dims{0}, Dims{1}, Dims{0, 2}, Dims{0, 1, 2}}) {
    for (bool keep : {false, true}) {
      const std::vector<Dims> s{{2, 3, 4}};
      const Case cases[] = {
          {"sum", s, [&](const Tensors& x) { return sum(x[0], axes, keep); }},
          {"mean", s, [&](const Tensors& x) { return mean(x[0], axes, keep); }},
          {"amax", s, [&](const Tensors& x) { return amax(x[0], axes, keep); }},
          {"amin", s, [&](const Tensors& x) { return amin(x[0], axes, keep); }},
          {"var", s, [&](const Tensors& x) { return var(x[0], axes, 1, keep); }},
      };
      for (const Case& c : cases) check(c);
    }
  }
  const std::vector<Dims> s{{2, 3, 4}};
  const Case cases[] = {
      {"sum of all", s, [](const Tensors& x) { return x[0].sum(); }},
      {"mean of all", s, [](const Tensors& x) { return x[0].mean(); }},
      {"max along", s, [](const Tensors& x) { return max(x[0], 1).values; }},
      {"min along", s, [](const Tensors& x) { return min(x[0], -1, true).values; }},
      {"topk", s, [](const Tensors& x) { return topk(x[0], 2, 1).values; }},
      {"topk, the smallest", s, [](const Tensors& x) { return topk(x[0], 3, -1, false).values; }},
      {"topk of a number", {{}}, [](const Tensors& x) { return topk(x[0], 1).values; }},
      {"max of all", s, [](const Tensors& x) { return max(x[0]); }},
      {"logsumexp", s, [](const Tensors& x) { return logsumexp(x[0], 1); }},
  };
  for (const Case& c : cases) check(c);
}

TEST(Gradients, OfProducts) {
  const Case cases[] = {
      {"matrix matrix", {{3, 4}, {4, 5}}, [](const Tensors& x) { return matmul(x[0], x[1]); }},
      {"vector vector", {{4}, {4}}, [](const Tensors& x) { return matmul(x[0], x[1]); }},
      {"matrix vector", {{3, 4}, {4}}, [](const Tensors& x) { return matmul(x[0], x[1]); }},
      {"vector matrix", {{4}, {4, 5}}, [](const Tensors& x) { return matmul(x[0], x[1]); }},
      {"batches", {{2, 3, 4}, {2, 4, 5}}, [](const Tensors& x) { return matmul(x[0], x[1]); }},
      {"batch and matrix",
       {{2, 3, 4}, {4, 5}},
       [](const Tensors& x) { return matmul(x[0], x[1]); }},
      {"broadcast batches",
       {{2, 1, 3, 4}, {3, 4, 2}},
       [](const Tensors& x) { return matmul(x[0], x[1]); }},
      {"transposed", {{4, 3}, {5, 4}}, [](const Tensors& x) { return matmul(x[0].t(), x[1].t()); }},
      {"addmm",
       {{5}, {3, 4}, {4, 5}},
       [](const Tensors& x) { return addmm(x[0], x[1], x[2], 0.5, 2); }},
      {"linear",
       {{2, 3, 4}, {5, 4}, {5}},
       [](const Tensors& x) { return linear(x[0], x[1], x[2]); }},
      {"linear without bias",
       {{3, 4}, {5, 4}},
       [](const Tensors& x) { return linear(x[0], x[1]); }},
  };
  for (const Case& c : cases) check(c);
}

TEST(Gradients, OfComposites) {
  const Tensor target = from_vector(std::vector<i64>{2, 0, 3}, {3});
  const Tensor ignoring = from_vector(std::vector<i64>{2, -100, 3}, {3});
  const Tensor weight = from_vector(std::vector<double>{0.5, 1, 2, 0.25}, {4});
  const Dims s{3, 4};
  const Case cases[] = {
      {"softmax", {s}, [](const Tensors& x) { return softmax(x[0], -1); }},
      {"softmax of columns", {s}, [](const Tensors& x) { return softmax(x[0], 0); }},
      {"log_softmax", {s}, [](const Tensors& x) { return log_softmax(x[0], 1); }},
      {"layer_norm", {s}, [](const Tensors& x) { return layer_norm(x[0], {4}); }},
      {"layer_norm, affine",
       {s, {4}, {4}},
       [](const Tensors& x) { return layer_norm(x[0], {4}, x[1], x[2]); }},
      {"layer_norm of two axes",
       {{2, 3, 4}, {3, 4}},
       [](const Tensors& x) {
         return layer_norm(x[0], {3, 4}, x[1]);
       }},
      {"cross_entropy", {s}, [&](const Tensors& x) { return cross_entropy(x[0], target); }},
      {"cross_entropy, none",
       {s},
       [&](const Tensors& x) { return cross_entropy(x[0], target, {.reduction = "none"}); }},
      {"cross_entropy, sum, weight, smoothing",
       {s},
       [&](const Tensors& x) {
         return cross_entropy(x[0], target,
                              {.weight = weight, .reduction = "sum", .label_smoothing = 0.2});
       }},
      {"cross_entropy, ignoring",
       {s},
       [&](const Tensors& x) { return cross_entropy(x[0], ignoring, {.weight = weight}); }},
  };
  for (const Case& c : cases) check(c);
}

TEST(Gradients, ThroughWritesInPlace) {
  const Dims s{3, 4};
  const Case cases[] = {
      {"in place on a result",
       {s, s},
       [](const Tensors& x) {
         Tensor y = x[0] * 2;
         y.mul_(3).sub_(x[1]).add_(x[0]).tanh_();
         return y;
       }},
      {"into a row",
       {s, {4}},
       [](const Tensors& x) {
         Tensor y = x[0] * 1;
         y[1] = x[1] * 3;
         return y * y;
       }},
      {"a view's write reaches its base",
       {s, {3}},
       [](const Tensors& x) {
         Tensor y = x[0] * 1;
         Tensor column = y.select(1, 2);
         column.mul_(2).add_(x[1]);
         return y + column.unsqueeze(1);
       }},
      {"copy_ over everything",
       {s, s},
       [](const Tensors& x) {
         Tensor y = x[0] * 1;
         y.copy_(x[1] * x[0]);
         return y;
       }},
      {"relu_",
       {s},
       [](const Tensors& x) {
         Tensor y = x[0] * 1;
         y.relu_();
         return y;
       }},
  };
  for (const Case& c : cases) check(c);
}

}  // namespace
}  // namespace ingot
