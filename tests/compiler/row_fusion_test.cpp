// Fusion of pointwise ops with reductions and composites along rows: one kernel, eager's bits, by
// interpretation and by generated code.
#include <functional>

#include <ingot/compiler/compile.h>
#include <ingot/runtime/config.h>

#include "support/eager_and_compiled.h"

namespace ingot {
namespace {

using namespace testing_support;
using Tensors = std::vector<Tensor>;

struct Program {
  const char* name;
  std::function<Tensors(const Tensor&)> f;
  int launches;  // of the compiled form
};

std::vector<Program> programs() {
  return {
      {"scale mask softmax",
       [](const Tensor& x) -> Tensors { return {softmax(where(x > 0.5, x * 0.125, x - 1), -1)}; },
       1},
      {"softmax by hand",
       [](const Tensor& x) -> Tensors {
         Tensor e = exp(x - amax(x, {-1}, true));
         return {e / e.sum({-1}, true)};
       },
       1},
      {"residual, layer_norm, gelu",
       [](const Tensor& x) -> Tensors {
         Tensor h = x + tanh(x);
         return {gelu(layer_norm(h, {h.size(-1)})), h};
       },
       1},
      {"root mean square norm",
       [](const Tensor& x) -> Tensors {
         return {x * rsqrt((x * x).mean({-1}, true) + 1e-6) * 0.5};
       },
       1},
      {"standardised",
       [](const Tensor& x) -> Tensors {
         return {(x - x.mean({-1}, true)) / sqrt(var(x, {-1}, 1, true) + 1e-5)};
       },
       1},
      {"log-softmax, entropy",
       [](const Tensor& x) -> Tensors {
         Tensor l = log_softmax(x * 2, -1);
         return {-(exp(l) * l).sum({-1})};
       },
       1},
      {"logsumexp and the values of rows",
       [](const Tensor& x) -> Tensors {
         Tensor d = x * 3, z = logsumexp(d, -1);
         return {z * z + 1, amin(d, {-1})};
       },
       1},
      {"two reductions of a product",
       [](const Tensor& x) -> Tensors {
         Tensor p = x * x;
         return {p.sum({-1}), prod(p * 0.01 + 1, {-1})};
       },
       1},
      {"sum over everything", [](const Tensor& x) -> Tensors { return {(x * 2 + 1).sum()}; }, 1},
      {"mean over everything, with its terms",
       [](const Tensor& x) -> Tensors {
         Tensor d = (x - 0.25) * (x - 0.25);
         return {d.mean(), amax(d), d};
       },
       1},
  };
}

const Dims kShapes[] = {{3, 40}, {2, 3, 33}, {5, 256}, {1, 4096}, {700, 100}, {3, 8192}};

void check(const Program& p, const Tensor& x, CompileOptions options) {
  SCOPED_TRACE(std::string(p.name) + " of " + describe(x.meta()));
  auto compiled = compile(p.f, std::move(options));
  const Tensors eager = p.f(x);
  for (int call = 0; call < 3; ++call) {
    const Tensors y = compiled(x);
    for (std::size_t i = 0; i < eager.size(); ++i) {
      EXPECT_TRUE(same_bits(eager[i], y[i])) << "result " << i << ", call " << call;
    }
  }
  EXPECT_EQ(compiled.ledger().launches_compiled, p.launches) << compiled.ledger().table();
}

TEST(RowFusion, OneKernelWithEagersBitsInterpreted) {
  for (const Program& p : programs()) {
    for (const Dims& shape : kShapes) {
      for (DType dtype : {DType::f32, DType::f64}) {
        check(p, noise(shape, 5).to(dtype), interpreted());
      }
    }
  }
}

TEST(RowFusion, OneKernelWithEagersBitsGenerated) {
  for (const Program& p : programs()) {
    for (const Dims& shape : kShapes) check(p, noise(shape, 6), {});
    check(p, noise({5, 37}, 7).to(kDouble), {});
  }
}

TEST(RowFusion, NaNsAndInfinities) {
  Tensor x = noise({6, 50}, 8);
  const double values[] = {std::nan(""), 1.0 / 0.0, -1.0 / 0.0, -0.0, 1e38};
  for (int r = 0; r < 5; ++r) x[{r, 7}] = values[r];
  for (const Program& p : programs()) {
    check(p, x, interpreted());
    check(p, x, {});
  }
}

// Rows that are too long to be held: what comes before a reduction is fused with it, block by
// block; what needs the whole row is another kernel.
TEST(RowFusion, LongRowsAreTakenInBlocks) {
  const Program sum{"sum", [](const Tensor& x) -> Tensors { return {(x * 2 + 1).sum({-1})}; }, 1};
  const Program two{"two",
                    [](const Tensor& x) -> Tensors {
                      Tensor d = abs(x) + 1;
                      return {d.mean({-1}), amax(d, {-1}), amin(x, {-1}, true), d};
                    },
                    1};
  const Program after{"after",
                      [](const Tensor& x) -> Tensors {
                        Tensor d = x * 3;
                        return {d / d.sum({-1}, true)};
                      },
                      2};
  for (const Dims& shape : {Dims{4097}, Dims{3, 8193}, Dims{2, 100000}, Dims{1, 5 * 4096}}) {
    const Tensor x = noise(shape, 9);
    for (const Program* p : {&sum, &two}) {
      check(*p, x, interpreted());
      check(*p, x, {});
    }
    if (shape.back() > 8192) check(after, x, {});
  }
}

TEST(RowFusion, OperandsOfAnyStride) {
  const Tensor base = noise({64, 96, 2}, 10), weight = noise({96}, 11), rows = noise({64, 1}, 12);
  const Tensor views[] = {base.select(2, 1), base.select(2, 0).contiguous(),
                          noise({96, 64}, 13).t(), noise({96}, 14).expand({64, 96})};
  auto f = [&](const Tensor& x) -> Tensors {
    return {softmax(x, -1) * weight + rows, layer_norm(x, {96}, weight, weight)};
  };
  for (const Tensor& x : views) {
    for (const CompileOptions& options : {interpreted(), CompileOptions{}}) {
      auto compiled = compile(f, options);
      const Tensors eager = f(x);
      for (int call = 0; call < 3; ++call) {
        const Tensors y = compiled(x);
        EXPECT_TRUE(same_bits(eager[0], y[0]));
        EXPECT_TRUE(same_bits(eager[1], y[1]));
      }
    }
  }
}

TEST(RowFusion, SeveralTrailingAxes) {
  const Tensor x = noise({4, 6, 8}, 15);
  const Program p{"trailing",
                  [](const Tensor& t) -> Tensors {
                    Tensor d = t * 0.5;
                    return {d - d.mean({1, 2}, true), layer_norm(d, {6, 8})};
                  },
                  1};
  check(p, x, interpreted());
  check(p, x, {});
}

// Gradients are programs like others: those of softmax and layer_norm fuse with their neighbours.
TEST(RowFusion, Gradients) {
  Tensor w = noise({64}, 16).requires_grad_();
  auto f = [&](const Tensor& t) -> Tensors {
    Tensor x = t.detach().requires_grad_();
    Tensor y = softmax(layer_norm(x * 2, {64}, w) + x, -1);
    (y * y).sum().backward();
    Tensor g = w.grad().clone();
    w.mutable_grad() = {};
    return {x.grad(), g, y.detach()};
  };
  const Tensor x = noise({20, 64}, 17);
  const Tensors eager = f(x);
  for (const CompileOptions& options : {interpreted(), CompileOptions{}}) {
    auto compiled = compile(f, options);
    for (int call = 0; call < 3; ++call) {
      const Tensors y = compiled(x);
      for (std::size_t i = 0; i < eager.size(); ++i) EXPECT_TRUE(same_bits(eager[i], y[i])) << i;
    }
    const Ledger ledger = compiled.ledger();
    EXPECT_LT(ledger.launches_compiled, ledger.launches_eager / 2) << ledger.table();
  }
}

TEST(RowFusion, ShortRowsAndOtherAxesStayApart) {
  for (auto [shape, axis] : {std::pair<Dims, int>{{50, 8}, 1}, {{50, 64}, 0}}) {
    auto compiled = compile([axis = axis](const Tensor& x) { return softmax(x * 2, axis); });
    const Tensor x = noise(shape, 18);
    (void)compiled(x);
    EXPECT_TRUE(same_bits(softmax(x * 2, axis), compiled(x)));
    EXPECT_EQ(compiled.ledger().launches_compiled, 2);
  }
}

TEST(RowFusion, ThreadsDoNotChangeBits) {
  const Tensor x = noise({300, 500}, 19);
  const int threads = num_threads();
  for (const Program& p : programs()) {
    auto compiled = compile(p.f);
    (void)compiled(x);
    set_num_threads(1);
    const Tensors one = compiled(x);
    set_num_threads(3);
    const Tensors three = compiled(x);
    for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(same_bits(one[i], three[i])) << p.name;
  }
  set_num_threads(threads);
}

}  // namespace
}  // namespace ingot
