// A lab: what fusing along rows gains. Programs whose reductions and composites stand between
// elementwise ops, on matrices of several shapes, eager time over compiled time.
#include <cmath>
#include <cstdio>

#include <ingot/ingot.h>

#include "support/flags.h"

using namespace ingot;

namespace {

struct Program {
  const char* text;
  Tensor (*run)(const Tensor& x);
};

constexpr Program kPrograms[] = {
    {"softmax(x * s + 1)", [](const Tensor& x) { return softmax(x * 0.125 + 1, -1); }},
    {"gelu(layer_norm(x + tanh(x)))",
     [](const Tensor& x) { return gelu(layer_norm(x + tanh(x), {x.size(-1)})); }},
    {"x * rsqrt(mean(x * x) + eps) * s",
     [](const Tensor& x) { return x * rsqrt((x * x).mean({-1}, true) + 1e-6) * 0.5; }},
    {"softmax by hand",
     [](const Tensor& x) {
       Tensor e = exp(x - amax(x, {-1}, true));
       return e / e.sum({-1}, true);
     }},
    {"mean((x - 1)^2)", [](const Tensor& x) { return ((x - 1) * (x - 1)).mean(); }},
    {"sums of rows of x * 2 + 1", [](const Tensor& x) { return (x * 2 + 1).sum({-1}); }},
};

}  // namespace

int main(int argc, char** argv) {
  const examples::Flags flags("row_fusion",
                              "What fusing along rows gains: eager time over compiled time.");
  if (const auto code = flags.parse(argc, argv)) return *code;
  NoGradGuard no_grad;
  const Dims shapes[] = {{8, 64}, {64, 256}, {1024, 1024}, {4096, 128}};
  std::printf("f32, eager time over compiled time (medians, in turn)\n%-34s", "");
  for (const Dims& shape : shapes) std::printf("%14s", to_string(shape).c_str());
  bool same = true;
  for (const Program& program : kPrograms) {
    std::printf("\n%-34s", program.text);
    for (const Dims& shape : shapes) {
      const Tensor x = randn(shape);
      const auto compiled = compile(program.run);
      same &= equal(compiled(x), program.run(x)) && equal(compiled(x), program.run(x));
      std::printf("%14.2f", compare(compiled, x).speedup.value_or(std::nan("")));
      std::fflush(stdout);
    }
  }
  std::printf("\n%s\n", same ? "the bits are eager's" : "the bits DIFFER from eager's");
  return same ? 0 : 1;
}
