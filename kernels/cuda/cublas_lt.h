// Matrix products by cublasLt, opened at the first product.
// Owns: the handle, the workspace of each stream, descriptors and algorithms kept by shape. Must
// not know: tensors, batches of more than one stride.
#pragma once

#include <ingot/kernels/core/dims.h>
#include <ingot/kernels/core/dtype.h>
#include <ingot/kernels/cuda/product_epilogue.h>
#include <ingot/kernels/ops/isa.h>

namespace ingot {
inline namespace INGOT_ISA {

// D = activation(alpha * op(A) op(B) + beta * D [+ bias]), row-major. What selects the algorithm,
// and with it the bits: everything but the addresses, of which only the alignment counts, up to 16
// bytes.
struct LtProduct {
  DType dtype;
  bool tf32 = false;  // f32 operands rounded to TF32
  i64 m, n, k;
  // Leading dimension: elements between the starts of neighbouring rows; of a transposed operand,
  // between those of neighbouring columns.
  i64 lda, ldb, ldd;
  bool a_transposed = false, b_transposed = false;
  i64 batch = 1, a_step = 0, b_step = 0, d_step = 0;  // elements between the matrices of a batch
  const void *a, *b;
  void* d;
  const void* bias = nullptr;  // n elements, added to each row; at a multiple of 16 bytes
  ProductEpilogue::Activation activation = ProductEpilogue::none;
  bool plain_algorithm = false;  // that of the same without bias and activation, else its own
  double alpha = 1, beta = 0;
};

// False when cublasLt has no algorithm for it, or does not take the one that is asked for (nothing
// was launched). Throws DeviceError when the library is missing or fails.
bool lt_product(const LtProduct& product);

}  // namespace INGOT_ISA
}  // namespace ingot
