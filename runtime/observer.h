// The one hook through which a profiler sees the runtime and the compiler.
// Owns: the event structs, the pointer to the observer, ScopedEvent. Off costs one relaxed load and
// a branch. Must not know: who observes, files, formats.
#pragma once

#include <atomic>
#include <cstdint>

#include <ingot/kernels/core/error.h>
#include <ingot/kernels/ops/op_info.h>

namespace ingot {

enum class EventKind : std::uint8_t {
  op,       // one dispatched op, host work and kernel included
  kernel,   // a kernel body, inside an op or a plan
  range,    // record_function, a module's forward
  compile,  // "record": a call that records; inside it "passes", "codegen", "load", "compile"
  setup,    // what only a first call pays, by name: see kernels/core/setup_phase.h
  replay,   // any other compiled call: "guard", its self time the matching, with "plan" inside;
            // "miss" where all of it, or the rest, runs op by op and is not recorded
};

// One step of a recorded CUDA graph: as many of the graph's nodes, in launch order, as `nodes`
// says.
struct GraphPart {
  const char* name;  // an op's, or "fused"
  Loc loc = Loc::here();
  Cost cost;
  const char* fused_from = nullptr;  // a fused kernel's ops
  int nodes = 0;
};

struct GraphLaunch {
  std::uint64_t id;  // of what the parts say: the same parts whenever it is seen again
  const GraphPart* parts;
  int n_parts;
};

// begin() and end() of one event come from the same thread and nest. Everything behind a pointer
// is valid during begin() only, except `name`, which stays for the life of the process.
struct Event {
  EventKind kind;
  const char* name;
  Loc loc = Loc::here();
  const OpInfo* op = nullptr;    // op, kernel of a single op
  const OpArgs* args = nullptr;  // operands of an op or kernel, where known
  const Meta* out = nullptr;     // results of a kernel, where known
  int n_out = 0;
  Device device = kCPU;                // where a kernel runs; on a GPU the event is its launch
  const Cost* cost = nullptr;          // a fused kernel's cost; of single ops it follows from op
  const char* fused_from = nullptr;    // a fused kernel's ops, "mul add tanh"
  const GraphLaunch* graph = nullptr;  // a kernel that is a whole graph: what it launches
};

struct MemoryEvent {
  Device device;
  void* address;
  std::int64_t bytes;      // negative: freed
  std::int64_t allocated;  // live bytes after the event
  std::int64_t reserved;   // bytes held from the system after the event
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void begin(const Event& event) = 0;
  virtual void end() = 0;  // of the innermost open event of this thread
  // The same, of a compiled call that began as "guard" and turned out to be a "miss".
  virtual void end_missed() { end(); }
  virtual void memory(const MemoryEvent& event) = 0;
};

// At most one observer at a time; nullptr stops. An observer may be destroyed once no thread can
// still be inside an event that it began.
inline std::atomic<Observer*> g_observer{nullptr};
inline Observer* observer() { return g_observer.load(std::memory_order_relaxed); }

class ScopedEvent {
 public:
  explicit ScopedEvent(const Event& event) : observer_(observer()) {
    if (observer_ != nullptr) [[unlikely]]
      observer_->begin(event);
  }
  ~ScopedEvent() {
    if (observer_ != nullptr) [[unlikely]]
      observer_->end();
  }
  ScopedEvent(const ScopedEvent&) = delete;
  ScopedEvent& operator=(const ScopedEvent&) = delete;

 private:
  Observer* observer_;
};

}  // namespace ingot
