// RowStep: runs a group of rows in one pass over memory: every row, or block of a long one, through
// all its ops, by a compiled kernel or by the eager loops, with the same bits. Must not know: how
// kernels are compiled.
#pragma once

#include <ingot/compiler/fusion/generated_step.h>
#include <ingot/compiler/fusion/row_program.h>
#include <ingot/compiler/fusion/step_scalars.h>
#include <ingot/kernels/kernel_table.h>

namespace ingot::compiler {

class RowStep final : public GeneratedStep {
 public:
  RowStep(RowProgram program, const Segment& segment);

  void run(const Segment& segment, const Binding& binding) const override;
  const std::vector<int>& ops() const override { return program_.ops; }
  std::vector<int> touched(const Segment& segment) const override;
  std::string source(const Segment& segment) const override;
  bool needs_row_formulas() const override { return true; }

 private:
  struct Call;
  bool offsets_agree(const Binding& binding) const;
  void run_rows(const Call& call) const;
  void run_blocks(const Call& call) const;
  void kernel_or_interpreter(i64 rows, i64 n, char* const* data, const i64* row_strides,
                             const Call& call) const;

  RowProgram program_;
  std::vector<LoopFn> loops_;  // by instruction; null: a cast, or no elementwise op
  std::vector<i64> strides_;   // along a row, by memory operand
  Cost cost_;
};

}  // namespace ingot::compiler
