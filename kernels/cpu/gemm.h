// Matrix products on the CPU: C = alpha (A B) + beta bias, optionally through relu.
// Owns: the description of a product, its table of kernels and the order of its roundings. Must not
// know: tensors, broadcasting of batches, promotion.
#pragma once

#include <cstdint>

namespace ingot {

enum class DType : std::uint8_t;
enum class IsaLevel;

// The order of the sums is part of the contract: no size, stride, thread count, alignment or level
// changes it. k is cut into blocks of kGemmBlockK; the sum of a block is the chain s = fma(a, b, s)
// from s = 0 in ascending k; the block sums are added in ascending order. (The x86-64 baseline has
// no fma: there s = a * b + s, both rounded.) Then come alpha, beta * bias, their sum and relu,
// each rounded. So a slice of a product is the product of the slices, bit for bit, and generated
// code can repeat it.
// One exception, by shape and strides, is dot products: a column (n == 1) of an A with a_col == 1,
// and a row (m == 1, n > 1) of a B with b_row == 1. There k is cut into blocks of kDotBlock and
// filled up with zeros to a multiple of kDotLanes; lane l is the chain over l, l + kDotLanes, ...;
// then lane l + h is added to lane l for h = kDotLanes / 2, ... 1.
inline constexpr std::int64_t kGemmBlockK = 256;
inline constexpr int kDotLanes = 16;
inline constexpr std::int64_t kDotBlock = kDotLanes * kGemmBlockK;

// A [m, k], B [k, n], bias [m, n] with any element strides, 0 included; C [m, n] with unit column
// stride, disjoint from the operands. The bias is not read when it is null or beta_for_bias is 0.
// The product over no k is 0. relu(x) is 0 for x <= 0 and for -0, NaN for NaN. Integers wrap;
// alpha and beta are converted to the element type first.
struct GemmArgs {
  std::int64_t m, n, k;
  const void* a;
  std::int64_t a_row, a_col;
  const void* b;
  std::int64_t b_row, b_col;
  void* c;
  std::int64_t c_row;
  const void* bias = nullptr;
  std::int64_t bias_row = 0, bias_col = 0;
  double alpha = 1, beta_for_bias = 1;
  bool relu = false;
};

// `count` products of one shape; element strides from one to the next, 0 for a shared operand.
struct GemmBatch {
  std::int64_t count = 1, a = 0, b = 0, c = 0, bias = 0;
};

struct GemmTable {
  using Product = void (*)(const GemmArgs&);
  using Batch = void (*)(const GemmArgs&, const GemmBatch&);
  Product f32, f64, i64, i32, u8;
  Batch f32_batch, f64_batch, i64_batch, i32_batch, u8_batch;
};

// The kernels of isa_level(), chosen at first use.
const GemmTable& gemm_table();
// Those of one level; null when it was not built. The CPU must have the level.
const GemmTable* gemm_table(IsaLevel level);

// By element type; f16, bf16 and bool have no kernel (an internal error).
void gemm(DType dtype, const GemmArgs& args);
void gemm_batch(DType dtype, const GemmArgs& args, const GemmBatch& batch);

// Packing space of the calling thread: kGemmScratchBytes, 64-byte aligned, allocated at the
// thread's first use and kept until it ends. Throws std::bad_alloc.
inline constexpr std::int64_t kGemmScratchBytes = 1280 * 1024;
void* gemm_scratch();

}  // namespace ingot
