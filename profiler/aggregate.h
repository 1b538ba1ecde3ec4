// From a timeline to rows.
// Owns: which slices share a row, and what Averages holds.
// Must not know: how events were recorded, how rows are printed.
#pragma once

#include <string>
#include <vector>

#include <ingot/profiler/averages.h>
#include <ingot/profiler/executions.h>
#include <ingot/profiler/profiler.h>
#include <ingot/profiler/timeline.h>

namespace ingot::profiler {

// Operations that a transcendental function counts as against the roofline.
inline constexpr double kTranscendentalOps = 16;

// The least time, in ns, in which the machine can do this work.
struct LeastTime {
  double memory = 0, compute = 0;
  double ns() const { return memory > compute ? memory : compute; }
};
LeastTime least_time(const Cost& cost, const Roofline& roofline, Peak peak = Peak::f32);

// The name a slice has in tables and traces: ops as "aten::add", phases as "compile: codegen".
std::string shown_name(const Slice& slice);

// A kernel body directly inside the op that it belongs to.
bool belongs_to_parent(const Lane& lane, const Slice& kernel);

std::string shapes_text(const Lane& lane, const Slice& slice);  // "[[64, 64], [], [64]]"

// All runs of one kernel, copy or set.
struct KernelTotal {
  std::string name;
  std::int64_t runs = 0;
  double total_us = 0, least_us = 0;
};

struct Averages::Data {
  std::vector<Row> rows;
  double self_host_us = 0, self_device_us = 0;
  double window_us = 0;  // the steps' wall time, or the window's without steps
  double device_busy = 0;
  int steps = 0;
  std::uint64_t events = 0, dropped = 0;
  double event_cost_ns = 0, empty_event_ns = 0;
  std::string roofline;  // one line; empty: no cost is known
  // What only first calls pay. Compile phases: "codegen 1.2 ms, load 0.3 ms"; on a GPU libraries'
  // handles, code that is loaded, memory from the driver. Empty: none.
  std::string first_steps, gpu_first_steps;
  bool on_gpu = false;
  std::string gpu_source;
  std::vector<std::string> gpu_lines;  // of the footer: what was recorded, how well
  std::vector<KernelTotal> kernels;    // longest first
  bool with_memory = false, with_shapes = false, with_stack = false;
};

// Parts of aggregate().
void add_first_steps(const Timeline& timeline, Averages::Data& data);
void add_gpu(const Timeline& timeline, Averages::Data& data);

struct AggregateOptions {
  bool by_shape = false, with_memory = false, with_stack = false;
};

Averages aggregate(const Timeline& timeline, const AggregateOptions& options,
                   const Roofline& roofline);

}  // namespace ingot::profiler
