// What a GPU did in one window, as plain data, whoever observed it: CUPTI, CUDA events, a test.
// Owns: these structs and their meaning. Times are nanoseconds of the observer's own clock until
// attach_gpu() has mapped them; 0, or an end before the begin, means that a record has none, and
// attach_gpu() drops and counts it. Must not know: CUPTI, timelines.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ingot/kernels/ops/op_info.h>

namespace ingot::profiler {

enum class WorkKind : std::uint8_t { kernel, copy, set };

// One kernel, copy or set that ran on a GPU.
struct GpuWork {
  WorkKind kind = WorkKind::kernel;
  std::string_view name;  // a kernel's as in the source; "Memcpy HtoD (Pageable -> Device)"
  std::int64_t begin = 0, end = 0;
  int device = 0, context = 0, stream = 0;
  std::uint32_t correlation = 0;  // the API call that launched it; shared by a graph's nodes
  std::uint64_t link = 0;         // launch_id() of the event, where the observer knows it; else 0
  std::uint64_t graph_node = 0;  // 0: of no graph; else the executable graph's id in the upper half
  int grid[3] = {}, block[3] = {};
  int registers = 0, shared_bytes = 0;
  std::int64_t bytes = 0;  // copied or set

  // Set by attach_gpu(): the slice that launched it and the one that is its API call (-1: none),
  // its place in the graph's ops (-1: of no graph, or unknown).
  int lane = -1, slice = -1;
  int call_lane = -1, call = -1;
  int graph_op = -1;
  bool first = false;       // of its launch: its delay is the launch's
  std::int64_t delay = -1;  // from the begin of the API call to its own; -1: unknown
};

// A call of the CUDA runtime or driver, on the host.
struct ApiCall {
  std::string_view name;
  bool driver = false;
  std::int64_t begin = 0, end = 0;
  std::uint32_t correlation = 0;
  int tid = 0;  // of the system
};

// The API call of this correlation was made within the event of this launch_id().
struct LaunchLink {
  std::uint32_t correlation = 0;
  std::uint64_t id = 0;
};

// Time that the driver or CUPTI took for itself: code that is loaded, buffers.
struct GpuOverhead {
  std::string_view name;
  std::int64_t begin = 0, end = 0;
  int tid = 0;  // 0: of no thread
};

// The host, or a stream, waited.
struct GpuWait {
  std::string_view name;  // "Stream Synchronize"
  std::int64_t begin = 0, end = 0;
  int stream = -1;  // -1: the whole context, or an event
  std::uint32_t correlation = 0;
  int context = 0;
  int device = -1;  // set by attach_gpu(); -1: unknown
};

// One instant on both clocks, known to `width` nanoseconds.
struct ClockPair {
  std::uint64_t ticks = 0;  // of profiler/clock.h
  std::int64_t observer_ns = 0;
  std::int64_t width = 0;
};

struct GpuDevice {
  int index = 0;
  std::string name;
  std::int64_t memory = 0;
  int major = 0, minor = 0, multiprocessors = 0;
  int max_threads_per_multiprocessor = 0, registers_per_multiprocessor = 0;
  std::int64_t shared_per_multiprocessor = 0;
};

// What observing costs the thread that launches, ns; 0: not measured.
struct LaunchCost {
  double kernel = 0;      // one kernel, copy or set
  double graph = 0;       // a CUDA graph, and beside that
  double graph_node = 0;  // each of its nodes
};

struct GpuRecords {
  std::string source;  // "CUPTI 13.0", "CUDA events"; empty: no GPU was recorded
  std::string reason;  // why it is not CUPTI, with the remedy; empty: it is
  std::vector<GpuWork> work;
  std::vector<ApiCall> calls;
  std::vector<LaunchLink> links;
  std::vector<GpuOverhead> overheads;
  std::vector<GpuWait> waits;
  std::vector<GpuDevice> devices;
  ClockPair first, last;
  std::uint64_t dropped_work = 0;      // kernels, and nodes of graphs, without a record
  std::uint64_t dropped_launches = 0;  // calls that launch kernels without one,
  std::uint64_t dropped_graphs = 0;    // calls that launch graphs without one
  std::uint64_t dropped_other = 0;     // other records
  LaunchCost launch_cost;
  std::shared_ptr<std::deque<std::string>> texts = std::make_shared<std::deque<std::string>>();
};

}  // namespace ingot::profiler
