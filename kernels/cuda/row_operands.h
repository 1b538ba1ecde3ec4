// Operands of row composites: rows along some axes of a view, in place where memory allows it.
// Owns: RowInput, RowResult. Must not know: formulas.
#pragma once

#include <optional>

#include <ingot/kernels/cuda/copy.h>
#include <ingot/kernels/cuda/row_task.h>
#include <ingot/kernels/kernel_table.h>

namespace ingot {
inline namespace INGOT_ISA {

// Which axes of an operand are its rows; rows are numbered in the logical order of the others.
struct RowAxes {
  int first, count;
  i64 rows = 1, n = 1;  // elements outside and along

  RowAxes(const Dims& sizes, int first, int count);
};

class RowInput {
 public:
  RowInput(const BufferView& view, const RowAxes& axes);
  const RowOperand& operand() const { return operand_; }
  bool has_vectors() const { return vectors_; }

 private:
  std::optional<DenseCopy> copy_;
  RowOperand operand_;
  bool vectors_;
};

// A row-major result, written in place where its rows are the last axes.
class RowResult {
 public:
  RowResult(const BufferView& out, const RowAxes& axes);
  const RowOperand& operand() const { return operand_; }
  bool has_vectors() const { return vectors_; }
  void finish() const;  // once it was computed

 private:
  BufferView out_;
  Meta moved_;  // as out_ with its rows last
  std::optional<DeviceScratch> scratch_;
  RowOperand operand_;
  bool vectors_;
};

// rows, n, storage, in, out and vectors of a task.
void set_rows(RowTask& task, const RowAxes& axes, DType storage, const RowInput* in0,
              const RowInput* in1, const RowResult* out);
// Parameters along the rows, of the same storage type: dense, or none.
class RowParameters {
 public:
  RowParameters(const KernelArgs& args, int i, DType storage);
  const void* data() const { return copy_ ? copy_->data() : nullptr; }
  // Whether a task with these keeps its vectors.
  bool has_vectors() const;

 private:
  std::optional<DenseCopy> copy_;
};

}  // namespace INGOT_ISA
}  // namespace ingot
