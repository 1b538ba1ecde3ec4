// Trains a small MLP on Fashion-MNIST, or on any data set in MNIST's format.
#include <chrono>
#include <cstdio>
#include <stdexcept>

#include <ingot/ingot.h>

#include "support/device.h"
#include "support/flags.h"
#include "support/json.h"
#include "support/progress.h"

namespace {

using namespace ingot;

struct Net : nn::Module {
  nn::Linear fc1{784, 256}, fc2{256, 128}, fc3{128, 10};
  INGOT_MODULE(Net, fc1, fc2, fc3)

  Tensor operator()(const Tensor& x) { return fc3(relu(fc2(relu(fc1(x.flatten(1)))))); }
};

struct Settings {
  std::string data = "/usr/share/datasets/fashion-mnist", device = "cpu", profile, json;
  int epochs = 5, threads = 0;
  std::uint64_t seed = 1;
  bool compiled = false;
};

struct Result {
  std::vector<float> losses;  // of every step
  double accuracy = 0, samples_per_s = 0;
  std::string ledger, verdict, table;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template <class... A>
std::string text(const char* format, A... args) {
  char line[160];
  std::snprintf(line, sizeof line, format, args...);
  return line;
}

double accuracy(Net& net, const data::DataLoader& batches) {
  NoGradGuard no_grad;
  net.eval();
  i64 right = 0;
  for (auto [x, y] : batches) right += net(x).argmax(1).eq(y).sum().item<i64>();
  net.train();
  return static_cast<double>(right) / static_cast<double>(batches.dataset().size());
}

struct Batches {
  data::DataLoader training, test;
};

Batches load(const Settings& settings) {
  const Device device(settings.device);
  const bool gpu = device.is_cuda();
  data::Dataset training = data::idx(settings.data, true);
  data::Dataset test = data::idx(settings.data, false);
  const data::MeanStd pixels = training.mean_std();
  training.normalize(pixels);
  test.normalize(pixels);
  std::printf("%lld training and %lld test images of %s; pixels: mean %.4f, deviation %.4f\n",
              static_cast<long long>(training.size()), static_cast<long long>(test.size()),
              settings.data.c_str(), pixels.mean, pixels.std);
  return {data::DataLoader(training, {.batch_size = 128,
                                      .shuffle = true,
                                      .seed = settings.seed,
                                      .device = device,
                                      .pin_memory = gpu}),
          data::DataLoader(test, {.batch_size = 1000, .device = device, .pin_memory = gpu})};
}

// A few steps after the first ones are recorded, for the verdict; the others run unobserved.
profiler::Options window(const Settings& settings) {
  profiler::Options options;
  options.schedule = profiler::Schedule{.wait = 1, .warmup = 1, .active = 10, .skip_first = 10};
  if (!settings.profile.empty()) options.on_trace_ready = profiler::trace_handler(settings.profile);
  return options;
}

template <class Step>
Result train(const Settings& settings, const Batches& batches, Net& net, const Step& step) {
  Result result;
  profiler::Session session(window(settings));
  const double samples = static_cast<double>(batches.training.dataset().size());
  double total_s = 0;
  for (int epoch = 1; epoch <= settings.epochs; ++epoch) {
    examples::Progress progress(text("epoch %d/%d", epoch, settings.epochs),
                                batches.training.size());
    const auto start = std::chrono::steady_clock::now();
    double sum = 0;
    i64 done = 0;
    for (auto [x, y] : batches.training) {
      result.losses.push_back(step(x, y).template item<float>());
      sum += result.losses.back();
      session.step();
      progress.update(++done, [&] { return text("loss %.4f", sum / static_cast<double>(done)); });
    }
    const double s = seconds_since(start);
    total_s += s;
    result.accuracy = accuracy(net, batches.test);
    progress.finish(text("loss %.4f, test accuracy %.4f, %.0f samples/s",
                         sum / static_cast<double>(done), result.accuracy, samples / s));
  }
  if (settings.epochs == 0) result.accuracy = accuracy(net, batches.test);
  if (total_s > 0) result.samples_per_s = samples * settings.epochs / total_s;

  constexpr std::size_t kStepsOfWindow = 22;
  session.stop();
  if (result.losses.size() >= kStepsOfWindow) {
    result.verdict = profiler::to_string(session.verdict());
    if (!settings.profile.empty()) result.table = session.key_averages().table({.row_limit = 15});
  } else {
    result.verdict = text("no verdict: it needs %zu steps", kStepsOfWindow);
  }
  return result;
}

Result run(const Settings& settings) {
  const Device device = examples::device_of(settings.device);
  const Batches batches = load(settings);
  manual_seed(settings.seed);
  Net net;
  net.to(device);
  optim::AdamW adam(net.parameters(), {.lr = 1e-3});
  const auto step = [&](const Tensor& x, const Tensor& y) {
    adam.zero_grad();
    Tensor loss = cross_entropy(net(x), y);
    loss.backward();
    adam.step();
    return loss;
  };
  if (!settings.compiled) return train(settings, batches, net, step);
  const auto compiled = compile(step, {.name = "train_step"});
  Result result = train(settings, batches, net, compiled);
  result.ledger = compiled.ledger().table();
  return result;
}

void report(const Settings& settings, const Result& result) {
  if (!result.losses.empty()) std::printf("last step's loss %.9g; ", result.losses.back());
  std::printf("test accuracy %.4f; %.0f samples/s (data loading included)\n", result.accuracy,
              result.samples_per_s);
  std::printf("%s%s%s\n", result.ledger.c_str(), result.table.c_str(), result.verdict.c_str());
  if (settings.json.empty()) return;
  examples::JsonObject object;
  object.add("device", settings.device)
      .add("compiled", settings.compiled)
      .add("seed", settings.seed)
      .add("epochs", settings.epochs)
      .add("threads", num_threads())
      .add("losses", result.losses)
      .add("test_accuracy", result.accuracy)
      .add("samples_per_s", result.samples_per_s);
  examples::write_file(settings.json, object.str());
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  examples::Flags flags("fashion_mnist",
                        "Trains an MLP (784-256-128-10, relu, AdamW) on Fashion-MNIST.");
  flags.add_switch("--compile", "compiles the training step", &settings.compiled);
  flags.add("--epochs", "N", "passes over the training set", &settings.epochs, 0);
  flags.add("--seed", "N", "fixes initial weights and the order of samples", &settings.seed);
  flags.add("--device", "D", "cpu, cuda or cuda:N", &settings.device);
  flags.add("--threads", "N", "CPU threads, 0 for one per core", &settings.threads, 0);
  flags.add("--profile", "DIR", "writes a trace of ten steps there and prints its table",
            &settings.profile);
  flags.add("--data", "DIR", "a folder in MNIST's format", &settings.data);
  flags.add("--json", "FILE", "writes settings, each step's loss and the results", &settings.json);
  if (const auto code = flags.parse(argc, argv)) return *code;
  try {
    if (settings.threads != 0) ingot::set_num_threads(settings.threads);
    report(settings, run(settings));
  } catch (const std::invalid_argument& mistake) {
    std::fprintf(stderr, "fashion_mnist: %s\n", mistake.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fashion_mnist: %s\n", error.what());
    return 1;
  }
}
