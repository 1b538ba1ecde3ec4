// Row composites as their CUDA kernels see them. Owns: the tasks, the launches. Host code without
// CUDA headers. Must not know: metas.
#pragma once

#include <ingot/kernels/cuda/fault_site.h>
#include <ingot/kernels/ops/isa.h>

namespace ingot {

// Row r begins at r * stride; with `inner` rows to a group at
// r / inner * outer_stride + r % inner * stride. In elements.
struct RowPlaces {
  __INT64_TYPE__ inner = 0, outer_stride = 0, stride = 0;
};

struct RowOperand {
  void* data = nullptr;
  RowPlaces places;
};

struct RowTask {
  __INT64_TYPE__ rows = 0, n = 0;
  int storage = 0;       // DType of in, out, weight and bias
  bool vectors = false;  // every row of each of these begins at a multiple of 16 bytes
  RowOperand in[2], out;
};

// One result a row: logsumexp; the sum of squared differences from the mean, over `freedom`.
struct RowValueTask : RowTask {
  double freedom = 0;
  void* result = nullptr;
  int result_dtype = 0;
};

// weight, bias: one row, or none. mean, rstd: one element a row in the compute type; results, or
// operands of the gradient.
struct LayerNormTask : RowTask {
  const void *weight = nullptr, *bias = nullptr;
  double eps = 0;
  void *mean = nullptr, *rstd = nullptr;
};

// One element a row in the compute type: losses, weights of the targets, logsumexp. For the
// gradient: weight_sum, divisor (or none) and dy (one element a row or one in all).
struct CrossEntropyTask : RowTask {
  const __INT64_TYPE__* target = nullptr;
  __INT64_TYPE__ ignored = 0;
  const void* weight = nullptr;
  double smoothing = 0;
  FaultSite fault{};
  void *loss = nullptr, *target_weight = nullptr, *logsumexp = nullptr;
  // All rows in one block, which then adds up losses (none: null) and weights too, with the bits of
  // sum_on_device().
  bool at_once = false, mean = false;
  void *weight_total = nullptr, *loss_total = nullptr;
  int total_dtype = 0;  // of loss_total
  const void *weight_sum = nullptr, *divisor = nullptr, *dy = nullptr;
  bool dy_each = false;
};

inline namespace INGOT_ISA {

void launch_softmax(const RowTask& task);
void launch_log_softmax(const RowTask& task);
void launch_softmax_backward(const RowTask& task);  // in: dy, y
void launch_log_softmax_backward(const RowTask& task);
void launch_logsumexp(const RowValueTask& task);
void launch_variance(const RowValueTask& task);
void launch_layer_norm(const LayerNormTask& task);
void launch_layer_norm_backward(const LayerNormTask& task);  // in: dy, x
void launch_cross_entropy(const CrossEntropyTask& task);
void launch_cross_entropy_backward(const CrossEntropyTask& task);

}  // namespace INGOT_ISA
}  // namespace ingot
