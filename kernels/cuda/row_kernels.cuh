// From a formula over the lanes of a row to its kernels: one for each storage type and number of
// slots. Owns: the kernel, the choice among them. Must not know: formulas.
//
// A formula is template <class S, int kSlots> struct F with Task, `held` (operands that stay in
// registers) and run(lane, row, task), called by every thread; lane.n == 0 without a row.
#pragma once

#include <ingot/kernels/cuda/row_io.cuh>

namespace ingot {
inline namespace INGOT_ISA {

template <template <class, int> class F, class S, int kSlots, RowLanes kKnown>
__global__ void __launch_bounds__(row_threads(16 / sizeof(S), kSlots),
                                  row_blocks(16 / sizeof(S), kSlots, F<S, kSlots>::held,
                                             row_threads(16 / sizeof(S), kSlots)))
    row_kernel(const typename F<S, kSlots>::Task task, RowShape shape, int shift) {
  wait_for_previous();
  if constexpr (kSlots > 0) shape.slots = kSlots;
  int lane = static_cast<int>(threadIdx.x);
  Int64 row = blockIdx.x;
  if (static_cast<int>(blockDim.x) != shape.lanes) {  // several rows, of 2^shift lanes
    row = (row * static_cast<int>(blockDim.x) + lane) >> shift;
    lane &= shape.lanes - 1;
  }
  using Index = typename LaneOf<kSlots>::Index;
  const Index n = row < task.rows ? static_cast<Index>(task.n) : 0;
  F<S, kSlots>::run(row_lane<kKnown, 16 / sizeof(S)>(n, lane, shape), row, task);
}

// Whether a formula has kernels of their own for rows of whole warps.
template <class Formula>
inline constexpr bool knows_warps = requires {
  typename Formula::knows_warps;
};

// kHeld: whether there are kernels that hold their row in registers. These take whole vectors; all
// other rows are read again on each pass, mostly from the cache, with the same bits.
template <template <class, int> class F, class S, bool kHeld>
void launch_row_formula(const typename F<S, 0>::Task& task) {
  constexpr int width = 16 / sizeof(S);
  const RowShape shape = row_shape(task.n, width);
  const int together = rows_per_block(shape.lanes);
  const LaunchShape grid{.blocks = (task.rows + together - 1) / together,
                         .threads = static_cast<unsigned>(shape.lanes * together)};
  const auto go = [&](auto kernel) { launch(kernel, grid, task, shape, log2_of(shape.lanes)); };
  if constexpr (requires { task.at_once; }) {
    if (task.at_once) {
      const Int64 threads = (task.rows * shape.lanes + kWarp - 1) / kWarp * kWarp;
      return launch(row_kernel<F, S, 0, RowLanes::any>, {1, static_cast<unsigned>(threads)}, task,
                    shape, log2_of(shape.lanes));
    }
  }
  if constexpr (kHeld) {
    if (task.vectors && task.n % width == 0) {
      if constexpr (knows_warps<F<S, 0>>) {
        const RowLanes lanes = row_lanes(shape.lanes);
        if (shape.slots == 4 && lanes == RowLanes::many_warps) {
          return go(row_kernel<F, S, 4, RowLanes::many_warps>);
        }
        if (lanes == RowLanes::few_warps) {
          if (shape.slots == 2) return go(row_kernel<F, S, 2, RowLanes::few_warps>);
          if (shape.slots == 4) return go(row_kernel<F, S, 4, RowLanes::few_warps>);
        }
      }
      if (shape.slots == 1) return go(row_kernel<F, S, 1, RowLanes::any>);
      if (shape.slots == 2) return go(row_kernel<F, S, 2, RowLanes::any>);
      if (shape.slots == 4) return go(row_kernel<F, S, 4, RowLanes::any>);
      if constexpr (width == 4) {
        if (shape.slots == 6) return go(row_kernel<F, S, 6, RowLanes::any>);
        if (shape.slots == 8) return go(row_kernel<F, S, 8, RowLanes::any>);
      } else {
        if (shape.slots == 3) return go(row_kernel<F, S, 3, RowLanes::any>);
      }
    }
  }
  go(row_kernel<F, S, 0, RowLanes::any>);
}

template <template <class, int> class F, bool kHeld = true, class Task>
void launch_row_formula_for(const Task& task) {
  switch (static_cast<DType>(task.storage)) {
    case DType::f64:
      return launch_row_formula<F, double, false>(task);
    case DType::f16:
      return launch_row_formula<F, Half, kHeld>(task);
    case DType::bf16:
      return launch_row_formula<F, BFloat16, kHeld>(task);
    default:
      return launch_row_formula<F, float, kHeld>(task);
  }
}

}  // namespace INGOT_ISA
}  // namespace ingot
