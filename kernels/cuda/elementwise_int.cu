// CUDA unit: the kernels of elementwise rows, values of integers and bool.
#include <ingot/kernels/cuda/elementwise.cuh>
#include <ingot/kernels/cuda/elementwise_tables.h>

namespace ingot {
inline namespace INGOT_ISA {

namespace {
template <class T>
const ElementwiseKernels* values() {
  static constexpr ElementwiseTable<T, rows::ValueRows> table;
  return table.at;
}
}  // namespace

const ElementwiseKernels* values_i64() { return values<Int64>(); }
const ElementwiseKernels* values_i32() { return values<int>(); }
const ElementwiseKernels* values_u8() { return values<unsigned char>(); }
const ElementwiseKernels* values_bool() { return values<bool>(); }

}  // namespace INGOT_ISA
}  // namespace ingot
