// The rows of a GPU by name.
// Owns: which function gives which rows. Must not know: how rows are shown.
#pragma once

#include <string>
#include <vector>

#include "harness.h"

namespace bench::gpu {

std::vector<Row> eager_add();        // eager_add_64
std::vector<Row> eager_matmul();     // eager_matmul_64
std::vector<Row> compiled_linear();  // compiled_linear_64
std::vector<Row> chain();            // chain8_64m
std::vector<Row> chain_bf16();       // chain8_64m_bf16
// Rows of `length` elements in f32, or bf16, 32M elements in all.
enum class Elements { f32, bf16 };
std::vector<Row> softmax_rows(const std::string& name, long length, Elements type);
std::vector<Row> ln_gelu_rows(const std::string& name, long length, Elements type);
std::vector<Row> row_sums(const std::string& name, long length, Elements type);
std::vector<Row> column_sum();  // colsum_32kx1k
struct LinearShape {
  long m, n, k;
};
std::vector<Row> linear_relu(const std::string& name, LinearShape shape);
std::vector<Row> linear_gelu_4096();  // linear_gelu_4096, linear_gelu_4096_bf16
std::vector<Row> minibatch();         // minibatch
std::vector<Row> mlp_step();          // mlp_step
// NAME, and with _to_eager, _peak (memory) and _launches added to it.
std::vector<Row> gpt_step(const std::string& name, Elements type);
std::vector<Row> first_call();     // first_call_chain8, disk_call_chain8
std::vector<Row> profiler_cost();  // profiler_off, profiler_on

// A process that compiles the file argv[2] by NVRTC alone: see first_call().
int nvrtc_child(const char* source, int architecture);
inline constexpr const char* kNvrtcChild = "--nvrtc-child";

}  // namespace bench::gpu
