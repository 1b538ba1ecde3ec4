// CUDA unit: products by a plain tiled kernel.
#include <ingot/kernels/cuda/gemm_simple.h>
#include <ingot/kernels/cuda/storage.cuh>

namespace ingot {
inline namespace INGOT_ISA {

namespace {

constexpr int kTile = 16;

// Blocks are numbered along x over tiles of columns, rows and the batch.
template <class S, class T>
__global__ void __launch_bounds__(kTile* kTile)
    simple_product_kernel(const SimpleProduct p, Int64 tiles_m, Int64 tiles_n) {
  wait_for_previous();
  __shared__ T a_tile[kTile][kTile + 1];
  __shared__ T b_tile[kTile][kTile + 1];
  const int x = int(threadIdx.x) % kTile, y = int(threadIdx.x) / kTile;
  Int64 block = blockIdx.x;
  const Int64 column = block % tiles_n * kTile + x;
  block /= tiles_n;
  const Int64 row = block % tiles_m * kTile + y;
  const Int64 matrix = block / tiles_m;
  const S* a = static_cast<const S*>(p.a) + matrix * p.a_step;
  const S* b = static_cast<const S*>(p.b) + matrix * p.b_step;

  Num<T> sum(0);
  for (Int64 first = 0; first < p.k; first += kTile) {
    const Int64 ka = first + x, kb = first + y;
    a_tile[y][x] = row < p.m && ka < p.k ? widen(a[row * p.a_row + ka * p.a_column]).v : T(0);
    b_tile[y][x] = column < p.n && kb < p.k ? widen(b[kb * p.b_row + column * p.b_column]).v : T(0);
    __syncthreads();
    const int count = p.k - first < kTile ? int(p.k - first) : kTile;
    for (int i = 0; i < count; ++i) {
      const Num<T> u(a_tile[y][i]), v(b_tile[i][x]);
      if constexpr (is_float<T>) {
        sum = fma(u, v, sum);
      } else {
        sum = sum + u * v;
      }
    }
    __syncthreads();
  }
  if (row >= p.m || column >= p.n) return;
  if constexpr (is_float<T>) {
    if (p.alpha != 1) sum = Num<T>(p.alpha) * sum;
  } else {
    if (p.alpha != 1) sum = Num<T>(static_cast<Int64>(p.alpha)) * sum;
  }
  if (p.bias != nullptr && p.beta != 0) {
    Num<T> c = widen(static_cast<const S*>(p.bias)[row * p.bias_row + column * p.bias_column]);
    if constexpr (is_float<T>) {
      if (p.beta != 1) c = Num<T>(p.beta) * c;
    } else {
      c = Num<T>(static_cast<Int64>(p.beta)) * c;
    }
    sum = sum + c;
  }
  static_cast<S*>(p.d)[matrix * p.d_step + row * p.n + column] = narrow<S>(sum);
}

template <class S, class T>
void launch_typed(const SimpleProduct& p) {
  const Int64 tiles_m = (p.m + kTile - 1) / kTile, tiles_n = (p.n + kTile - 1) / kTile;
  launch(simple_product_kernel<S, T>, {tiles_m * tiles_n * p.batch, kTile * kTile}, p, tiles_m,
         tiles_n);
}

}  // namespace

void launch_simple_product(const SimpleProduct& p) {
  switch (static_cast<DType>(p.dtype)) {
    case DType::f32:
      return launch_typed<float, float>(p);
    case DType::f64:
      return launch_typed<double, double>(p);
    case DType::f16:
      return launch_typed<Half, float>(p);
    case DType::bf16:
      return launch_typed<BFloat16, float>(p);
    case DType::i64:
      return launch_typed<Int64, Int64>(p);
    case DType::i32:
      return launch_typed<int, int>(p);
    case DType::u8:
      return launch_typed<unsigned char, unsigned char>(p);
    case DType::boolean:
      return;
  }
}

}  // namespace INGOT_ISA
}  // namespace ingot
