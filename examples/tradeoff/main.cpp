// What does compiling cost, and when does it pay? The smallest program that shows all of it,
// matmul + add, from sizes at which calls cost more than arithmetic to sizes at which they do not.
// Eager runs each op as it is met. Compiled records the first call and replays the others: it must
// prove on every call that the recording still holds (the guard) before its plan runs.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "report.h"
#include "support/device.h"
#include "support/flags.h"
#include "support/json.h"

namespace {

using ingot::DType;

struct Settings {
  std::string device, dtype = "f32", trace, json;
  std::vector<std::int64_t> sizes;
};

// Throws std::invalid_argument for a value that no machine accepts, std::runtime_error for a GPU
// that is not there.
Setup setup_of(Settings& settings) {
  if (settings.device.empty()) settings.device = ingot::cuda::is_available() ? "cuda" : "cpu";
  if (settings.sizes.empty()) {
    settings.sizes = {16, 32, 64, 128, 256, 512, 1024};
    if (settings.device != "cpu") settings.sizes.insert(settings.sizes.end(), {2048, 4096});
  }
  for (const std::int64_t n : settings.sizes) {
    if (n > 16384) throw std::invalid_argument("--n takes sizes from 1 to 16384");
  }
  std::sort(settings.sizes.begin(), settings.sizes.end());
  Setup setup;
  if (settings.dtype == "f64") {
    setup.dtype = DType::f64;
  } else if (settings.dtype == "bf16") {
    setup.dtype = DType::bf16;
  } else if (settings.dtype == "tf32") {
    setup.tf32 = true;
  } else if (settings.dtype != "f32") {
    throw std::invalid_argument("--dtype takes f32, f64, bf16 or tf32, got \"" + settings.dtype +
                                "\"");
  }
  setup.device = examples::device_of(settings.device);
  if (setup.device.is_cpu() && setup.tf32) {
    throw std::invalid_argument("--dtype tf32 is for GPUs");
  }
  ingot::cuda::set_allow_tf32(setup.tf32);
  return setup;
}

void run(const Settings& settings, const Setup& setup) {
  print_heading(setup);
  std::vector<Pair> pairs;
  for (const std::int64_t n : settings.sizes) {
    pairs.push_back(measure(n, setup));
    print_pair(pairs.back(), setup);
  }
  print_legend(setup);

  std::vector<Pair> ends = {pairs.front()};
  if (pairs.size() > 1) ends.push_back(pairs.back());
  print_profiles(ends);
  print_conclusion(pairs);

  if (!settings.json.empty()) examples::write_file(settings.json, to_json(pairs, setup));
  if (!settings.trace.empty()) {
    write_trace(settings.trace, {settings.sizes.front(), settings.sizes.back()}, setup);
    std::printf("\ntrace of %s: open it in https://ui.perfetto.dev\n", settings.trace.c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  examples::Flags flags("tradeoff",
                        "matmul + add, eager against compiled: host time, kernel time, what "
                        "compiling costs and when it pays.");
  flags.add("--device", "D", "cpu, cuda or cuda:N (cuda where there is a GPU)", &settings.device);
  flags.add("--n", "LIST", "sizes, separated by commas (16,32,... 1024; on a GPU 4096)",
            &settings.sizes, 1);
  flags.add("--dtype", "T", "f32, f64 or bf16; on a GPU also tf32", &settings.dtype);
  flags.add("--trace", "FILE", "writes a Chrome trace of the smallest and the largest size",
            &settings.trace);
  flags.add("--json", "FILE", "writes all rows", &settings.json);
  if (const std::optional<int> code = flags.parse(argc, argv)) return *code;
  try {
    const Setup setup = setup_of(settings);
    run(settings, setup);
  } catch (const std::invalid_argument& mistake) {
    std::fprintf(stderr, "tradeoff: %s\n", mistake.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tradeoff: %s\n", error.what());
    return 1;
  }
}
