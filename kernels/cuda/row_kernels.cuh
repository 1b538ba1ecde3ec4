// From a formula over the lanes of a row to its kernels: one for each storage type and number of
// slots. Owns: the kernel, the choice among them. Must not know: formulas.
//
// A formula is template <class S, int kSlots> struct F with Task, `held` (operands that stay in
// registers) and run(lane, row, task), called by every thread; lane.n == 0 without a row.
#pragma once

#include <ingot/kernels/cuda/row_io.cuh>

namespace ingot {
inline namespace INGOT_ISA {

// kLanes: the lanes of a row where they are part of the kernel, which saves the branches on them;
// else 0.
template <int kSlots, int kLanes>
inline constexpr int row_block_threads = kLanes > 0 ? kLanes* rows_per_block(kLanes)
                                                    : row_threads(kSlots);

template <template <class, int> class F, class S, int kSlots, int kLanes>
__global__ void __launch_bounds__(row_block_threads<kSlots, kLanes>,
                                  row_blocks(16 / sizeof(S), kSlots, F<S, kSlots>::held,
                                             row_block_threads<kSlots, kLanes>))
    row_kernel(const typename F<S, kSlots>::Task task, int any_lanes) {
  wait_for_previous();
  const int lanes = kLanes > 0 ? kLanes : any_lanes;
  int place = 0;
  Int64 row = blockIdx.x;
  if (static_cast<int>(blockDim.x) != lanes) {  // several rows: a division costs as much as a load
    place = static_cast<int>(threadIdx.x) / lanes;
    row = row * (static_cast<int>(blockDim.x) / lanes) + place;
  }
  LaneOf<kSlots> at;
  at.n = row < task.rows ? static_cast<typename LaneOf<kSlots>::Index>(task.n) : 0;
  at.lane = static_cast<int>(threadIdx.x) - place * lanes;
  at.lanes = lanes;
  F<S, kSlots>::run(at, row, task);
}

// Whether a formula has kernels for the lanes of common lengths.
template <class Formula>
inline constexpr bool has_fixed_lanes = requires {
  Formula::fixed_lanes;
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
  const auto go = [&](auto kernel) { launch(kernel, grid, task, shape.lanes); };
  if constexpr (requires { task.at_once; }) {
    if (task.at_once) {
      const Int64 threads = (task.rows * shape.lanes + kWarp - 1) / kWarp * kWarp;
      return launch(row_kernel<F, S, 0, 0>, {1, static_cast<unsigned>(threads)}, task, shape.lanes);
    }
  }
  if constexpr (kHeld) {
    if (task.vectors && task.n % width == 0) {
      if constexpr (has_fixed_lanes<F<S, 0>>) {
        if (width == 4 && shape.slots == 2 && shape.lanes == 128) {
          return go(row_kernel<F, S, 2, 128>);
        }
        if (shape.slots == 4) {
          if (width == 4 && shape.lanes == 192) return go(row_kernel<F, S, 4, 192>);
          if (width == 8 && shape.lanes == 32) return go(row_kernel<F, S, 4, 32>);
          if (width == 8 && shape.lanes == 64) return go(row_kernel<F, S, 4, 64>);
          if (shape.lanes == 128) return go(row_kernel<F, S, 4, 128>);
          if (shape.lanes == 256) return go(row_kernel<F, S, 4, 256>);
          if (shape.lanes == 512) return go(row_kernel<F, S, 4, 512>);
        }
      }
      if (shape.slots == 1) return go(row_kernel<F, S, 1, 0>);
      if (shape.slots == 2) return go(row_kernel<F, S, 2, 0>);
      if (shape.slots == 3 || shape.slots == 4) return go(row_kernel<F, S, 4, 0>);
      if constexpr (most_slots(width) == 8) {
        if (shape.slots == 6) return go(row_kernel<F, S, 6, 0>);
        if (shape.slots == 8) return go(row_kernel<F, S, 8, 0>);
      }
    }
  }
  go(row_kernel<F, S, 0, 0>);
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
