// One epoch of Fashion-MNIST with the whole step compiled and profiled, then a tour of creating
// and indexing tensors.
//   train_mlp [--data DIR] [--steps N] [--trace FILE]
#include <cstdio>
#include <exception>
#include <iostream>
#include <stdexcept>

#include <ingot/ingot.h>

#include "support/flags.h"

using namespace ingot;

namespace {

struct Net : nn::Module {
  nn::Linear fc1{784, 256}, fc2{256, 128}, fc3{128, 10};
  INGOT_MODULE(Net, fc1, fc2, fc3)

  Tensor operator()(const Tensor& x) { return fc3(relu(fc2(relu(fc1(x.flatten(1)))))); }
};

struct Settings {
  std::string data = "/usr/share/datasets/fashion-mnist", trace;
  int steps = 0;  // 0: all of the epoch
};

void train(const Settings& settings) {
  manual_seed(1);
  Net net;
  optim::AdamW optimizer(net.parameters(), {.lr = 1e-3});
  data::DataLoader batches(data::idx(settings.data, true),
                           {.batch_size = 128, .shuffle = true, .seed = 1});
  auto step = compile(
      [&](const Tensor& x, const Tensor& y) {
        optimizer.zero_grad();
        Tensor loss = cross_entropy(net(x), y);
        loss.backward();
        optimizer.step();
        return loss;
      },
      {.name = "train_step"});

  profiler::Session session({.schedule = profiler::Schedule{}});
  double total = 0;
  i64 steps = 0;
  for (auto [x, y] : batches) {
    total += step(x, y).item<float>();
    ++steps;
    session.step();
    if (steps == settings.steps) break;
  }
  session.stop();
  std::cout << session.key_averages().table({.sort_by = "self_cpu_time_total", .row_limit = 12})
            << session.verdict() << step.ledger();
  if (!settings.trace.empty()) session.export_chrome_trace(settings.trace);
  std::printf("mean loss of %lld steps: %.4f\n", static_cast<long long>(steps),
              total / static_cast<double>(steps));
}

void tour() {
  Tensor z = zeros({2, 4}), weights = ones({4}, dtype(kFloat).requires_grad());
  std::vector<float> values(12, 0.5F);
  Tensor w = from_vector(values, {values.size() / 4, 4});
  z[0] = 1.0;                              // a row
  w[{Slice(0, 2), All}] = z;               // two rows at once
  w[{Ellipsis, Slice({}, {}, 2)}] = 0.25;  // every second column
  Tensor s = 1 - w * 2 + w / 3.0F;
  auto [largest, where_it_is] = max(s, 1);
  Tensor positive = s > 0;
  std::cout << w << '\n'
            << s.sum({0, 1}).item<float>() << '\n'
            << s.sum(0) << s.mean() << '\n'
            << largest << where_it_is << positive << weights << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  examples::Flags flags("train_mlp", "A compiled and profiled epoch of Fashion-MNIST, and a tour.");
  flags.add("--data", "DIR", "folder with the four IDX files", &settings.data);
  flags.add("--steps", "N", "steps of training, 0: an epoch", &settings.steps, 0);
  flags.add("--trace", "FILE", "writes a Chrome trace", &settings.trace);
  if (const std::optional<int> code = flags.parse(argc, argv)) return *code;
  try {
    train(settings);
    tour();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "train_mlp: %s\n", e.what());
    return 1;
  }
}
