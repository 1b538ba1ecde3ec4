// FusedStep: runs a pointwise group as one pass over memory: by a compiled kernel, or tile by tile
// through the eager inner loops, with the same bits. Must not know: how kernels are compiled.
#pragma once

#include <ingot/compiler/fusion/generated_step.h>
#include <ingot/compiler/fusion/pointwise.h>
#include <ingot/kernels/kernel_table.h>

namespace ingot::compiler {

class FusedStep final : public GeneratedStep {
 public:
  FusedStep(PointwiseProgram program, const Segment& segment);

  void run(const Segment& segment, const Binding& binding) const override;
  const std::vector<int>& ops() const override { return program_.ops; }
  std::vector<int> touched(const Segment& segment) const override;

  std::string source(const Segment& segment) const override;

 private:
  PointwiseProgram program_;
  std::vector<LoopFn> loops_;  // by instruction; null: a cast
  Cost cost_;
  i64 grain_ = 1;  // elements that pay for a thread
};

}  // namespace ingot::compiler
