// Code generation: the C++ text of a fused group's run. The rows are called by name from the
// embedded headers, so that the bits are eager's. Owns: the text and the flags that go with it.
// Must not know: caches, compilers.
#pragma once

#include <string>
#include <vector>

#include <ingot/compiler/fusion/fused_step.h>
#include <ingot/compiler/fusion/row_step.h>

namespace ingot::compiler {

// Raised when generated text changes for the same program: it is part of every kernel's key.
inline constexpr int kGeneratorVersion = 4;

// The bodies of units whose prelude is the embedded rows: extern "C" ingot_run, a RunFn or RowsFn.
std::string generate_run(const PointwiseProgram& program, const RunPattern& pattern);
std::string generate_rows(const RowProgram& program);

// As they appear in generated text: "float", and the row of an elementwise op, "ingot::rows::Tanh"
// (the op's name is ATen's, not the struct's).
const char* c_type(DType t);
std::string row_type(const OpInfo& op);

// The structs of the users' rows among these ops (null entries are skipped), each once, as text
// that stands before the function, and the attribute that inlines them into it.
std::string user_rows_text(const std::vector<const OpInfo*>& ops);
std::string function_head(const std::vector<const OpInfo*>& ops);
// The unit of the eager loop of a user's row: extern "C" ingot_run, a LoopFn.
std::string generate_loop(const OpInfo& op, DType compute);

// The host compiler's flags for the instruction set level in use.
std::vector<std::string> level_flags();

}  // namespace ingot::compiler
