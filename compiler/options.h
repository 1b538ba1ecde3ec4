// CompileOptions: what compile() can be told; Stance: what all compiled functions can be told.
// Owns: names and defaults. Must not know: what the options do.
#pragma once

#include <string>
#include <vector>

namespace ingot {

// What a call does that matches no recorded path once max_variants paths are known.
enum class AtLimit { eager, error };

// Which bits a replayed call may give. docs/compile.md lists what differs.
enum class Numerics {
  exact,    // eager's
  library,  // on a GPU, what follows a matrix product may be cublasLt's epilogue: its formulas, one
            // rounding of 16-bit values at the end. The same as exact on the CPU and elsewhere.
};
const char* name(Numerics level);

struct CompileOptions {
  std::string name = {};  // shown in the ledger; default file:line
  Numerics numerics = Numerics::exact;
  // "fusion", "epilogue" (of products), "codegen", "disk_cache", "cuda_graph"
  std::vector<std::string> disable = {};
  int max_variants = 16;
  AtLimit at_limit = AtLimit::eager;
  bool fullgraph = false;  // reading a value inside the function is an Error
  // Each commit also runs op by op, and the bytes are compared: nothing but `exact` is used.
  bool verify = false;
};

// What all compiled functions of the process do, for debugging and tests; it may change between
// calls, never what a call gives.
enum class Stance {
  standard,
  force_eager,    // calls run as if they were not compiled: nothing is matched or recorded
  eager_on_miss,  // known paths are replayed, the rest of any other call is eager and not recorded
  fail_on_miss,   // known paths are replayed, any other call is an Error
};
void set_stance(Stance stance);
Stance stance();

}  // namespace ingot
