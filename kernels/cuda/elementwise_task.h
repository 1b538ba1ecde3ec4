// One elementwise call as its CUDA kernels see it, and the table of these kernels.
// Owns: ElementwiseTask, ElementwiseKernels. Host code without CUDA headers. Must not know: metas.
#pragma once

#include <ingot/kernels/ops/isa.h>

namespace ingot {

inline constexpr int kTaskInputs = 5, kTaskAxes = 8;

struct ElementwiseTask {
  struct Operand {
    void* data;                         // nullptr: the value in `scalar`, of the compute type
    int dtype;                          // DType of the bytes
    bool repeated;                      // vector kernels: one value along the innermost axis
    __INT64_TYPE__ strides[kTaskAxes];  // in elements, axis 0 innermost
    alignas(8) char scalar[8];
  };
  Operand out, in[kTaskInputs];
  int n_in;
  __INT64_TYPE__ n;  // elements
  // Axes, all sizes and reached offsets below 2^31. 0 for vector kernels: every operand that is not
  // repeated is one dense run of n elements.
  int dim;
  unsigned sizes[kTaskAxes];
};

using ElementwiseLaunch = void (*)(const ElementwiseTask& task);

struct ElementwiseKernels {
  // Operands of one stored type whose innermost axis is a run or one value. By that type: the
  // compute type itself, f16, bf16 (f32 only). nullptr where there is none.
  ElementwiseLaunch vector[3];
  ElementwiseLaunch strided;  // any strides and dtypes
};

// Whether every operand can be read in vectors of `width` elements along the innermost axis: its
// size, the addresses and the outer strides are multiples of it.
inline namespace INGOT_ISA {
bool vectors_fit(const ElementwiseTask& task, int width);
}

}  // namespace ingot
