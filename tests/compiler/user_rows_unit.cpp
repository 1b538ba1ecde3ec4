// Compiled twice, with the flags of two users; UNIT is the name of what it defines.
#include "user_rows_unit.h"

#include <ingot/ingot.h>

namespace ingot::user_rows {
namespace UNIT_SPACE {

// Products beside sums, which contraction would change, and functions with explicit fma.
INGOT_ROW(Mixed, {
  static constexpr const char* name = "mixed";
  template <class S>
  static S value(S x) {
    return x * x * S(0.3) + x * S(1.7) + tanh(x) * exp(x * S(0.1)) - S(0.123);
  }
  template <class S>
  static S grad(S x, S y, S dy) {
    return dy * (x * S(0.6) + y * S(1.7) + sin(x) * x);
  }
});

std::vector<Tensor> run(const Tensor& x) {
  Tensor leaf = x.clone();
  leaf.requires_grad_();
  Tensor y = op<Mixed>(leaf * 1.1 + 0.3) * 0.7 - 1.9;
  y.sum().backward();
  return {y.detach(), leaf.grad()};
}

std::vector<Tensor> run_compiled(const Tensor& x) {
  static auto f = compile(run);
  return f(x);
}

}  // namespace UNIT_SPACE

extern const Unit UNIT{UNIT_SPACE::run, UNIT_SPACE::run_compiled};

}  // namespace ingot::user_rows
