// A lab: what the guard of a compiled function costs, and that it does not go stale.
// A chain of n ops is compiled with a captured tensor; the capture is swapped for another one
// between two calls. The replayed call must see the new one, and the ledger says what checking
// cost.
#include <cstdio>

#include <ingot/ingot.h>

#include "support/flags.h"

using namespace ingot;

int main(int argc, char** argv) {
  const examples::Flags flags(
      "guard_cost", "What the guard of a compiled function costs, and that it does not go stale.");
  if (const auto code = flags.parse(argc, argv)) return *code;
  NoGradGuard no_grad;
  bool all_right = true;
  for (int n : {1, 2, 4, 8, 16, 32, 64}) {
    Tensor x = randn({64, 64}), scale = full({1}, 0.5);
    auto chain = [&](const Tensor& a) {
      Tensor t = a;
      for (int i = 0; i < n; ++i) t = tanh(t) * scale;
      return t;
    };
    auto compiled = compile(chain, {.name = "chain"});
    for (int i = 0; i < 1000; ++i) (void)compiled(x);
    double ns = compiled.ledger().replay_ns.median;
    scale = full({1}, 2.0);
    bool right = equal(compiled(x), chain(x));
    all_right &= right;
    std::printf("%3d ops: replay %6.0f ns, %4.1f ns an op; after the swap %s\n", 2 * n, ns,
                ns / (2 * n), right ? "right" : "WRONG");
  }
  Ledger l = compare([](const Tensor& a, const Tensor& b) { return matmul(a, b) + 1; },
                     randn({64, 64}), randn({64, 64}));
  std::printf("%s\n", l.table().c_str());
  return all_right ? 0 : 1;
}
