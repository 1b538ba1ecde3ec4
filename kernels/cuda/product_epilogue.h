// ProductEpilogue: what cublasLt may do with a product before it stores it.
// Owns: that struct. Must not know: ops, levels, how cublasLt is told.
#pragma once

namespace ingot {

// The row, then the activation, then the result's rounding: the one there is.
struct ProductEpilogue {
  enum Activation : unsigned char {
    none,
    relu,
    gelu  // the tanh form
  };
  const void* row = nullptr;  // one element a column, dense, added to each row; null: none
  Activation activation = none;
  // With a row: the algorithm is the one that the product alone gets, so that sums have its bits.
  // Else it is the one that suits product and epilogue best.
  bool keeps_algorithm = true;
};

}  // namespace ingot
