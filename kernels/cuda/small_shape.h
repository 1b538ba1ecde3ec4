// Which products a kernel of our own computes, and by which tile. Fixed by measurement on an H200
// (f32: 0.4 to 0.6 of cublasLt's time up to 256 x 256 x 256), by shape and strides only.
// Owns: the rule, SmallShape. Host code without CUDA headers. Must not know: ops.
#pragma once

#include <ingot/kernels/cuda/small_product.h>
#include <ingot/kernels/ops/isa.h>

namespace ingot {
inline namespace INGOT_ISA {

struct ProductView;

// Which of the kernels (see SmallTile), on how many blocks.
struct SmallShape {
  int dtype = 0;      // DType of factors and result: f32 or f64
  int tile_rows = 8;  // 8 or 16
  bool a_along = false, b_along = false;
  bool quads = false;
  unsigned blocks = 0;
};

// False: not a small product, or nothing to compute. Addresses decide about `quads` only, and
// the bits are the same with and without.
bool small_product(const ProductView& view, SmallProduct* product, SmallShape* shape);

void launch_small_product(const SmallProduct& product, const SmallShape& shape);

}  // namespace INGOT_ISA
}  // namespace ingot
