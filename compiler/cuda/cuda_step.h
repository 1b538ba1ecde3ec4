// CudaStep: a pointwise group on the GPU as one launch of a generated kernel; its ops one by one
// where there is none. Must not know: how kernels are compiled.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ingot/compiler/codegen/cuda.h>
#include <ingot/compiler/plan.h>
#include <ingot/kernels/cuda/module.h>

namespace ingot::compiler {

class CudaStep final : public Step {
 public:
  CudaStep(PointwiseProgram program, const Segment& segment);

  void run(const Segment& segment, const Binding& binding) const override;
  const std::vector<int>& ops() const override { return program_.ops; }
  std::vector<int> touched(const Segment& segment) const override;

  std::string source() const { return generate_cuda_run(program_, pattern_); }
  std::string names() const { return names_; }
  Device device() const { return device_; }
  bool has_kernel() const { return kernel_ != nullptr && fits_; }
  // The kernel to use from now on; the module keeps it loaded.
  void set_kernel(CUkern_st* kernel, std::shared_ptr<const cuda::DeviceModule> module) {
    kernel_ = kernel;
    module_ = std::move(module);
  }

 private:
  PointwiseProgram program_;
  std::string names_;
  Device device_;
  Cost cost_;
  Nest nest_;  // sizes and strides; no addresses
  CudaPattern pattern_;
  bool vectors_ = true;  // as far as sizes and strides say
  bool fits_ = true;     // sizes and offsets fit what the kernel computes them in
  CUkern_st* kernel_ = nullptr;
  std::shared_ptr<const cuda::DeviceModule> module_;
};

}  // namespace ingot::compiler
