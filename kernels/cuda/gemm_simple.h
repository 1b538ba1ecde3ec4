// A product of any strides and dtypes by a plain tiled kernel: integers, and what cublasLt has no
// algorithm for. Sums run over k in order, in the compute type (integers wrap).
#pragma once

#include <ingot/kernels/ops/isa.h>

namespace ingot {

struct SimpleProduct {
  int dtype;  // DType of all operands
  __INT64_TYPE__ m, n, k;
  const void *a, *b, *bias;  // bias: null for none
  void* d;                   // row-major, n columns
  __INT64_TYPE__ a_row, a_column, b_row, b_column, bias_row, bias_column;
  __INT64_TYPE__ batch, a_step, b_step, d_step;
  double alpha, beta;  // of the product, of the bias
};

inline namespace INGOT_ISA {
void launch_simple_product(const SimpleProduct& product);
}

}  // namespace ingot
