// A product as one launch: a batch of one axis that each factor walks with one stride.
// Owns: copies of factors whose batch axes do not lie so (heads of attention, some of them
// broadcast), or that the library cannot read. At most one copy a factor. Must not know: who
// computes the product.
#pragma once

#include <optional>

#include <ingot/kernels/cuda/copy.h>
#include <ingot/kernels/cuda/product_view.h>

namespace ingot {
inline namespace INGOT_ISA {

class OneLaunch {
 public:
  // by_library: the matrices are such that cublasLt can read them.
  OneLaunch(const ProductView& view, bool by_library);
  OneLaunch(const OneLaunch&) = delete;

  // Its batch, and the steps of a, b and d, have one axis.
  const ProductView& view() const { return view_; }

 private:
  ProductView view_;
  std::optional<DenseCopy> a_, b_;
};

}  // namespace INGOT_ISA
}  // namespace ingot
