// Forty lines as a user writes them; the front end's time over them is measured.
#include <iostream>
#include <vector>

#include <ingot/ingot.h>

using namespace ingot;

struct Net : nn::Module {
  nn::Linear hidden{784, 256}, out{256, 10};
  Net() { register_module("hidden", hidden), register_module("out", out); }
  Tensor forward(const Tensor& x) { return out(relu(hidden(x))); }
};

static Tensor standardise(const Tensor& x) {
  const Tensor mean = x.mean({1}, true);
  const Tensor centred = x - mean;
  return centred * rsqrt((centred * centred).mean({1}, true) + 1e-5);
}

int main() {
  Net net;
  optim::AdamW adam(net.parameters(), {.lr = 1e-3});
  auto step = compile([&](const Tensor& x, const Tensor& y) {
    adam.zero_grad();
    Tensor loss = cross_entropy(net.forward(standardise(x)), y);
    loss.backward();
    adam.step();
    return loss;
  });
  std::vector<double> losses;
  for (int i = 0; i < 10; ++i) {
    const Tensor x = randn({128, 784}), y = randint(0, 10, {128});
    losses.push_back(step(x, y).item<float>());
  }
  const Tensor logits = net.forward(randn({4, 784}));
  const Tensor first = logits[{0, Slice(0, 5)}];
  std::cout << softmax(logits, 1) << first << argmax(logits, 1) << '\n';
  for (double loss : losses) std::cout << loss << '\n';
  std::cout << step.ledger();
}
