// CUDA unit: copies, casts and fills as an elementwise row.
#include <ingot/kernels/cuda/copy.h>
#include <ingot/kernels/cuda/elementwise.cuh>

namespace ingot {
inline namespace INGOT_ISA {

struct CopyRow {
  static constexpr DTypeRule rule = DTypeRule::same;
  static constexpr DTypeSet dtypes = DTypeSet::all;
  template <class S>
  INGOT_HD static S value(S x) {
    return x;
  }
};

namespace {

template <class T>
constexpr ElementwiseKernels kCopy = kernels_of_row<CopyRow, T>();

}  // namespace

const ElementwiseKernels& copy_kernels(DType compute) {
  switch (compute) {
    case DType::f64:
      return kCopy<double>;
    case DType::i64:
      return kCopy<Int64>;
    case DType::i32:
      return kCopy<int>;
    case DType::u8:
      return kCopy<unsigned char>;
    case DType::boolean:
      return kCopy<bool>;
    default:
      return kCopy<float>;
  }
}

}  // namespace INGOT_ISA
}  // namespace ingot
