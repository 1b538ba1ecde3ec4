// The experiment: one expression, eager and compiled, at one size.
// Owns: what is measured and how. Must not know: flags, how results are shown.
#pragma once

#include <optional>
#include <string>

#include <ingot/ingot.h>

// x w + b, the whole program under study: two ops.
ingot::Tensor matmul_add(const ingot::Tensor& x, const ingot::Tensor& w, const ingot::Tensor& b);

struct Setup {
  ingot::Device device{"cpu"};
  ingot::DType dtype = ingot::DType::f32;
  bool tf32 = false;  // f32, whose products may round their factors
  const char* dtype_name() const { return tf32 ? "tf32" : name(dtype); }
  ingot::TensorOptions options() const { return {dtype, device}; }
};

// What the profiler saw in a few consecutive calls. Times are microseconds, summed over the calls.
struct Window {
  static constexpr int kCalls = 3;
  double self_cpu_us = 0, self_device_us = 0;
  ingot::profiler::Verdict verdict;
};

// One mode at one size. All times are medians.
struct Row {
  ingot::i64 n = 0;
  bool compiled = false;
  // One call, nothing recorded, until it returns: kernel bodies included on the CPU, work that it
  // gives to a GPU not.
  double host_us = 0;
  // The same until what it computes is there, of calls made one after the other.
  double call_us = 0;
  double device_us = 0;                // its kernel bodies, or its work on the GPU
  std::optional<ingot::i64> launches;  // how many they are; none if nothing was recorded
  double first_call_ms = 0;  // the first call at this size; compiled: it records and builds a plan
  Window cold, warm;         // the first calls; after wait 1, warmup 1
  // Of a compiled row: what the ledger says, eager's call_us over this one's, and the share of the
  // rounds in which compiled was the faster one.
  std::optional<ingot::Ledger> ledger;
  std::optional<double> speedup;
  double wins = 0;

  // Three rounds of four decide; anything less is noise.
  bool is_faster() const { return wins >= 0.75 && speedup > 1; }
  bool is_slower() const { return wins <= 0.25 && speedup < 1; }
};

struct Pair {
  Row eager, compiled;
};
Pair measure(ingot::i64 n, const Setup& setup);

// Records first and later calls of both modes at these sizes, each under a range of its own, and
// writes them as a trace for Perfetto or chrome://tracing.
void write_trace(const std::string& path, const std::vector<ingot::i64>& sizes, const Setup& setup);
