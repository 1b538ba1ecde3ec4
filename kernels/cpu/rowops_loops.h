// The rows of kernels/ops/row_formulas.h as functions, compiled once per instruction set level.
// Owns: their signatures and the tables of a level. Must not know: metas, threads, storage types;
// includes nothing with inline code that a level would leave behind as a weak symbol.
#pragma once

#include <ingot/kernels/ops/isa.h>

namespace ingot {

// The formulas of one compute type (f32, f64). Rows are contiguous; null: left out.
struct RowLoops {
  using Int = __INT64_TYPE__;
  // softmax, log_softmax: a = x; their gradients: a = dy, b = y.
  using AxisRow = void (*)(Int n, const void* a, const void* b, void* out);

  AxisRow softmax, log_softmax, softmax_backward, log_softmax_backward;
  // One result. sum, prod: in the order of the tree; squares: of the differences from the row's
  // centre.
  void (*logsumexp)(Int n, const void* x, void* out);
  void (*sum)(Int n, const void* x, void* out);
  void (*prod)(Int n, const void* x, void* out);
  void (*max)(Int n, const void* x, void* out);
  void (*min)(Int n, const void* x, void* out);
  void (*squares)(Int n, const void* x, void* out);

  void (*layer_norm)(Int n, const void* x, const void* weight, const void* bias, double eps,
                     void* y, void* mean, void* rstd);
  void (*layer_norm_backward)(Int n, const void* dy, const void* x, const void* weight,
                              const void* mean, const void* rstd, void* dx);
  // Rows [first, first + rows) of a block of columns for the gradient of weight; mean and rstd have
  // one element for each row, dy and x their row strides in elements.
  void (*weight_terms)(Int first, Int rows, Int cols, const void* dy, Int dy_stride, const void* x,
                       Int x_stride, const void* mean, const void* rstd, void* lanes);

  void (*cross_entropy)(Int n, const void* x, Int target, const void* weight, double smoothing,
                        void* loss, void* logsumexp);
  // weight_sum, logsumexp and g are single elements.
  void (*cross_entropy_backward)(Int n, const void* x, Int target, const void* weight,
                                 double smoothing, const void* weight_sum, const void* logsumexp,
                                 const void* g, void* dx);
  // *out = *a / *b
  void (*divide)(const void* a, const void* b, void* out);
};

inline namespace INGOT_ISA {

extern const RowLoops kRowsF32, kRowsF64;

}  // namespace INGOT_ISA
}  // namespace ingot
