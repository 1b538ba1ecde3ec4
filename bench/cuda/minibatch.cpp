// A minibatch of a resident data set: rows that lie elsewhere in each call, through a linear layer
// and a softmax. What counts is the host's time.
#include <fmt/format.h>

#include <ingot/ingot.h>

#include "limits/cuda/launches.h"
#include "rows.h"
#include "timing.h"

namespace bench::gpu {

using namespace ingot;

std::vector<Row> minibatch() {
  constexpr i64 kImages = 60000, kPixels = 784, kClasses = 10, kBatch = 100;
  const Tensor x = randn({kImages, kPixels}, kCUDA), w = randn({kClasses, kPixels}, kCUDA),
               b = randn({kClasses}, kCUDA);
  const auto function = [&](const Tensor& part) { return softmax(linear(part, w, b), 1); };
  const auto compiled = compile(function, {.name = "minibatch"});
  const auto batch = [&](int call) {
    const i64 i = call % (kImages / kBatch);
    return x.slice(0, i * kBatch, (i + 1) * kBatch);
  };
  const KernelGraph two(2);
  const std::vector<Call> calls = {
      [&](int i) { (void)function(batch(i)); },
      [&](int i) { (void)compiled(batch(i)); },
      [&](int) { two.launch_patched(); },
  };
  const std::vector<Series> host = host_race(calls, {.seconds = 1, .rounds = 15}),
                            wall = wall_race(calls);
  Row row = row_of("minibatch", host[1], host[0], "the same, eager, host");
  constexpr double kAllowed = 0.4;
  judge(row, kAllowed);
  const Ledger ledger = compiled.ledger();
  row.note = fmt::format(
      "wall {:.1f} us, eager {:.1f}; a graph of two kernels with one node set anew {:.1f} us; "
      "matching {:.1f} us; {} of {} calls were one graph launch, {} of them updates; {} graphs",
      wall[1].median(), wall[0].median(), host[2].median(), ledger.replay_ns.median / 1000,
      ledger.graphs.launches, ledger.calls, ledger.graphs.updates, ledger.graphs.recorded);
  return {row};
}

}  // namespace bench::gpu
