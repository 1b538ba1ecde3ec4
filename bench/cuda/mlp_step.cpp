// A whole training step of a small MLP on a GPU: 256-256-256-10, batch 64, gelu, cross-entropy,
// SGD. The peers that the target names are other programs; what is measured here beside it is a
// CUDA graph of as many tiny kernels.
#include <algorithm>

#include <fmt/format.h>

#include <ingot/ingot.h>

#include "limits/cuda/launches.h"
#include "mlp.h"
#include "rows.h"
#include "timing.h"

namespace bench::gpu {

using namespace ingot;

using mlp::kBatch, mlp::kClasses, mlp::kWide;

std::vector<Row> mlp_step() {
  mlp::Net net;
  net.to(kCUDA);
  optim::SGD sgd(net.parameters(), {.lr = 1e-3});
  const Tensor x = randn({kBatch, kWide}, kCUDA), y = randint(0, kClasses, {kBatch}, kCUDA);
  const auto step = [&](const Tensor& images, const Tensor& labels) {
    sgd.zero_grad();
    Tensor loss = cross_entropy(net(images), labels);
    loss.backward();
    sgd.step();
    return loss;
  };
  const auto compiled = compile(step, {.name = "mlp_step"});
  for (int i = 0; i < 3; ++i) (void)compiled(x, y);
  const int kernels = static_cast<int>(std::max<i64>(compiled.ledger().launches_compiled, 1));
  const KernelGraph graph(kernels);
  const std::vector<Call> calls = {
      [&](int) { graph.launch(); },
      [&](int) { (void)step(x, y); },
      [&](int) { (void)compiled(x, y); },
  };
  const std::vector<Series> wall = wall_race(calls, {.seconds = 1, .rounds = 15}),
                            host = host_race(calls);
  Row row =
      row_of("mlp_step", wall[2], wall[0], "as many dependent tiny kernels in one CUDA graph");
  row.target = "<= 0.5 x best peer";
  const Ledger ledger = compiled.ledger();
  row.note = fmt::format(
      "wall; host {:.1f} us; eager wall {:.0f}, host {:.0f} us; matching {:.1f} us; {} kernel "
      "bodies, eager {}; {} of {} calls were one graph launch; the best peer was 80 us on another "
      "such machine (its whole step in a CUDA "
      "graph)",
      host[2].median(), wall[1].median(), host[1].median(), ledger.replay_ns.median / 1000,
      ledger.launches_compiled, ledger.launches_eager, ledger.graphs.launches, ledger.calls);
  return {row};
}

}  // namespace bench::gpu
