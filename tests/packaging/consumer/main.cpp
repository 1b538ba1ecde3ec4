// What a user's first program does: a small layer, its gradient, and the same layer compiled.
#include <iostream>

#include <ingot/ingot.h>

int main() {
  const ingot::Tensor x = ingot::randn({32, 16});
  ingot::Tensor weight = ingot::randn({16, 8}).requires_grad_();
  ingot::Tensor bias = ingot::zeros({8}).requires_grad_();

  const auto layer = [&](const ingot::Tensor& input) { return tanh(matmul(input, weight) + bias); };
  layer(x).sum().backward();
  if (!weight.grad().defined() || !bias.grad().defined()) return 1;

  const ingot::NoGradGuard no_grad;
  auto compiled = ingot::compile(layer);
  const ingot::Tensor eager = layer(x);
  for (int call = 0; call < 4; ++call) {
    if (!equal(compiled(x), eager)) return 2;
  }
  std::cout << compiled.ledger() << eager.sum() << '\n';
  return 0;
}
