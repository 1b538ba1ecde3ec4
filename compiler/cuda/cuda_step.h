// CudaStep: a pointwise group on the GPU as one launch of a generated kernel; its ops one by one
// where there is none. Must not know: how kernels are compiled.
#pragma once

#include <string>
#include <vector>

#include <ingot/compiler/codegen/cuda.h>
#include <ingot/compiler/cuda/generated_cuda_step.h>

namespace ingot::compiler {

class CudaStep final : public GeneratedCudaStep {
 public:
  CudaStep(PointwiseProgram program, const Segment& segment);

  void run(const Segment& segment, const Binding& binding) const override;
  const std::vector<int>& ops() const override { return program_.ops; }
  std::vector<int> touched(const Segment& segment) const override;

  std::string source() const override { return generate_cuda_run(program_, pattern_); }
  bool has_kernel() const { return kernel() != nullptr && fits_; }

 private:
  PointwiseProgram program_;
  Cost cost_;
  Nest nest_;  // sizes and strides; no addresses
  CudaPattern pattern_;
  bool vectors_ = true;  // as far as sizes and strides say
  bool fits_ = true;     // sizes and offsets fit what the kernel computes them in
};

}  // namespace ingot::compiler
