// A whole training step of a small MLP: 256-256-256-10, batch 64, gelu, cross-entropy, SGD.
#include <array>

#include <fmt/format.h>

#include <ingot/ingot.h>
#include <ingot/kernels/cpu/gemm.h>
#include <ingot/kernels/cpu/parallel.h>

#include "benchmarks.h"
#include "limits/limits.h"
#include "mlp.h"

namespace bench {

using namespace ingot;

namespace {

using mlp::kBatch, mlp::kClasses, mlp::kWide;

// Forward x W^T, and for each weight the gradient dy^T x; for each layer but the first dy W.
constexpr std::array<Product, 8> kProducts = {{
    {kBatch, kWide, kWide, false, true},
    {kBatch, kWide, kWide, false, true},
    {kBatch, kClasses, kWide, false, true},
    {kClasses, kWide, kBatch, true, false},
    {kBatch, kWide, kClasses, false, false},
    {kWide, kWide, kBatch, true, false},
    {kBatch, kWide, kWide, false, false},
    {kWide, kWide, kBatch, true, false},
}};

struct Buffers {
  // Of one product; each has its own, as in the step.
  Tensor a = randn({kWide, kWide}), b = randn({kWide, kWide}), c = empty({kWide, kWide});
  const float *pa = a.data_ptr<float>(), *pb = b.data_ptr<float>();
  float* pc = c.data_ptr<float>();
};

void by_eigen(const std::array<Buffers, 8>& buffers) {
  constexpr i64 kRows = 32;
  const Limits& raw = limits();
  for (std::size_t i = 0; i < kProducts.size(); ++i) {
    const Product& p = kProducts[i];
    const Buffers& at = buffers[i];
    parallel_for(p.m, kRows,
                 [&](i64 begin, i64 end) { raw.product_rows(p, at.pa, at.pb, at.pc, begin, end); });
    keep(at.pc);
  }
}

void by_own_kernel(const std::array<Buffers, 8>& buffers) {
  for (std::size_t i = 0; i < kProducts.size(); ++i) {
    const Product& p = kProducts[i];
    const Buffers& at = buffers[i];
    GemmArgs g{};
    g.m = p.m, g.n = p.n, g.k = p.k;
    g.a = at.pa, g.b = at.pb, g.c = at.pc;
    g.a_row = p.a_transposed ? 1 : p.k, g.a_col = p.a_transposed ? p.m : 1;
    g.b_row = p.b_transposed ? 1 : p.n, g.b_col = p.b_transposed ? p.k : 1;
    g.c_row = p.n, g.alpha = 1;
    gemm(DType::f32, g);
    keep(at.pc);
  }
}

}  // namespace

std::vector<Row> mlp_step() {
  mlp::Net net;
  optim::SGD sgd(net.parameters(), {.lr = 1e-3});
  const Tensor x = randn({kBatch, kWide}), y = randint(0, kClasses, {kBatch});
  const auto step = [&](const Tensor& images, const Tensor& labels) {
    sgd.zero_grad();
    Tensor loss = cross_entropy(net(images), labels);
    loss.backward();
    sgd.step();
    return loss;
  };
  const auto compiled = compile(step, {.name = "mlp_step"});
  const std::array<Buffers, 8> buffers{};
  const std::vector<Series> s = race({
                                         [&] { by_eigen(buffers); },
                                         [&] { by_own_kernel(buffers); },
                                         [&] { (void)step(x, y); },
                                         [&] { (void)compiled(x, y); },
                                     },
                                     {.seconds = 5, .rounds = 50});
  const bool eigen = s[0].median() <= s[1].median();
  const Series& limit = eigen ? s[0] : s[1];
  const Ledger ledger = compiled.ledger();
  constexpr double kAllowed = 1.4;
  Row row{.name = "mlp_step", .unit = "us"};
  row.ours = s[3];
  row.limit = limit.median();
  row.limit_least = limit.least();
  row.limit_name = fmt::format(
      "its eight products alone, the faster of {}, {} threads",
      eigen ? "Eigen (this) and own kernels" : "own kernels (this) and Eigen", num_threads());
  row.target = "<= 1.4 x";
  row.met = row.ratio() <= kAllowed;
  row.note = fmt::format(
      "eager {:.0f} us (least {:.0f}); Eigen {:.0f}, own kernels {:.0f} us; matching {:.1f} us; "
      "{} kernel bodies, eager {}",
      s[2].median(), s[2].least(), s[0].median(), s[1].median(), ledger.replay_ns.median / 1000,
      ledger.launches_compiled, ledger.launches_eager);
  return {row};
}

}  // namespace bench
