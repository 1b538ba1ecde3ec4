// CUDA kernel of the row topk in kernels/ops/structured/reductions.h. Owns: this entry point, the
// task of its device code. Must not know: device code.
#pragma once

#include <ingot/kernels/cuda/row_task.h>
#include <ingot/kernels/kernel_table.h>

namespace ingot {

struct TopkTask {
  __INT64_TYPE__ rows, n, k;
  RowOperand x;
  int dtype, item;  // of x, and bytes of an element
  bool largest;
  __INT64_TYPE__* keys;  // rows * n: what orders the elements
  void* values;          // rows * k, of x's dtype
  __INT64_TYPE__* places;
};

inline namespace INGOT_ISA {

void launch_topk(const TopkTask& task);
void cuda_topk(const KernelArgs& args);

}  // namespace INGOT_ISA
}  // namespace ingot
