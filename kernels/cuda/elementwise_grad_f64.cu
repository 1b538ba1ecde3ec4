// CUDA unit: the kernels of elementwise rows, gradients of f64.
#include <ingot/kernels/cuda/elementwise.cuh>
#include <ingot/kernels/cuda/elementwise_tables.h>

namespace ingot {
inline namespace INGOT_ISA {

const ElementwiseKernels* gradients_f64() {
  static constexpr ElementwiseTable<double, rows::GradRows> table;
  return table.at;
}

}  // namespace INGOT_ISA
}  // namespace ingot
