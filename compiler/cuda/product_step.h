// ProductStep: a small product on the GPU and the elementwise ops over its result as one launch of
// a generated kernel; the ops one by one where there is none. Must not know: how kernels are
// compiled.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ingot/compiler/codegen/cuda.h>
#include <ingot/compiler/cuda/generated_cuda_step.h>
#include <ingot/compiler/cuda/parameter.h>
#include <ingot/compiler/cuda/small_products.h>

namespace ingot::compiler {

class ProductStep final : public GeneratedCudaStep {
 public:
  // Null, with the reason, where an operand's elements do not lie evenly over the batch, the rows
  // and the columns of the product.
  static std::unique_ptr<ProductStep> make(PointwiseProgram program, const Segment& segment,
                                           const char** why);

  void run(const Segment& segment, const Binding& binding) const override;
  const std::vector<int>& ops() const override { return program_.ops; }
  std::vector<int> touched(const Segment& segment) const override;

  std::string source() const override { return generate_cuda_product(program_, shape_); }
  // What the kernel is called with, on so many blocks of kSmallThreads threads; call: of the
  // product, bound.
  KernelParameter parameter(const Segment& segment, const Binding& binding,
                            const SmallCall& call) const;
  SmallCall call(const Segment& segment, const Binding& binding) const;
  unsigned blocks() const { return shape_.blocks; }
  Prelude prelude() const override { return Prelude::products; }

 private:
  // Strides of an operand, in elements.
  struct Places {
    i64 step = 0, row = 0, column = 0;
  };
  ProductStep(PointwiseProgram program, const Segment& segment, std::vector<Places> places,
              const SmallShape& shape);
  static bool find_places(const PointwiseProgram& program, const Segment& segment,
                          const SmallCall& call, std::vector<Places>* places);

  PointwiseProgram program_;
  std::vector<Places> places_;  // by operand
  SmallShape shape_;
  Cost cost_;
};

}  // namespace ingot::compiler
