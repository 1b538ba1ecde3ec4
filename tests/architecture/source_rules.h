// The rules that every source file of Ingot obeys, as functions over a file's name and text.
// Owns: what a rule says and the sentence for its breach. Must not know: where the tree is (the
// caller reads it), so that each rule can also be shown a text that breaks it.
#pragma once

#include <string>
#include <vector>

namespace ingot::architecture {

// `path` is relative to the root of the project, with forward slashes.
struct SourceFile {
  std::string path;
  std::string text;
};

struct Include {
  std::string name;  // what stands between the brackets or quotes
  bool quoted = false;
  int line = 0;
};

bool is_header(const SourceFile& file);
bool is_code(const SourceFile& file);  // C++ or CUDA, header or unit
std::string layer_of(const std::string& path);
std::vector<Include> includes_of(const SourceFile& file);

// Each returns one sentence per breach, starting with path:line.
using Findings = std::vector<std::string>;

// kernels <- runtime <- compiler; profiler sees runtime/observer.h, kernels/core and kernels/ops;
// runtime/nn, runtime/optim and runtime/data stand on top of the rest of runtime.
Findings check_direction(const SourceFile& file);
// Project headers are <ingot/...>; a test may also include "support/..." and its own folder's
// headers.
Findings check_spelling(const SourceFile& file);
// At most 500 lines.
Findings check_length(const SourceFile& file);
// A header opens with a comment of 2 to 8 lines and has #pragma once; more may follow after an
// empty comment line.
Findings check_head(const SourceFile& file);
// Only runtime/env.cpp reads the environment.
Findings check_environment(const SourceFile& file);
// Every CUDA kernel of kernels and compiler, written or generated, begins with wait_for_previous():
// all are launched so that they may start before the one ahead has ended.
Findings check_kernels_wait(const SourceFile& file);
// No markers of unfinished work.
Findings check_words(const SourceFile& file);

// All files that <ingot/ingot.h> pulls in include the standard library only, without <iostream>.
// `files` is the whole tree.
Findings check_public_headers(const std::vector<SourceFile>& files);
// Every unit of a layer is named in that layer's CMakeLists.txt, and every unit named there exists.
Findings check_source_lists(const std::vector<SourceFile>& files);
// The units that ingot_isa_sources compiles once per level are those headed "// ISA unit".
Findings check_isa_units(const std::vector<SourceFile>& files);

}  // namespace ingot::architecture
