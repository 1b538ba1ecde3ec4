// What happened in one window: slices that nest on the thread they ran on, with their own times,
// and what a GPU did beside them.
// Owns: Slice, Lane, Timeline, and the rule that every nanosecond of a thread belongs to its
// innermost slice: host time when that is no kernel body, device time when it is. Where a GPU was
// recorded, device time is the GPU's alone. Must not know: files, tables, verdicts.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ingot/kernels/ops/op_info.h>
#include <ingot/profiler/gpu_records.h>

namespace ingot::profiler {

enum class SliceKind : std::uint8_t {
  op,
  kernel,  // a body on the CPU
  launch,  // a kernel's launch on a GPU, or a body on the CPU beside one: host time
  api,     // a call of the CUDA runtime or driver
  setup,   // what only a first call pays: a library's handle, a choice of algorithm
  range,   // record_function
  module,  // a range of the runtime: a module's forward
  compile,
  replay,
  step,      // ProfilerStep#N
  overhead,  // the recorder's own, the driver's, CUPTI's
};

struct ArgShape {
  DType dtype = DType::f32;
  bool scalar = false;  // a host scalar, or an operand left out
  Dims sizes;
};

// Times are nanoseconds since the window opened.
struct Slice {
  SliceKind kind = SliceKind::op;
  bool unfinished = false;       // still open when the window closed: cut there
  bool ended_elsewhere = false;  // on another thread
  bool has_cost = false;
  std::string_view name, fused_from;
  const char* file = "";
  int line = 0;
  const OpInfo* op = nullptr;  // identity only
  std::int64_t begin = 0, end = 0;
  Cost cost;
  int shapes = -1;                // in Lane::shapes
  int depth = 0;                  // 0: outermost
  std::uint32_t event = 0;        // its place among the recorded events of its thread
  std::uint32_t correlation = 0;  // of an API call
  std::uint64_t graph = 0;        // a launch of a CUDA graph: in Timeline::graphs; 0: none
  DType dtype = DType::f32;       // a launch's first operand ...
  bool is_product = false;        // ... and whether its op is a matrix product
  int gpu = -1;                   // a launch's device

  // Set by nest().
  int parent = -1;
  std::int64_t self = 0;         // without the slices inside
  std::int64_t device = 0;       // time of kernel bodies or the GPU's work, this slice included
  std::int64_t self_work = 0;    // the GPU's work that this slice launched
  std::int64_t self_memory = 0;  // bytes allocated minus freed while innermost, on the host ...
  std::int64_t memory = 0;       // the same, slices inside included
  std::int64_t self_gpu_memory = 0, gpu_memory = 0;  // ... and on GPUs

