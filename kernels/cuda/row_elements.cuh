#pragma once
// Rows in memory: vectors of 16 bytes where their addresses allow it, else single elements; the
// same elements on the same lanes either way. Owns: RowLoad, RowStore. Must not know: formulas,
// where rows begin. Freestanding, for generated kernels too.
#include <ingot/kernels/cuda/elements.h>
#include <ingot/kernels/cuda/row_lanes.cuh>

namespace ingot {
inline namespace INGOT_ISA {

template <class S>
struct ComputeTypeOf {
  using type = S;
};
template <>
struct ComputeTypeOf<Half> {
  using type = float;
};
template <>
struct ComputeTypeOf<BFloat16> {
  using type = float;
};

// kWhole: all vectors lie well and none is cut short.
template <class S, bool kWhole>
struct RowLoad {
  using Value = typename ComputeTypeOf<S>::type;
  static constexpr int width = 16 / sizeof(S);
  static constexpr bool whole = kWhole;
  const S* x;
  bool vectors;

  __device__ __forceinline__ bool given() const { return x != nullptr; }
  template <class I>
  __device__ __forceinline__ RowVector<Value, width> operator()(I i, I left) const {
    RowVector<Value, width> y;
    if (kWhole ? left > 0 : vectors && left >= width) {
      const Pack<S, width> pack = *reinterpret_cast<const Pack<S, width>*>(x + i);
#pragma unroll
      for (int e = 0; e < width; ++e) y.v[e] = widen(pack.v[e]);
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
      Pack<S, width> pack;
#pragma unroll
      for (int e = 0; e < width; ++e) pack.v[e] = narrow<S>(v.v[e]);
      *reinterpret_cast<Pack<S, width>*>(y + i) = pack;
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
