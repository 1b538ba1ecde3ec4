// RowOp: an op that works along rows, as fusion, the interpreter and the code generator see it.
// Owns: the table: such an op is one entry here, beside its row in kernels/ops/structured and its
// formula in kernels/ops/row_formulas.h. Must not know: segments, how rows are found or walked.
#pragma once

#include <optional>

#include <ingot/compiler/fusion/step_scalars.h>
#include <ingot/kernels/cpu/rowops_loops.h>
#include <ingot/kernels/ops/op_info.h>

namespace ingot::compiler {

// One row of the op through the eager loops: the addresses of its operands (null: left out),
// results and number.
struct RowCall {
  const RowLoops& f;
  i64 n;  // elements of the row
  DType compute;
  const void* const* in;
  void* const* out;
  const Cell* scalar;
};

struct RowOp {
  // Which attribute says along which axes it works: attrs.a is one axis, attrs.dims are the axes,
  // attrs.c counts trailing ones.
  enum Axes : std::uint8_t { axis, list, trailing };

  const OpInfo* op;
  Axes axes;
  void (*run)(const RowCall& call);
  // Generated text, as fmt::format takes it, with {t}: the compute type, {a} to {e}: the operands,
  // {y}: the first result's row, {s}: the number, {i}: a number of its own. A result that is a row
  // is written by the statement (null: there is none); one that is a value a row is a value here.
  const char* statement = nullptr;
  const char* values[kMaxOutputs] = {};
  // The same for a GPU, where rows are held in registers (kernels/cuda/row_program.cuh): {u} is a
  // number of three uses of reduce_lanes. `first` is what comes before all operands but {a} are
  // loaded.
  const char* held_first = nullptr;
  const char* held_statement = nullptr;
  const char* held_values[kMaxOutputs] = {};
  // The row that the statement makes as a value that is computed where it is read, {r} being its
  // type. Null: it is held.
  const char* held_lazily = nullptr;
  // One value a row, summed up in the order of memory: the operand must be row-major.
  bool reduces = false;
  // How the results of the blocks of a long row are reduced again, before its number divides them;
  // null: a row must be seen whole.
  void (*RowLoops::*combine)(RowLoops::Int n, const void* x, void* out) = nullptr;
  // The host number that it computes with.
  std::optional<ScalarUse::Kind> scalar = {};
  unsigned row_values = 0;  // bit k: operand k is one value a row
  unsigned seen_once = 0;   // bit k: operand k is read in one pass, after all others

  bool is_row_value(std::size_t operand) const { return (row_values >> operand & 1u) != 0; }
  bool is_seen_once(std::size_t operand) const { return (seen_once >> operand & 1u) != 0; }
};

// nullptr: not an op of rows.
const RowOp* row_op(const OpInfo& op);

}  // namespace ingot::compiler
