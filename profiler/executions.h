// The GPU's work by what it was for: one entry for each op that a GPU ran, however many kernels,
// copies and sets it took.
// Owns: that grouping, and which of the GPU's units an execution's arithmetic is measured by. Must
// not know: tables, verdicts.
#pragma once

#include <string>
#include <vector>

#include <ingot/profiler/profiler.h>
#include <ingot/profiler/timeline.h>

namespace ingot::profiler {

// Units of different speed.
enum class Peak : std::uint8_t { f32, f64, tf32, half };

struct Execution {
  // The launch's slice, and its API call's (-1: none known). Without a slice the work belongs to no
  // event: a copy outside of ops, a kernel of other libraries.
  int lane = -1, slice = -1, call_lane = -1, call = -1;
  const GraphOp* op = nullptr;  // of a CUDA graph
  const GpuWork* first = nullptr;
  const Cost* cost = nullptr;  // nullptr: unknown
  Peak peak = Peak::f32;
  std::int64_t device = 0;  // ns, the pieces added up
  int pieces = 0;           // kernels, copies and sets
};

// By the begin of their first pieces.
std::vector<Execution> executions(const Timeline& timeline);

double flops_per_s(const Roofline& roofline, Peak peak);

// An operand's dtype, where known, and a kernel's name say which units a product ran on.
Peak peak_of(DType dtype, bool is_product, std::string_view kernel);

}  // namespace ingot::profiler
