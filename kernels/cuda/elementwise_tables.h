// The tables of elementwise kernels, one function for each unit that holds some.
// By place in rows::ValueRows or rows::GradRows. Must not know: device code.
#pragma once

#include <ingot/kernels/cuda/elementwise_task.h>
#include <ingot/kernels/ops/isa.h>

namespace ingot {
inline namespace INGOT_ISA {

const ElementwiseKernels* values_f32();
const ElementwiseKernels* gradients_f32();
const ElementwiseKernels* values_f64();
const ElementwiseKernels* gradients_f64();
const ElementwiseKernels* values_i64();
const ElementwiseKernels* values_i32();
const ElementwiseKernels* values_u8();
const ElementwiseKernels* values_bool();

}  // namespace INGOT_ISA
}  // namespace ingot
