#include "rows.h"

#include <cstdlib>
#include <string_view>

#include "benchmarks.h"
#include "child.h"

namespace bench {

using gpu::Elements;

const std::vector<Benchmark>& cuda_benchmarks() {
  static const std::vector<Benchmark> all = [] {
    std::vector<Benchmark> list = {
        {{"eager_add_64"}, gpu::eager_add},
        {{"eager_matmul_64"}, gpu::eager_matmul},
        {{"compiled_linear_64"}, gpu::compiled_linear},
        {{"chain8_64m"}, gpu::chain},
        {{"chain8_64m_bf16"}, gpu::chain_bf16},
        {{"softmax_8kx4k"}, [] { return gpu::softmax_rows("softmax_8kx4k", 4096, Elements::f32); }},
        {{"ln_gelu_8kx4k"}, [] { return gpu::ln_gelu_rows("ln_gelu_8kx4k", 4096, Elements::f32); }},
        {{"colsum_32kx1k"}, gpu::column_sum},
        {{"linear_gelu_4096", "linear_gelu_4096_tf32", "linear_gelu_4096_bf16"},
         gpu::linear_gelu_4096},
        {{"mlp_step"}, gpu::mlp_step},
        {{"minibatch"}, gpu::minibatch},
        {{"first_call_chain8", "disk_call_chain8"}, gpu::first_call},
        {{"profiler_off", "profiler_on"}, gpu::profiler_cost},
    };
    const std::pair<const char*, Elements> steps[] = {{"gpt_step_bf16", Elements::bf16},
                                                      {"gpt_step_tf32", Elements::f32}};
    for (const auto& [step, type] : steps) {
      const std::string name = step;
      list.push_back({{name, name + "_to_eager", name + "_peak", name + "_launches"},
                      [name, of = type] { return gpu::gpt_step(name, of); }});
    }
    const std::pair<const char*, gpu::LinearShape> shapes[] = {
        {"linear_relu_64", {64, 64, 64}},
        {"linear_relu_128", {128, 128, 128}},
        {"linear_relu_256", {256, 256, 256}},
        {"linear_relu_64x1024x256", {64, 1024, 256}},
    };
    for (const auto& [name, shape] : shapes) {
      list.push_back({{name}, [name, shape] { return gpu::linear_relu(name, shape); }});
    }
    using Rows = std::vector<Row> (*)(const std::string&, long, Elements);
    const std::pair<const char*, Rows> families[] = {{"softmax_", gpu::softmax_rows},
                                                     {"ln_gelu_", gpu::ln_gelu_rows},
                                                     {"row_sums_", gpu::row_sums}};
    for (const long length : {256, 768, 1024, 2048, 3072, 4096, 8192, 12288, 16384}) {
      for (const auto& [family, rows] : families) {
        for (const Elements type : {Elements::f32, Elements::bf16}) {
          const std::string name =
              (type == Elements::f32 ? family : std::string(family) + "bf16_") +
              std::to_string(length);
          list.push_back({{name}, [=, run = rows] { return run(name, length, type); }, true});
        }
      }
    }
    return list;
  }();
  return all;
}

std::optional<int> cuda_child_main(int argc, char** argv) {
  if (argc != 4 || std::string_view(argv[1]) != gpu::kNvrtcChild) return {};
  return gpu::nvrtc_child(argv[2], std::atoi(argv[3]));
}

}  // namespace bench
