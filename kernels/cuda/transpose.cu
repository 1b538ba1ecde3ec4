// CUDA unit: transposed copies by tiles in shared memory.
#include <ingot/kernels/cuda/launch.cuh>
#include <ingot/kernels/cuda/transpose.h>

namespace ingot {
inline namespace INGOT_ISA {

namespace {

constexpr int kTransposeTile = 32, kRowsAtOnce = 8;

// Blocks are numbered along x over tiles of rows, of columns, and the outer axes.
template <class T>
__global__ void __launch_bounds__(kTransposeTile* kRowsAtOnce)
    transpose_kernel(const TransposeTask p, Int64 row_tiles, Int64 column_tiles) {
  wait_for_previous();
  __shared__ T tile[kTransposeTile][kTransposeTile + 1];
  const int x = int(threadIdx.x) % kTransposeTile, y = int(threadIdx.x) / kTransposeTile;
  Int64 block = blockIdx.x;
  const Int64 first_row = block % row_tiles * kTransposeTile;
  block /= row_tiles;
  const Int64 first_column = block % column_tiles * kTransposeTile;
  block /= column_tiles;
  const T* in = static_cast<const T*>(p.in);
  T* out = static_cast<T*>(p.out);
  for (int d = 0; d < p.outer; ++d) {
    const Int64 index = block % p.sizes[d];
    block /= p.sizes[d];
    in += index * p.in_strides[d];
    out += index * p.out_strides[d];
  }
  for (int i = y; i < kTransposeTile; i += kRowsAtOnce) {
    const Int64 row = first_row + i, column = first_column + x;
    if (row < p.rows && column < p.columns) tile[i][x] = in[row * p.in_row_stride + column];
  }
  __syncthreads();
  for (int i = y; i < kTransposeTile; i += kRowsAtOnce) {
    const Int64 row = first_row + x, column = first_column + i;
    if (row < p.rows && column < p.columns) out[column * p.out_column_stride + row] = tile[x][i];
  }
}

template <class T>
void launch_typed(const TransposeTask& task) {
  const Int64 row_tiles = (task.rows + kTransposeTile - 1) / kTransposeTile;
  const Int64 column_tiles = (task.columns + kTransposeTile - 1) / kTransposeTile;
  Int64 blocks = row_tiles * column_tiles;
  for (int d = 0; d < task.outer; ++d) blocks *= task.sizes[d];
  launch(transpose_kernel<T>, {blocks, kTransposeTile * kRowsAtOnce}, task, row_tiles,
         column_tiles);
}

}  // namespace

void launch_transpose(const TransposeTask& task) {
  switch (task.item) {
    case 1:
      return launch_typed<unsigned char>(task);
    case 2:
      return launch_typed<unsigned short>(task);
    case 4:
      return launch_typed<unsigned>(task);
    default:
      return launch_typed<unsigned long long>(task);
  }
}

}  // namespace INGOT_ISA
}  // namespace ingot
