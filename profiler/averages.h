// What a profile says in numbers: one row per op, kernel, range or phase.
// Owns: Row, Averages and their texts (table, CSV, JSON). Columns and sort keys are PyTorch's, with
// median, p95, FLOP/s, GB/s and the share of the roofline added. Must not know: how events were
// recorded.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ingot/kernels/core/error.h>

namespace ingot::profiler {

// Times are microseconds, summed over the calls where not said otherwise. Each microsecond of a
// thread belongs to the innermost event: to its Self device when that is a kernel body, to its Self
// CPU otherwise. So over all rows Self CPU and Self device add up to the footer's totals. A kernel
// body directly inside its op counts in the op's row; other kernel bodies (of compiled plans) have
// rows of their own, without CPU time.
// Where a GPU was recorded, device is that GPU: Self device is the time of the kernels, copies and
// sets that the row's event launched, and kernel bodies on the CPU are the host's time. The ops of
// a CUDA graph have rows of their own, and so has work that no event launched.
struct Row {
  std::string name;
  std::string fused_from;  // a fused kernel's ops, "mul add tanh"
  std::string shapes;      // "[[64, 64], [64]]", with group_by_shape
  std::string source;      // "net.cpp:14", with Options::with_stack
  std::int64_t calls = 0;
  // Of the calls, those that nest in nothing (a range that ended on another thread or out of order,
  // a step that a range reaches beyond): no share of any sum, their own time is that of others.
  std::int64_t beside = 0;
  double self_cpu_us = 0;
  double cpu_total_us = 0;  // kernel bodies and inner events included
  double self_device_us = 0;
  double device_total_us = 0;
  double median_us = 0, p95_us = 0;  // of one call, begin to end; of a graph's op on the GPU
  double flops = 0;                  // transcendental functions count as one each
  double bytes = 0;                  // each operand and result once
  double roofline_us = 0;      // the least time that the roofline allows for these flops and bytes
  double cost_us = 0;          // device time of the calls whose cost is known
  std::int64_t gpu_work = 0;   // kernels, copies and sets on a GPU
  double launch_delay_us = 0;  // median, from the begin of a launch's call to its start there
  std::int64_t memory = 0, self_memory = 0;          // bytes allocated minus freed on the host,
  std::int64_t gpu_memory = 0, self_gpu_memory = 0;  // and on GPUs
};

struct TableOptions {
  // cpu_time, cpu_time_total, self_cpu_time_total, device_time, device_time_total,
  // self_device_time_total (cuda_... is the same), cpu_memory_usage, self_cpu_memory_usage,
  // cuda_memory_usage, self_cuda_memory_usage,
  // cpu_time_median, cpu_time_p95, flops, count, name. Empty: self_cpu_time_total.
  std::string sort_by = {};
  int row_limit = 100;  // -1: all
};

class Averages {
 public:
  // Throws Error that lists the keys when sort_by is none of them.
  std::string table(const TableOptions& options = {}, Loc loc = Loc::here()) const;
  std::string csv() const;
  std::string json() const;

  // By Self CPU + Self device, largest first.
  const std::vector<Row>& rows() const&;
  std::vector<Row> rows() &&;  // so that `for (auto& r : session.key_averages().rows())` is right
  // A name that was cut when it was recorded (over 1000 bytes) is found by the whole one too.
  std::optional<Row> find(const std::string& name) const;
  double self_cpu_us() const;     // all threads, kernel bodies excluded
  double self_device_us() const;  // all kernel bodies
  double device_busy() const;     // share of the window in which some kernel body ran
  // Whether device means a GPU, and what watched it ("CUPTI 13.0"; "CUDA events"; empty: nothing).
  bool on_gpu() const;
  std::string gpu_source() const;

  struct Data;
  explicit Averages(std::shared_ptr<const Data> data) : data_(std::move(data)) {}

 private:
  std::shared_ptr<const Data> data_;
};

}  // namespace ingot::profiler
