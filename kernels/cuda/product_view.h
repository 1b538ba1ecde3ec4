// matmul, addmm and linear as one description: two factors, a batch, what is added.
// Owns: how operands, batches and a bias are read. Must not know: who computes it.
#pragma once

#include <optional>

#include <ingot/kernels/kernel_table.h>
#include <ingot/kernels/ops/isa.h>

namespace ingot {
inline namespace INGOT_ISA {

// Strides in elements. The result is row-major.
struct ProductView {
  DType dtype = DType::f32;
  i64 m = 0, n = 0, k = 0;
  const void *a = nullptr, *b = nullptr;
  i64 a_row = 0, a_column = 0, b_row = 0, b_column = 0;
  void* d = nullptr;
  // The batch: neighbouring axes that all operands walk as one are one axis.
  Dims batch, a_steps, b_steps, d_steps;
  // Added to the product: strides for [m, n]; null for none.
  const void* bias = nullptr;
  i64 bias_row = 0, bias_column = 0;
  double alpha = 1, beta = 1;
  bool tf32 = false;  // the factors may be rounded to TF32
};

// Throws where the dtype has no products.
ProductView product_view(const KernelArgs& args);

// How cublasLt can read a matrix: rows, or columns, one after the other.
struct Leading {
  bool transposed = false;
  i64 ld = 0;
};
// None: not at all. row, column: the strides.
std::optional<Leading> leading(i64 rows, i64 columns, i64 row, i64 column);

// Whether the library multiplies matrices of this dtype.
bool library_runs(DType t);

// Whether cublasLt can add this row as its bias. Its kernels may read 16 bytes at a time, and
// nothing tells its heuristic how a bias is aligned: one at another address may fault on the GPU.
bool is_bias(const void* row);

// Whether what is added is a row as it is: what cublasLt calls a bias.
bool adds_row(const ProductView& view);

// Whether cublasLt is who computes it, from the factors where they lie, and has room for an
// epilogue: nothing is added but a row.
bool takes_epilogue(const ProductView& view);

}  // namespace INGOT_ISA
}  // namespace ingot
