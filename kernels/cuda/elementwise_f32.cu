// CUDA unit: the kernels of elementwise rows, values of f32.
#include <ingot/kernels/cuda/elementwise.cuh>
#include <ingot/kernels/cuda/elementwise_tables.h>

namespace ingot {
inline namespace INGOT_ISA {

const ElementwiseKernels* values_f32() {
  static constexpr ElementwiseTable<float, rows::ValueRows> table;
  return table.at;
}

}  // namespace INGOT_ISA
}  // namespace ingot
