// A small matrix product as its kernels see it, eager and generated ones.
// Owns: SmallProduct, the size of a block's tile. Freestanding: this text is also part of generated
// source. Must not know: which products are small.
#pragma once

#include <ingot/kernels/cuda/divisor.h>

namespace ingot {
inline namespace INGOT_ISA {

inline constexpr int kSmallThreads = 256;
inline constexpr int kSmallBlocks = 2;    // on a processor, at least
inline constexpr int kSmallColumns = 32;  // of a block's tile; its rows are 8 or 16
// Terms of a sum in the type T, at most: whole panels of that depth fit shared memory.
template <class T>
inline constexpr int kSmallDepth = 1024 / int(sizeof(T));

// D = alpha * A B [+ beta * bias], for each matrix of a batch. Strides in elements.
struct SmallProduct {
  const void *a = nullptr, *b = nullptr;
  void* d = nullptr;           // row-major, n columns
  const void* bias = nullptr;  // null: none
  INGOT_INT64 a_row = 0, a_column = 0, b_row = 0, b_column = 0;
  INGOT_INT64 bias_row = 0, bias_column = 0;
  INGOT_INT64 a_step = 0, b_step = 0, d_step = 0;  // between the matrices of a batch
  double alpha = 1, beta = 1;
  int m = 0, n = 0, k = 0;
  int log2_quads = 0;            // 4 << log2_quads is k, or the next power of 2
  FastDivisor tiles_m, tiles_n;  // blocks: columns first, then rows, then the batch
};

}  // namespace INGOT_ISA
}  // namespace ingot
