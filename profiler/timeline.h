// What happened in one window: slices that nest on the thread they ran on, with their own times.
// Owns: Slice, Lane, Timeline, and the rule that every nanosecond of a thread belongs to its
// innermost slice: host time when that is no kernel body, device time when it is. Must not know:
// files, tables, verdicts.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ingot/kernels/ops/op_info.h>

namespace ingot::profiler {

enum class SliceKind : std::uint8_t {
  op,
  kernel,
  range,   // record_function
  module,  // a range of the runtime: a module's forward
  compile,
  replay,
  step,      // ProfilerStep#N
  overhead,  // the recorder's own
};

struct ArgShape {
  DType dtype = DType::f32;
  bool scalar = false;  // a host scalar, or an operand left out
  Dims sizes;
};

// Times are nanoseconds since the window opened.
struct Slice {
  SliceKind kind = SliceKind::op;
  bool unfinished = false;  // still open when the window closed: cut there
  bool has_cost = false;
  std::string_view name, fused_from;
  const char* file = "";
  int line = 0;
  const OpInfo* op = nullptr;  // identity only
  std::int64_t begin = 0, end = 0;
  Cost cost;
  int shapes = -1;  // in Lane::shapes
  int depth = 0;    // 0: outermost

  // Set by nest().
  int parent = -1;
  std::int64_t self = 0;         // without the slices inside
  std::int64_t device = 0;       // time of kernel bodies, this slice included
  std::int64_t self_memory = 0;  // bytes allocated minus freed while innermost
  std::int64_t memory = 0;       // the same, slices inside included

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
  std::vector<Slice> across;  // ranges that ended on another thread: they nest nowhere
  std::vector<MemoryChange> memory;
  std::vector<std::vector<ArgShape>> shapes;
};

struct StepTime {
  std::int64_t number = 0;
  std::int64_t begin = 0, end = 0;
};

struct Timeline {
  std::vector<Lane> lanes;
  std::vector<StepTime> steps;
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
  // durations of the outermost slices.
  std::int64_t self_host = 0, self_device = 0;
};

// Computes parents and own times of one lane.
void nest(Lane& lane);

// Puts the steps on the lane of the thread that made them, where they nest with its slices;
// otherwise (a range is open over the edge of a step) they stay beside, in Timeline::steps.
void place_steps(Timeline& timeline, int tid);

// Nests all lanes and adds up.
void finish(Timeline& timeline, int step_tid);

// Time during which at least one kernel body ran, on any thread.
class BusyTime {
 public:
  explicit BusyTime(const Timeline& timeline);
  std::int64_t in(std::int64_t begin, std::int64_t end) const { return until(end) - until(begin); }

 private:
  struct Span {
    std::int64_t begin, end, before;  // before: busy time up to begin
  };
  std::int64_t until(std::int64_t t) const;
  std::vector<Span> spans_;  // disjoint, in order
};

}  // namespace ingot::profiler
