// Which products a kernel of our own computes, and by which tile. Fixed by measurement on an H200
// (f32: 0.4 to 0.6 of cublasLt's time up to 256 x 256 x 256), by shape and strides only.
// Owns: the rule, SmallShape. Host code without CUDA headers. Must not know: ops.
#pragma once

#include <ingot/kernels/cuda/small_product.h>
#include <ingot/kernels/ops/isa.h>

namespace ingot {
inline namespace INGOT_ISA {

struct ProductView;

// Which of the kernels, on how many blocks.
struct SmallShape {
  int dtype = 0;      // DType of factors and result
  int tile_rows = 8;  // 8 or 16
  bool a_along = false, b_along = false;
  unsigned blocks = 0;
};

// False: not a small product, or nothing to compute. The choice is the same with and without
// addresses.
bool small_product(const ProductView& view, SmallProduct* product, SmallShape* shape);

void launch_small_product(const SmallProduct& product, const SmallShape& shape);

}  // namespace INGOT_ISA
}  // namespace ingot
