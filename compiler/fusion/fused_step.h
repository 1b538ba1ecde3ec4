// FusedStep: runs a pointwise group as one pass over memory: by a compiled kernel, or tile by tile
// through the eager inner loops, with the same bits. Must not know: how kernels are compiled.
#pragma once

#include <ingot/compiler/fusion/generated_step.h>
#include <ingot/compiler/fusion/pointwise.h>
#include <ingot/kernels/kernel_table.h>

namespace ingot::compiler {

// A generated run: n elements, addresses and strides (in elements) of the walk's operands, scalars
// as 8-byte cells.
using RunFn = void (*)(i64 n, char* const* data, const i64* strides, const void* scalars);

// What the walk of this program over the recorded strides looks like, for the code generator.
struct RunPattern {
  std::vector<int> stride;  // by operand: 0, 1, or 2 for anything else
};
RunPattern run_pattern(const PointwiseProgram& p, const Segment& segment);

class FusedStep final : public GeneratedStep {
 public:
  FusedStep(PointwiseProgram program, const Segment& segment);

  void run(const Segment& segment, const Binding& binding) const override;
  const std::vector<int>& ops() const override { return program_.ops; }
  std::vector<int> touched(const Segment& segment) const override;

  std::string source(const Segment& segment) const override;

 private:
  bool offsets_agree(const Segment& segment, const Binding& binding) const;

  PointwiseProgram program_;
  std::vector<LoopFn> loops_;  // by instruction; null: a cast
  Cost cost_;
};

}  // namespace ingot::compiler
