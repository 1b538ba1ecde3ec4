// The benchmarks by name.
// Owns: which function gives which rows. Must not know: how rows are shown.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness.h"

namespace bench {

struct Benchmark {
  std::vector<std::string> rows;  // the names that run() gives, in order
  std::function<std::vector<Row>()> run;
  bool only_by_name = false;  // left out unless a filter names it
};

// In the order of the table: of the CPU, and of a GPU (none where the build has no CUDA).
const std::vector<Benchmark>& benchmarks();
const std::vector<Benchmark>& cuda_benchmarks();

std::vector<Row> eager_add();      // eager_add_64
std::vector<Row> linear();         // eager_linear_64, compiled_linear_64
std::vector<Row> chain();          // chain8_4m
std::vector<Row> user_row();       // user_row_4m
std::vector<Row> masks();          // masks_where_4m, masks_positive_4m, masks_keep_4m
std::vector<Row> many_cores();     // many_cores_*
std::vector<Row> mlp_step();       // mlp_step
std::vector<Row> first_call();     // first_call_chain8, disk_call_chain8
std::vector<Row> guard_replay();   // guard_replay, guard_replay_grad
std::vector<Row> profiler_cost();  // profiler_off, profiler_on
Row profiler_off();

}  // namespace bench
