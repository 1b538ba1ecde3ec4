// CudaRowStep: a group of rows on the GPU as one launch of a generated kernel, whole rows in
// registers; its ops one by one where there is none, or where rows do not begin at whole vectors.
// Must not know: how kernels are compiled.
#pragma once

#include <string>
#include <vector>

#include <ingot/compiler/codegen/cuda.h>
#include <ingot/compiler/cuda/generated_cuda_step.h>
#include <ingot/compiler/cuda/parameter.h>

namespace ingot::compiler {

class CudaRowStep final : public GeneratedCudaStep {
 public:
  // Null, with the reason, when its rows do not fit into registers.
  static std::unique_ptr<CudaRowStep> make(RowProgram program, const Segment& segment,
                                           const char** why);

  void run(const Segment& segment, const Binding& binding) const override;
  const std::vector<int>& ops() const override { return program_.ops; }
  std::vector<int> touched(const Segment& segment) const override;

  std::string source() const override { return generate_cuda_rows(program_, rows_); }
  Prelude prelude() const override { return Prelude::rows; }

  // One launch of the kernel: its parameter, blocks and threads. False where it does not fit this
  // call's addresses.
  bool parameter(const Segment& segment, const Binding& binding, KernelParameter* to) const;
  i64 blocks() const { return (nest_.numel() + rows_.together - 1) / rows_.together; }
  unsigned threads() const { return static_cast<unsigned>(rows_.threads()); }

 private:
  CudaRowStep(RowProgram program, const Segment& segment);
  bool offsets_agree(const Binding& binding) const;

  RowProgram program_;
  Cost cost_;
  Nest nest_;  // of the rows; no addresses
  CudaRows rows_;
  bool fits_ = true;  // sizes fit what the kernel computes them in, rows begin at whole vectors
};

}  // namespace ingot::compiler