  std::int64_t duration() const { return end - begin; }
  bool is_kernel() const { return kind == SliceKind::kernel; }
};

struct MemoryChange {
  std::int64_t at = 0;
  Device device;
  std::uint64_t address = 0;
  std::int64_t bytes = 0, allocated = 0, reserved = 0;
};

// One thread. Slices are in the order of their begins, a parent before what it holds; this order
// and the depths say what nests in what.
struct Lane {
  int number = 0;
  int tid = 0;
  std::string name;
  std::vector<Slice> slices;
  std::vector<Slice> across;  // ranges that nest nowhere: see link_ends.h
  std::vector<MemoryChange> memory;
  std::vector<std::vector<ArgShape>> shapes;
  // Correlations of the driver's calls within the runtime's, and of those.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> inner_calls;
};

// An op of a CUDA graph, as many of whose nodes as `nodes` says.
struct GraphOp {
  std::string_view name, fused_from;
  const char* file = "";
  int line = 0;
  int nodes = 0;
  Cost cost;
};
using GraphOps = std::unordered_map<std::uint64_t, std::vector<GraphOp>>;

// What came of launched = recorded + dropped.
struct LaunchCount {
  std::uint64_t launched = 0;  // by API calls that launch work, a graph's nodes as its ops say
  std::uint64_t recorded = 0;  // kernels, copies and sets
  std::uint64_t dropped = 0;   // as the observer counted them
  std::uint64_t graphs = 0;    // graph launches,
  std::uint64_t dropped_graphs = 0;  // calls that were dropped: nobody knows how many nodes
  std::uint64_t misfits = 0;         // those whose nodes are not as many as their ops say
  std::uint64_t unlinked = 0;        // work of no recorded event
  std::uint64_t too_early = 0;       // kernels that seem to begin before their launch
  std::int64_t missing() const {
    return static_cast<std::int64_t>(launched) - static_cast<std::int64_t>(recorded + dropped);
  }
};

// The GPU's side of a window; empty where none was recorded.
struct GpuTimeline {
  bool recorded() const { return !source.empty(); }
  std::string source, reason;  // as in GpuRecords
  std::vector<GpuWork> work;   // by begin, times in ns since the window opened
  std::vector<GpuWait> waits;
  std::vector<GpuOverhead> overheads;
  std::vector<GpuDevice> devices;
  std::uint64_t window = 0;  // its number, part of every launch_id()
  LaunchCount count;
  std::uint64_t dropped_other = 0;
  std::uint64_t without_times = 0;  // of what was dropped, records that had no times
  std::int64_t drift = 0;           // of the two clocks over the window, ns
  std::int64_t pair_width = 0;      // how well an instant is known on both, ns
  LaunchCost launch_cost;
  std::shared_ptr<std::deque<std::string>> texts;
};

struct StepTime {
  std::int64_t number = 0;
  std::int64_t begin = 0, end = 0;
};

struct Timeline {
  std::vector<Lane> lanes;
  std::vector<StepTime> steps;
  GraphOps graphs;  // by id
  GpuTimeline gpu;
  int step_lane = -1;        // the lane that holds the steps as slices
  std::int64_t end = 0;      // the window is [0, end]
  std::int64_t unix_ns = 0;  // wall clock at 0
  std::uint64_t dropped = 0;
  std::uint64_t events = 0;
  std::uint64_t first_id = 1;  // slices have ids from here on, unlike those of any other window
  double event_cost_ns = 0;    // what recording cost the threads, per event
  double empty_event_ns = 0;   // the duration that an event without work has
  std::shared_ptr<std::deque<std::string>> texts;  // names that were copied

  // Of all lanes: time outside of kernel bodies and inside them. Their sum is the sum of the
  // durations of the outermost slices. Beside a GPU: the host's time, and that of the GPU's work.
  std::int64_t self_host = 0, self_device = 0;

  // Whether device time is the GPU's.
  bool on_gpu() const { return !gpu.work.empty(); }
};

// Whether kernels were launched on a GPU that nobody observed.
bool launches_unseen(const Timeline& timeline);

// Computes parents and own times of one lane.
void nest(Lane& lane);

// Puts the steps on the lane of the thread that made them, where they nest with its slices;
// otherwise (a range is open over the edge of a step) they stay beside, in Timeline::steps.
void place_steps(Timeline& timeline, int tid);

// Nests all lanes and adds up.
void finish(Timeline& timeline, int step_tid);

// Time during which at least one kernel body ran on any thread, or beside a GPU, on that.
class BusyTime {
 public:
  explicit BusyTime(const Timeline& timeline);
  // Of these spans: pairs of begin and end.
  explicit BusyTime(std::vector<std::pair<std::int64_t, std::int64_t>> spans);
  std::int64_t all() const { return until(last_end()); }
  std::int64_t last_end() const { return spans_.empty() ? 0 : spans_.back().end; }
  std::int64_t in(std::int64_t begin, std::int64_t end) const { return until(end) - until(begin); }

 private:
  struct Span {
    std::int64_t begin, end, before;  // before: busy time up to begin
  };
  std::int64_t until(std::int64_t t) const;
  std::vector<Span> spans_;  // disjoint, in order
};

}  // namespace ingot::profiler
