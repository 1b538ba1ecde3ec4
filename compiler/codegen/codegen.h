// Code generation: the C++ text of a fused group's run. The rows are called by name from the
// embedded headers, so that the bits are eager's. Owns: the functions' signatures and text, the
// flags that go with them. Must not know: steps, caches, compilers.
#pragma once

#include <string>
#include <vector>

#include <ingot/compiler/fusion/pointwise.h>
#include <ingot/compiler/fusion/row_program.h>

namespace ingot::compiler {

// Raised when generated text changes for the same program: it is part of every kernel's key.
inline constexpr int kGeneratorVersion = 5;

// What is generated: the body of a unit whose prelude is the embedded rows. It defines
// extern "C" ingot_run of one of these types.

// Over n elements: addresses and strides (in elements) of the walk's operands, host numbers as
// 8-byte cells.
using RunFn = void (*)(i64 n, char* const* data, const i64* strides, const void* scalars);
// Over `rows` rows of n elements: addresses of the program's memory operands and their strides
// between rows and along one, in elements; host numbers as 8-byte cells; scratch memory of the
// program's slots, row_slot_bytes(n) each.
using RowsFn = void (*)(i64 rows, i64 n, char* const* data, const i64* row_strides,
                        const i64* strides, const void* scalars, char* scratch);

std::string generate_run(const PointwiseProgram& program, const RunPattern& pattern);
std::string generate_rows(const RowProgram& program);
// The eager loop of a user's row: a LoopFn.
std::string generate_loop(const OpInfo& op, DType compute);

// The host compiler's flags for the instruction set level in use.
std::vector<std::string> level_flags();

}  // namespace ingot::compiler
