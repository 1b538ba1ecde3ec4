// ingot_bench: Ingot against the limits of the machine, row by row.
#include <cstdio>
#include <exception>
#include <optional>
#include <regex>
#include <stdexcept>

#include <ingot/ingot.h>

#include "benchmarks.h"
#include "child.h"
#include "support/flags.h"
#include "support/json.h"

namespace bench {

const std::vector<Benchmark>& benchmarks() {
  static const std::vector<Benchmark> all = {
      {{"eager_add_64"}, eager_add},
      {{"eager_linear_64", "compiled_linear_64"}, linear},
      {{"chain8_4m"}, chain},
      {{"user_row_4m"}, user_row},
      {{"masks_where_4m", "masks_positive_4m", "masks_keep_4m"}, masks},
      {{"many_cores_step", "many_cores_step_compiled", "many_cores_add_64k", "many_cores_tanh_64k",
        "many_cores_chain_64k", "many_cores_softmax_64k", "many_cores_sum_64k",
        "many_cores_copy_64k", "many_cores_matmul_128", "many_cores_matmul_256"},
       many_cores},
      {{"mlp_step"}, mlp_step},
      {{"first_call_chain8", "disk_call_chain8"}, first_call},
      {{"guard_replay", "guard_replay_grad"}, guard_replay},
      {{"profiler_off", "profiler_on"}, profiler_cost},
  };
  return all;
}

}  // namespace bench

namespace {

struct Settings {
  std::string filter, device = "cpu", json;
};

std::regex regex_of(const std::string& text) {
  try {
    return std::regex(text);
  } catch (const std::regex_error&) {
    throw std::invalid_argument("--filter is no regular expression: \"" + text + "\"");
  }
}

ingot::Device device_of(const std::string& text) {
  try {
    return ingot::Device(text);
  } catch (const ingot::Error& error) {
    throw std::invalid_argument("--device: " + std::string(error.what()));
  }
}

// The exit code.
int run(const Settings& settings) {
  const std::regex filter = regex_of(settings.filter);
  const bool on_gpu = device_of(settings.device).is_cuda();
  if (on_gpu && !ingot::cuda::is_available()) {
    throw std::runtime_error(ingot::cuda::unavailable_reason());
  }
  const auto wanted = [&](const std::string& name) { return std::regex_search(name, filter); };
  std::printf("%s\n", ingot::build_info().c_str());
  ingot::set_num_threads(std::min(2, ingot::num_threads()));
  std::printf("threads used here: %d (the targets are for two)\n\n", ingot::num_threads());
  std::vector<bench::Row> rows;
  int failed = 0;
  for (const bench::Benchmark& benchmark :
       on_gpu ? bench::cuda_benchmarks() : bench::benchmarks()) {
    if (std::none_of(benchmark.rows.begin(), benchmark.rows.end(), wanted)) continue;
    if (benchmark.only_by_name && settings.filter.empty()) continue;
    std::fprintf(stderr, "measuring %s ...\n", benchmark.rows.front().c_str());
    try {
      for (bench::Row& row : benchmark.run()) {
        if (wanted(row.name)) rows.push_back(std::move(row));
      }
    } catch (const std::exception& error) {
      // The others are worth having.
      std::fprintf(stderr, "ingot_bench: %s: %s\n", benchmark.rows.front().c_str(), error.what());
      ++failed;
    }
  }
  if (rows.empty() && failed == 0)
    throw std::invalid_argument("--filter matches no row: " + settings.filter);
  std::printf(
      "%s\nMedians, and the least of all samples beside them; spread is the distance of the "
      "quartiles.\n",
      bench::table(rows).c_str());
  if (!settings.json.empty()) examples::write_file(settings.json, bench::json(rows));
  return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  examples::Flags flags("ingot_bench",
                        "Measures Ingot against limits that are measured in the same run.");
  flags.add("--filter", "REGEX",
            "only the rows whose name matches; on cuda also the row lengths softmax_256 ... "
            "softmax_16384, ln_gelu_256 ..., which run only when asked for",
            &settings.filter);
  flags.add("--device", "D", "cpu, or cuda for the rows of a GPU", &settings.device);
  flags.add("--json", "FILE", "writes the rows", &settings.json);
  try {
    if (const std::optional<int> code = bench::child_main(argc, argv)) return *code;
    if (const std::optional<int> code = bench::cuda_child_main(argc, argv)) return *code;
    if (const std::optional<int> code = flags.parse(argc, argv)) return *code;
    return run(settings);
  } catch (const std::invalid_argument& mistake) {
    std::fprintf(stderr, "ingot_bench: %s\n", mistake.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ingot_bench: %s\n", error.what());
    return 1;
  }
}
