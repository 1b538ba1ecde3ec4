// CUDA unit: small matrix products, eager.
#include <ingot/kernels/core/dtype.h>
#include <ingot/kernels/cuda/launch.cuh>
#include <ingot/kernels/cuda/small_product.cuh>
#include <ingot/kernels/cuda/small_shape.h>

namespace ingot {
inline namespace INGOT_ISA {

namespace {

template <class S, int kSlots>
struct StoreResult {
  const SmallProduct& p;
  ProductResult<S, kSlots> result;
  __device__ __forceinline__ void load(int slot, unsigned, int row, int column) {
    result.load(p, slot, row, column);
  }
  __device__ __forceinline__ void finish(int slot, unsigned matrix, int row, int column,
                                         Num<S> sum) {
    static_cast<S*>(p.d)[matrix * p.d_step + Int64(row) * p.n + column] =
        result.value(p, slot, sum);
  }
};

template <class S, int kTileRows, bool kA, bool kB, bool kQuads>
__global__ void __launch_bounds__(kSmallThreads, kSmallBlocks)
    small_product_kernel(const SmallProduct p) {
  wait_for_previous();
  StoreResult<S, small_slots<kTileRows>> tail{p, {}};
  SmallTile<S, kTileRows, kA, kB, kQuads>::run(p, tail);
}

template <class S, int kTileRows, bool kQuads>
void launch_tile(const SmallProduct& p, const SmallShape& shape) {
  const auto go = [&](auto kernel) { launch(kernel, {shape.blocks, kSmallThreads}, p); };
  if (shape.a_along) {
    return shape.b_along ? go(small_product_kernel<S, kTileRows, true, true, kQuads>)
                         : go(small_product_kernel<S, kTileRows, true, false, kQuads>);
  }
  return shape.b_along ? go(small_product_kernel<S, kTileRows, false, true, kQuads>)
                       : go(small_product_kernel<S, kTileRows, false, false, kQuads>);
}

}  // namespace

void launch_small_product(const SmallProduct& p, const SmallShape& shape) {
  if (shape.dtype == static_cast<int>(DType::f64)) return launch_tile<double, 8, false>(p, shape);
  if (shape.tile_rows == 8) {
    return shape.quads ? launch_tile<float, 8, true>(p, shape)
                       : launch_tile<float, 8, false>(p, shape);
  }
  shape.quads ? launch_tile<float, 16, true>(p, shape) : launch_tile<float, 16, false>(p, shape);
}

}  // namespace INGOT_ISA
}  // namespace ingot
