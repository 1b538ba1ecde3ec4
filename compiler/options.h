// CompileOptions: what compile() can be told; Stance: what all compiled functions can be told.
// Owns: names and defaults. Must not know: what the options do.
#pragma once

#include <string>
#include <vector>

namespace ingot {

// What a call does that matches no recorded path once max_variants paths are known.
enum class AtLimit { eager, error };

struct CompileOptions {
  std::string name = {};  // shown in the ledger; default file:line
  // "fusion", "epilogue" (of products), "codegen", "disk_cache", "cuda_graph"
  std::vector<std::string> disable = {};
  int max_variants = 16;
  AtLimit at_limit = AtLimit::eager;
  bool fullgraph = false;  // reading a value inside the function is an Error
  bool verify = false;     // each commit also runs op by op, and the bytes are compared
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
