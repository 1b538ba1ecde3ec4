// Ledger: what compiling a function cost and what it gained, as data and as a table.
// Owns: the public structs and their text forms. A figure that was not measured prints "-".
// Must not know: how anything is compiled.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include <ingot/compiler/options.h>
#include <ingot/kernels/core/dims.h>
#include <ingot/kernels/core/error.h>

namespace ingot {

// n == 0: not measured.
struct Spread {
  double median = 0, p95 = 0;
  int n = 0;
};

// What CUDA graphs did for a compiled function.
struct GraphUse {
  i64 recorded = 0;  // graphs made
  i64 launches = 0;  // calls, or parts of a call between cuts, that were one launch
  i64 updates = 0;   // of these, with new addresses or numbers
  i64 dropped = 0;   // graphs given up because memory ran out
};

// What a compiled function's temporaries take, in bytes; of the recorded stretch that needs most.
// Results are not counted: the caller owns them.
struct MemoryUse {
  i64 arena = 0;           // planned: one block, shared by temporaries that are not alive together
  i64 unplanned = 0;       // the same temporaries, each in a block of its own
  i64 inside_kernels = 0;  // those that fusion keeps out of memory
};

struct Ledger {
  struct Phase {
    std::string name;
    double ms;
  };
  struct Event {
    std::string what;
    Loc where = Loc::here();
    double ms = 0;  // what it cost, where that is known
    i64 count = 1;  // equal events are one
  };
  // Calls after which compiling has paid: with an empty kernel cache, with a warm disk cache, and
  // with the kernel known to the process. None: never, or not measured.
  struct BreakEven {
    std::optional<double> empty_cache, disk_cache, kernel_known;
  };

  std::string name;
  Numerics numerics = Numerics::exact;
  i64 calls = 0;                       // all of them
  i64 hits = 0;                        // replayed from start to end
  i64 variants = 0;                    // recorded paths
  i64 unrecorded = 0;                  // calls that matched none, and past max_variants or by the
                                       // stance added none
  std::string limit;                   // once max_variants turned a call away: a sentence
  i64 compiles = 0;                    // kernels compiled for it
  i64 memory_hits = 0, disk_hits = 0;  // kernels found in the cache
  i64 launches_eager = 0;              // of the last recorded path, op by op: kernel bodies on the
                                       // CPU, and what a GPU starts (kernels, copies)
  i64 launches_compiled = 0;           // the same, of its plan
  i64 bytes_saved = 0;                 // a call: temporaries that are neither written nor read back
  i64 arena_bytes = 0;                 // temporaries of the plan
  GraphUse graphs;
  std::vector<Phase> first_call;  // of the first recording: record, passes, codegen, compile, load
  std::vector<Event> misses, cuts, fused, not_fused;
  std::vector<Event> relaxed;  // groups whose bits need not be eager's, at a level below `exact`
  Spread replay_ns;     // a hit: from the call to the plan's start, the function's own host work
                        // included
  Spread signature_ns;  // the part of it that reads the arguments' signature
  Spread eager_us, compiled_us;  // a call; eager from compare()
  std::optional<double> speedup;
  BreakEven break_even_calls;

  std::string table() const;
  std::string json() const;
};
std::ostream& operator<<(std::ostream& out, const Ledger& ledger);

}  // namespace ingot
