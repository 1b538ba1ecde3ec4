// One elementwise call as its CUDA kernels see it, and the table of these kernels.
// Owns: ElementwiseTask, ElementwiseKernels. Host code without CUDA headers. Must not know: metas.
#pragma once

namespace ingot {

inline constexpr int kTaskInputs = 5, kTaskAxes = 8;

struct ElementwiseTask {
  struct Operand {
    void* data;                         // nullptr: the value in `scalar`, of the compute type
    int dtype;                          // DType of the bytes
    bool repeated;                      // dense kernels: one value, not a run
    __INT64_TYPE__ strides[kTaskAxes];  // strided kernels: in elements, axis 0 innermost
    alignas(8) char scalar[8];
  };
  Operand out, in[kTaskInputs];
  int n_in;
  __INT64_TYPE__ n;  // elements
  int dim;           // strided kernels: axes, all sizes and reached offsets below 2^31
  unsigned sizes[kTaskAxes];
};

using ElementwiseLaunch = void (*)(const ElementwiseTask& task);

struct ElementwiseKernels {
  // All operands dense runs or single values, without casts. By what is stored: the compute type
  // itself, f16, bf16 (f32 only). nullptr where there is none.
  ElementwiseLaunch dense[3];
  ElementwiseLaunch strided;  // any strides and dtypes
};

}  // namespace ingot
