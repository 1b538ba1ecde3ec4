#pragma once
// Rows in memory: vectors of 16 bytes where their addresses allow it, else single elements; the
// same elements on the same lanes either way. Owns: RowLoad, RowStore. Must not know: formulas,
// where rows begin. Freestanding, for generated kernels too.
#include <ingot/kernels/cuda/row_lanes.cuh>
#include <ingot/kernels/cuda/twins.h>

namespace ingot {
inline namespace INGOT_ISA {

// kWhole: all vectors lie well and none is cut short.
template <class S, bool kWhole>
struct RowLoad {
  using Value = typename ComputeTypeOf<S>::type;
  static constexpr int width = 16 / sizeof(S);
  static constexpr RowFill fill = kWhole ? RowFill::vectors : RowFill::any;
  static constexpr bool is_16_bit = sizeof(S) == 2;
  const S* x;
  bool vectors;

  __device__ __forceinline__ bool given() const { return x != nullptr; }
  template <class I>
  __device__ __forceinline__ RowVector<Value, width> operator()(I i, I left) const {
    RowVector<Value, width> y;
    if (kWhole ? left > 0 : vectors && left >= width) {
      widen_all(*reinterpret_cast<const Pack<S, width>*>(x + i), y.v);
    } else {
#pragma unroll
      for (int e = 0; e < width; ++e) {
        y.v[e] = !kWhole && e < left ? widen(x[i + e]) : Num<Value>(0);
      }
    }
    return y;
  }
};

template <class S, bool kWhole>
struct RowStore {
  using Value = typename ComputeTypeOf<S>::type;
  static constexpr int width = 16 / sizeof(S);
  S* y;
  bool vectors;

  template <class I>
  __device__ __forceinline__ void operator()(I i, I left, const RowVector<Value, width>& v) const {
    if (kWhole || (vectors && left >= width)) {
      *reinterpret_cast<Pack<S, width>*>(y + i) = narrow_all<S, width>(v.v);
    } else {
#pragma unroll
      for (int e = 0; e < width; ++e) {
        if (e < left) y[i + e] = narrow<S>(v.v[e]);
      }
    }
  }
};

}  // namespace INGOT_ISA
}  // namespace ingot
