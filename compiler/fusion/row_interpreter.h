// RowInterpreter: a RowProgram on one row, op by op through the eager loops.
// Must not know: how rows are found, threads.
#pragma once

#include <vector>

#include <ingot/compiler/fusion/row_program.h>
#include <ingot/compiler/fusion/step_scalars.h>
#include <ingot/kernels/kernel_table.h>

namespace ingot::compiler {

struct RowAddresses {
  i64 n;               // elements of the row
  char* const* data;   // of the row, by memory operand
  const i64* strides;  // along it, in elements
  const Cell* scalars;
  char* scratch;  // RowProgram::slots of them, and one more for packing
};

// loops: by instruction; null for casts and whole rows.
void interpret_row(const RowProgram& program, const std::vector<LoopFn>& loops,
                   const RowAddresses& row);

}  // namespace ingot::compiler
