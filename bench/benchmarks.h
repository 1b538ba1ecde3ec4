// The benchmarks by name.
// Owns: which function gives which rows. Must not know: how rows are shown.
#pragma once

#include <string>
#include <vector>

#include "harness.h"

namespace bench {

struct Benchmark {
  std::vector<std::string> rows;  // the names that run() gives, in order
  std::vector<Row> (*run)();
};

// In the order of the table.
const std::vector<Benchmark>& benchmarks();

std::vector<Row> eager_add();      // eager_add_64
std::vector<Row> linear();         // eager_linear_64, compiled_linear_64
std::vector<Row> chain();          // chain8_4m
std::vector<Row> user_row();       // user_row_4m
std::vector<Row> mlp_step();       // mlp_step
std::vector<Row> first_call();     // first_call_chain8, disk_call_chain8
std::vector<Row> guard_replay();   // guard_replay, guard_replay_grad
std::vector<Row> profiler_cost();  // profiler_off, profiler_on

// The process that first_call() starts: times the first compiled call and prints what it saw.
int first_call_child();
inline constexpr const char* kFirstCallChild = "--first-call-child";

}  // namespace bench
