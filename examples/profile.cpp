// A lab: what the profiler says of one step at sizes that are limited by different things. The step
// is relu(x w + b), eager and compiled, and a chain of elementwise ops over many numbers; each has
// its table, its verdict and, where asked for, its trace.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <ingot/ingot.h>

#include "support/device.h"
#include "support/flags.h"

using namespace ingot;

namespace {

Tensor layer(const Tensor& x, const Tensor& w, const Tensor& b) { return relu(matmul(x, w) + b); }

Tensor chain(const Tensor& a, const Tensor& b) {
  Tensor t = a * b + 1;
  t = t * sigmoid(t);
  return tanh(t) * 0.5 + a;
}

// Steps until the window that the schedule asks for is recorded.
template <class F>
void profile(const std::string& title, const std::string& trace, const F& step) {
  profiler::Options options;
  options.schedule = profiler::Schedule{.wait = 2, .warmup = 2, .active = 20};
  profiler::Session session(options);
  for (int i = 0; i < 24; ++i) {
    step();
    session.step();
  }
  session.stop();
  std::printf("\n== %s\n%s%s", title.c_str(),
              session.key_averages().table({.sort_by = "self_cuda_time_total"}).c_str(),
              to_string(session.verdict()).c_str());
  std::fflush(stdout);
  if (trace.empty()) return;
  const std::string path = trace + "/" + title + ".json";
  session.export_chrome_trace(path);
  std::printf("trace: %s\n", path.c_str());
}

void run(const std::string& device, const std::vector<std::int64_t>& sizes, std::int64_t elements,
         const std::string& trace) {
  const TensorOptions options{DType::f32, examples::device_of(device)};
  std::error_code error;
  if (!trace.empty()) std::filesystem::create_directories(trace, error);
  if (error) throw std::runtime_error("cannot make the folder " + trace + ": " + error.message());
  const NoGradGuard no_grad;
  for (const std::int64_t n : sizes) {
    const Tensor x = randn({n, n}, options), w = randn({n, n}, options), b = randn({n}, options);
    const auto compiled = compile(layer, {.name = "layer_" + std::to_string(n)});
    profile("layer_" + std::to_string(n) + "_eager", trace, [&] { (void)layer(x, w, b); });
    profile("layer_" + std::to_string(n) + "_compiled", trace, [&] { (void)compiled(x, w, b); });
  }
  if (elements == 0) return;
  const Tensor a = randn({elements}, options), b = randn({elements}, options);
  const auto compiled = compile(chain, {.name = "chain"});
  profile("chain_eager", trace, [&] { (void)chain(a, b); });
  profile("chain_compiled", trace, [&] { (void)compiled(a, b); });
}

}  // namespace

int main(int argc, char** argv) {
  std::string device = "cpu", trace;
  std::vector<std::int64_t> sizes = {64, 1024};
  std::int64_t elements = 1 << 22;
  examples::Flags flags("profile", "Tables and verdicts of relu(x w + b) and of a chain.");
  flags.add("--device", "D", "cpu, cuda or cuda:N", &device);
  flags.add("--n", "LIST", "sizes of the layer, separated by commas (64,1024)", &sizes, 1);
  flags.add("--chain", "N", "elements of the chain, 0 for none", &elements, std::int64_t{0});
  flags.add("--trace", "FOLDER", "writes a trace of each step into this folder", &trace);
  if (const std::optional<int> code = flags.parse(argc, argv)) return *code;
  try {
    run(device, sizes, elements, trace);
  } catch (const std::invalid_argument& mistake) {
    std::fprintf(stderr, "profile: %s\n", mistake.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "profile: %s\n", error.what());
    return 1;
  }
}
