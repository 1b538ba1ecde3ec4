// CompileOptions: what compile() can be told.
// Owns: names and defaults. Must not know: what the options do.
#pragma once

#include <string>
#include <vector>

namespace ingot {

// What a call does that matches no recorded path once max_variants paths are known.
enum class AtLimit { eager, error };

struct CompileOptions {
  std::string name = {};                  // shown in the ledger; default file:line
  std::vector<std::string> disable = {};  // "fusion", "codegen", "disk_cache", "cuda_graph"
  int max_variants = 16;
  AtLimit at_limit = AtLimit::eager;
  bool fullgraph = false;  // reading a value inside the function is an Error
  bool verify = false;     // each commit also runs op by op, and the bytes are compared
};

}  // namespace ingot
