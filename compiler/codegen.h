// Code generation: the C++ text of a fused group's run. The rows are called by name from the
// embedded headers, so that the bits are eager's. Owns: the text and the flags that go with it.
// Must not know: caches, compilers.
#pragma once

#include <string>
#include <vector>

#include <ingot/compiler/fusion/fused_step.h>

namespace ingot::compiler {

// Raised when generated text changes for the same program: it is part of every kernel's key.
inline constexpr int kGeneratorVersion = 1;

// The body of a unit whose prelude is the embedded rows: extern "C" ingot_run.
std::string generate_run(const PointwiseProgram& program, const RunPattern& pattern);

// The host compiler's flags for the instruction set level in use.
std::vector<std::string> level_flags();

}  // namespace ingot::compiler
