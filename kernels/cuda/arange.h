// arange on CUDA: element i is start + i * step, in f64 or (wrapping) i64, cast at the end.
// Owns: ArangeTask. Must not know: metas.
#pragma once

#include <ingot/kernels/ops/isa.h>

namespace ingot {

struct ArangeTask {
  void* out;
  int dtype;  // DType of the result
  __INT64_TYPE__ n;
  __INT64_TYPE__ stride;
  bool floating = false;
  double start = 0, step = 0;
  __INT64_TYPE__ first = 0, by = 0;
};

inline namespace INGOT_ISA {
void launch_arange(const ArangeTask& task);
}
}  // namespace ingot
