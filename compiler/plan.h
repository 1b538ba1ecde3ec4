// Plan: how a segment is executed: steps over buffers, with the temporaries in one arena.
// Owns: the step list and the arena layout. Must not know: frames, tries, tensors' handles.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ingot/compiler/ledger.h>
#include <ingot/compiler/segment.h>

namespace ingot::compiler {

class GraphCache;

// One launch: a single op's kernel, or a fused group.
class Step {
 public:
  virtual ~Step() = default;
  virtual void run(const Segment& segment, const Binding& binding) const = 0;
  // The ops it stands for, in program order, as places in Segment::ops.
  virtual const std::vector<int>& ops() const = 0;
  // The buffers that it reads or writes in memory (a temporary kept inside the step is none).
  virtual std::vector<int> touched(const Segment& segment) const;
};

std::unique_ptr<Step> make_op_step(const Segment& segment, int op);

struct ArenaSlot {
  int buffer;
  int arena;   // place in Plan's arenas
  i64 offset;  // bytes from the arena's start, 256-byte aligned
};

// The memory for the temporaries on one device.
struct Arena {
  Device device;
  i64 bytes = 0;
};

class Plan {
 public:
  Plan(Segment segment, std::vector<std::unique_ptr<Step>> steps);
  ~Plan();

  static constexpr int kNoneFailed = -1, kNoArena = -2;
  // Runs all steps. Live and bound buffers have addresses in `binding`; the arena is added here.
  // When something throws, the steps before *failed_step have run; kNoArena: OutOfMemoryError, and
  // none has.
  void run(Binding& binding, int* failed_step) const;

  // From now on what runs on one GPU without a break is a CUDA graph. Copies to or from another
  // device lie between such stretches.
  void use_graphs();

  // The text of the kernels that were generated for it.
  void set_sources(std::vector<std::string> sources) { sources_ = std::move(sources); }
  const std::vector<std::string>& sources() const { return sources_; }

  const Segment& segment() const { return segment_; }
  const std::vector<std::unique_ptr<Step>>& steps() const { return steps_; }
  i64 arena_bytes() const;  // on all devices
  // Of a call: kernel bodies on the host, and what a GPU starts, as the first run made it; before
  // that one a step.
  int launches() const;
  GraphUse graph_use() const;
  i64 bytes_saved() const { return bytes_saved_; }
  // Temporaries in memory if each had a block of its own, and those that no step puts in memory.
  i64 unplanned_bytes() const { return unplanned_bytes_; }
  i64 inside_kernels_bytes() const { return bytes_saved_ / 2; }

 private:
  // Steps that follow each other, all on one GPU, or not to be recorded.
  struct Stretch {
    std::size_t first = 0, end = 0;
    Device device{kCPU};
    std::unique_ptr<GraphCache> graphs;  // null: not to be recorded
  };

  void plan_arena();
  int arena_of(Device device);
  std::optional<Device> gpu_of(const Step& step) const;
  // *failed is counted from `first`.
  void run_steps(const Binding& binding, std::size_t first, std::size_t end, int* failed,
                 std::vector<int>* nodes) const;
  void run_graph(const Stretch& stretch, const Binding& binding, int* failed) const;
  Segment segment_;
  std::vector<std::unique_ptr<Step>> steps_;
  std::vector<std::string> sources_;
  std::vector<ArenaSlot> slots_;
  std::vector<Arena> arenas_;
  std::vector<Stretch> stretches_;  // none: no graphs are made
  // What each step gave to a GPU when it ran for the first time.
  std::unique_ptr<std::atomic<int>[]> made_;
  i64 bytes_saved_ = 0;
  i64 unplanned_bytes_ = 0;
};

// One step an op, dead ops left out: what runs when nothing fuses.
std::vector<std::unique_ptr<Step>> single_steps(const Segment& segment);

// Ops whose results reach a live or bound buffer, or that may throw.
std::vector<bool> needed_ops(const Segment& segment);

}  // namespace ingot::compiler
