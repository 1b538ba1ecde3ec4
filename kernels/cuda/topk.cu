// CUDA unit: the k largest or smallest elements of rows.
// Elements are turned into integers of the same order once. A few are then picked one after the
// other, by a block for each row; for many, every element counts those before it, which takes n * n
// comparisons for a row but uses the whole device. Neither needs more memory than the keys.
#include <ingot/kernels/cuda/row_io.cuh>
#include <ingot/kernels/cuda/topk.h>

namespace ingot {
inline namespace INGOT_ISA {

namespace {

constexpr int kTopKThreads = 256;
constexpr Int64 kMostPicks = 64;

// Greater for what comes first among the largest: NaN above all numbers, both zeros alike.
__device__ __forceinline__ Int64 order_key(Num<float> x) {
  if (x.v != x.v) return IntegerRange<Int64>::greatest;
  const int bits = math::to_bits(x.v == 0 ? 0.0f : x.v);
  return bits < 0 ? bits ^ 0x7fffffff : bits;
}
__device__ __forceinline__ Int64 order_key(Num<double> x) {
  if (x.v != x.v) return IntegerRange<Int64>::greatest;
  const Int64 bits = math::to_bits(x.v == 0 ? 0.0 : x.v);
  return bits < 0 ? bits ^ IntegerRange<Int64>::greatest : bits;
}

__global__ void __launch_bounds__(kTopKThreads) topk_keys_kernel(const TopkTask p) {
  wait_for_previous();
  const Int64 t = Int64(blockIdx.x) * kTopKThreads + threadIdx.x;
  if (t >= p.rows * p.n) return;
  const Int64 row = t / p.n, from = row_begin(p.x.places, row) + (t - row * p.n);
  const auto dtype = static_cast<DType>(p.dtype);
  Int64 key;
  if (dtype == DType::f64) {
    key = order_key(load_as<double>(p.x.data, from, p.dtype));
  } else if (dtype <= DType::bf16) {
    key = order_key(load_as<float>(p.x.data, from, p.dtype));
  } else {
    key = load_as<Int64>(p.x.data, from, p.dtype).v;
  }
  p.keys[t] = p.largest ? key : ~key;
}

template <class T>
__device__ __forceinline__ void copy_as(void* out, Int64 to, const void* in, Int64 from) {
  static_cast<T*>(out)[to] = static_cast<const T*>(in)[from];
}

// Element `place` of the row becomes result `rank`.
__device__ __forceinline__ void store_choice(const TopkTask& p, Int64 row, Int64 rank,
                                             Int64 place) {
  const Int64 to = row * p.k + rank, from = row_begin(p.x.places, row) + place;
  p.places[to] = place;
  switch (p.item) {
    case 1:
      return copy_as<unsigned char>(p.values, to, p.x.data, from);
    case 2:
      return copy_as<unsigned short>(p.values, to, p.x.data, from);
    case 4:
      return copy_as<unsigned>(p.values, to, p.x.data, from);
    default:
      return copy_as<Int64>(p.values, to, p.x.data, from);
  }
}

__global__ void __launch_bounds__(kTopKThreads) topk_picks_kernel(const TopkTask p) {
  wait_for_previous();
  using R = ExtremeReducer<Int64>;
  const Int64 row = blockIdx.x;
  const Int64* keys = p.keys + row * p.n;
  const int threads = static_cast<int>(blockDim.x);
  R::State last = R::identity();
  for (Int64 rank = 0; rank < p.k; ++rank) {
    R::State best = R::identity();
    for (Int64 i = threadIdx.x; i < p.n; i += threads) {
      const Int64 key = keys[i];
      const bool left = rank == 0 || key < last.value.v || (key == last.value.v && i > last.place);
      if (left) best = R::merge(best, {Num<Int64>(key), i});
    }
    __syncthreads();  // all have read the shared memory of the last round
    last = reduce_lanes<R, 0>(best, threads);
    if (threadIdx.x == 0) store_choice(p, row, rank, last.place);
  }
}

__global__ void __launch_bounds__(kTopKThreads) topk_ranks_kernel(const TopkTask p) {
  wait_for_previous();
  const Int64 t = Int64(blockIdx.x) * kTopKThreads + threadIdx.x;
  if (t >= p.rows * p.n) return;
  const Int64 row = t / p.n, place = t - row * p.n, key = p.keys[t];
  const Int64* keys = p.keys + row * p.n;
  Int64 rank = 0;
  for (Int64 i = 0; i < p.n; ++i) {
    const Int64 other = keys[i];
    rank += (other > key) | ((other == key) & (i < place)) ? 1 : 0;
  }
  if (rank < p.k) store_choice(p, row, rank, place);
}

}  // namespace

void launch_topk(const TopkTask& task) {
  const LaunchShape each{(task.rows * task.n + kTopKThreads - 1) / kTopKThreads, kTopKThreads};
  launch(topk_keys_kernel, each, task);
  if (task.k <= kMostPicks) {
    const unsigned threads = task.n <= kWarp       ? kWarp
                             : task.n <= 2 * kWarp ? 2 * kWarp
                                                   : kTopKThreads;
    launch(topk_picks_kernel, {task.rows, threads}, task);
  } else {
    launch(topk_ranks_kernel, each, task);
  }
}

}  // namespace INGOT_ISA
}  // namespace ingot
