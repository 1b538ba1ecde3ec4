// One or two small ops per call on a GPU: what counts is the host's work.
#include <fmt/format.h>

#include <ingot/ingot.h>

#include "limits/cuda/cublas.h"
#include "limits/cuda/launches.h"
#include "rows.h"
#include "timing.h"

namespace bench::gpu {

using namespace ingot;

namespace {

constexpr i64 kN = 64;

Tensor square_of(i64 n) { return randn({n, n}, kCUDA); }

Tensor matmul_add(const Tensor& x, const Tensor& w, const Tensor& b) { return matmul(x, w) + b; }

}  // namespace

std::vector<Row> eager_add() {
  const Tensor a = square_of(kN), b = square_of(kN);
  Tensor out = square_of(kN);
  const float *pa = a.data_ptr<float>(), *pb = b.data_ptr<float>();
  float* po = out.data_ptr<float>();
  const std::vector<Series> s = host_race({
      [&](int) { add(pa, pb, po, kN * kN); },
      [&](int) { (void)(a + b); },
  });
  constexpr double kAllowed = 1.15;
  Row row = row_of("eager_add_64", s[1], s[0], "one raw launch, host");
  judge(row, kAllowed);
  return {row};
}

std::vector<Row> eager_matmul() {
  const Tensor a = square_of(kN), b = square_of(kN);
  Tensor out = square_of(kN);
  const LtCall raw({kN, kN, kN});
  const void *pa = a.data_ptr(), *pb = b.data_ptr();
  void* po = out.data_ptr();
  const std::vector<Call> calls = {
      [&](int) { raw(pa, pb, nullptr, po); },
      [&](int) { (void)matmul(a, b); },
  };
  const std::vector<Series> s = host_race(calls), inside = graph_race(calls);
  constexpr double kAllowed = 1.15;
  Row row = row_of("eager_matmul_64", s[1], s[0], "one cublasLt call, descriptors kept, host");
  judge(row, kAllowed);
  row.note = fmt::format("on the GPU, inside a graph: {:.2f} us, cublasLt {:.2f}",
                         inside[1].median(), inside[0].median());
  return {row};
}

std::vector<Row> compiled_linear() {
  // Compiled is never slower than eager, at no size: on the host, and with the GPU's work awaited.
  std::string sizes;
  bool never_slower = true;
  for (const i64 n : {16, 64, 256, 1024, 4096}) {
    const Tensor x = square_of(n), w = square_of(n), b = randn({n}, kCUDA);
    const auto compiled = compile(matmul_add, {.name = "linear"});
    const std::vector<Call> calls = {
        [&](int) { (void)matmul_add(x, w, b); },
        [&](int) { (void)compiled(x, w, b); },
    };
    const Effort effort{.seconds = 0.3, .rounds = 7};
    const std::vector<Series> host = host_race(calls, effort), wall = wall_race(calls, effort);
    // Of equal work one is the faster by chance.
    constexpr double kChance = 1.01;
    never_slower = never_slower && host[1].median() <= kChance * host[0].median() &&
                   wall[1].median() <= kChance * wall[0].median();
    sizes += fmt::format("{}{}: {:.2f}, {:.2f}", sizes.empty() ? "" : "; ", n,
                         host[1].median() / host[0].median(), wall[1].median() / wall[0].median());
  }

  const Tensor x = square_of(kN), w = square_of(kN), b = randn({kN}, kCUDA);
  const auto compiled = compile(matmul_add, {.name = "linear_64"});
  const KernelGraph one(1);
  const std::vector<Series> s = host_race({
      [&](int) { one.launch(); },
      [&](int) { one.launch_patched(); },
      [&](int) { (void)matmul_add(x, w, b); },
      [&](int) { (void)compiled(x, w, b); },
  });
  constexpr double kAllowed_us = 2.5;
  Row row = row_of("compiled_linear_64", s[3], s[0], "launch of a graph of one kernel, host");
  row.target = "<= 2.5 us, eager";
  row.met = row.ours.median() <= kAllowed_us && never_slower;
  const Ledger ledger = compiled.ledger();
  row.note = fmt::format(
      "eager {:.2f} us, graph with one node set anew {:.2f}; matching {:.0f} ns; {} kernel bodies, "
      "eager {}; {} of {} calls were one graph launch; compiled over eager, host and wall, at n = "
      "{}",
      s[2].median(), s[1].median(), ledger.replay_ns.median, ledger.launches_compiled,
      ledger.launches_eager, ledger.graphs.launches, ledger.calls, sizes);
  return {row};
}

}  // namespace bench::gpu
