// The rows of a task. Owns: where a row begins, its load and its store.
// Must not know: formulas.
#pragma once

#include <ingot/kernels/cuda/row_elements.cuh>
#include <ingot/kernels/cuda/row_task.h>
#include <ingot/kernels/cuda/storage.cuh>

namespace ingot {
inline namespace INGOT_ISA {

// The first element of a row.
__device__ __forceinline__ Int64 row_begin(const RowPlaces& p, Int64 row) {
  if (p.inner == 0) return row * p.stride;
  const Int64 outer = row / p.inner;
  return outer * p.outer_stride + (row - outer * p.inner) * p.stride;
}

// For a kernel with so many slots.
template <class S, int kSlots>
__device__ __forceinline__ RowLoad<S, (kSlots > 0)> load_row(const RowTask& p, const RowOperand& in,
                                                             Int64 row) {
  return {static_cast<const S*>(in.data) + row_begin(in.places, row), p.vectors};
}
// Its values, in registers if there are slots.
template <class S, int kSlots>
__device__ __forceinline__ auto row_values(const LaneOf<kSlots>& at, const RowTask& p,
                                           const RowOperand& in, Int64 row) {
  const auto load = load_row<S, kSlots>(p, in, row);
  return RowValues<kSlots, RowLoad<S, (kSlots > 0)>>(at, load);
}
template <class S, int kSlots>
__device__ __forceinline__ RowStore<S, (kSlots > 0)> store_row(const RowTask& p, Int64 row) {
  return {static_cast<S*>(p.out.data) + row_begin(p.out.places, row), p.vectors};
}

}  // namespace INGOT_ISA
}  // namespace ingot
