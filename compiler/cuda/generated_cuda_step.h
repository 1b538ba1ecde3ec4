// GeneratedCudaStep: a group on the GPU as one launch of a generated kernel, once it has one; its
// ops one by one before. Owns: the kernel. Must not know: how kernels are compiled.
#pragma once

#include <memory>
#include <string>

#include <ingot/compiler/plan.h>
#include <ingot/kernels/cuda/module.h>

namespace ingot::compiler {

class GeneratedCudaStep : public Step {
 public:
  // The body of a unit whose prelude is the embedded rows; its kernel is extern "C" ingot_run.
  virtual std::string source() const = 0;
  // The embedded text in front of it: elementwise rows, these and the small product, or
  // these and whole rows.
  enum class Prelude { elements, products, rows };
  virtual Prelude prelude() const { return Prelude::elements; }

  // The ops' names: "mul add tanh".
  const std::string& names() const { return names_; }
  Device device() const { return device_; }
  // The kernel to use from now on; the module keeps it loaded.
  void set_kernel(CUkern_st* kernel, std::shared_ptr<const cuda::DeviceModule> module) {
    kernel_ = kernel;
    module_ = std::move(module);
  }

 protected:
  GeneratedCudaStep(std::string names, Device device) : names_(std::move(names)), device_(device) {}
  // Null before set_kernel.
  CUkern_st* kernel() const { return kernel_; }

 private:
  std::string names_;
  Device device_;
  CUkern_st* kernel_ = nullptr;
  std::shared_ptr<const cuda::DeviceModule> module_;
};

}  // namespace ingot::compiler
