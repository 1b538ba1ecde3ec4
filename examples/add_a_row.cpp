// An op of one's own: squareplus, a smooth relu. It is differentiated, fused with its neighbours
// and checked like a built-in op. docs/rows.md explains each line of the row.
#include <iostream>

#include <ingot/ingot.h>

#include "support/flags.h"

using namespace ingot;

INGOT_ROW(Squareplus, {  // (x + sqrt(x^2 + 4)) / 2
  static constexpr const char* name = "squareplus";
  template <class S>
  static S value(S x) {
    return (x + sqrt(x * x + S(4))) * S(0.5);
  }
  template <class S>
  static S grad(S x, S, S dy) {
    return dy * (S(1) + x / sqrt(x * x + S(4))) * S(0.5);
  }
});

int main(int argc, char** argv) {
  const examples::Flags flags(
      "add_a_row", "An op of one's own, differentiated, fused and checked like a built-in one.");
  if (const auto code = flags.parse(argc, argv)) return *code;
  Tensor x = randn({1 << 20}, requires_grad());
  auto f = compile([](const Tensor& a) { return op<Squareplus>(a * 2 + 1).sum(); });
  f(x).backward();
  std::cout << "the kernel's source:\n" << f.source() << '\n';

  const GradcheckResult check = gradcheck([](const Tensor& a) { return op<Squareplus>(a); },
                                          randn({16}, dtype(kDouble).requires_grad()));
  std::cout << check << "the row's text: " << Squareplus_text << '\n';
  return check ? 0 : 1;
}
