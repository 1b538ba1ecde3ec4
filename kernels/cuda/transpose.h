// Copies between buffers whose shortest strides lie along different axes.
// Owns: TransposeTask. Must not know: metas, dtypes.
#pragma once

#include <ingot/kernels/ops/isa.h>

namespace ingot {

struct TransposeTask {
  void* out;
  const void* in;
  int item;  // bytes of an element
  // out runs along `rows` (stride 1), in along `columns` (stride 1).
  __INT64_TYPE__ rows, columns;
  __INT64_TYPE__ in_row_stride, out_column_stride;
  int outer = 0;  // further axes
  __INT64_TYPE__ sizes[8] = {}, out_strides[8] = {}, in_strides[8] = {};
};

inline namespace INGOT_ISA {
void launch_transpose(const TransposeTask& task);
}

}  // namespace ingot
