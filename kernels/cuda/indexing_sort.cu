// CUDA unit: the stable sort of index keys, by ranks or by radix passes.
#include <ingot/kernels/cuda/indexing_sort.h>
#include <ingot/kernels/cuda/launch.cuh>

namespace ingot {
inline namespace INGOT_ISA {

namespace {

constexpr int kSortThreads = 256, kWarps = kSortThreads / 32, kRounds = kSortTile / kSortThreads;
static_assert(kSortThreads == kSortDigits, "a thread for each digit");
constexpr unsigned kAll = 0xffffffffu;

// A key's place is the number of smaller keys, and of equal ones before it.
__global__ void __launch_bounds__(kSortThreads)
    rank_kernel(const IndexKey* keys, int n, IndexKey* sorted_keys, unsigned* sorted_order) {
  wait_for_previous();
  __shared__ IndexKey tile[kSortThreads];
  const int i = int(blockIdx.x) * kSortThreads + int(threadIdx.x);
  const IndexKey mine = i < n ? keys[i] : 0;
  int rank = 0;
  for (int first = 0; first < n; first += kSortThreads) {
    __syncthreads();
    if (first + int(threadIdx.x) < n) tile[threadIdx.x] = keys[first + int(threadIdx.x)];
    __syncthreads();
    const int count = n - first < kSortThreads ? n - first : kSortThreads;
    for (int k = 0; k < count; ++k) {
      rank += int(tile[k] < mine || (tile[k] == mine && first + k < i));
    }
  }
  if (i < n) {
    sorted_keys[rank] = mine;
    sorted_order[rank] = unsigned(i);
  }
}

__device__ __forceinline__ unsigned digit_of(IndexKey key, int shift) {
  return unsigned(key >> shift) & (kSortDigits - 1);
}

// The sum of the values of all threads before this one; `total` is that of all.
__device__ __forceinline__ unsigned sum_before(unsigned value, unsigned& total) {
  __shared__ unsigned warps[kWarps];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  unsigned sum = value;
  for (unsigned step = 1; step < 32; step *= 2) {
    const unsigned below = __shfl_up_sync(kAll, sum, step);
    if (lane >= step) sum += below;
  }
  __syncthreads();  // the last use of `warps` is over
  if (lane == 31) warps[warp] = sum;
  __syncthreads();
  unsigned before = 0;
  total = 0;
  for (unsigned w = 0; w < kWarps; ++w) {
    if (w < warp) before += warps[w];
    total += warps[w];
  }
  return before + sum - value;
}

// How often each digit stands in each tile.
__global__ void __launch_bounds__(kSortThreads) count_kernel(const RadixPass p) {
  wait_for_previous();
  __shared__ unsigned counts[kSortDigits];
  counts[threadIdx.x] = 0;
  __syncthreads();
  const Int64 first = Int64(blockIdx.x) * kSortTile;
  for (int r = 0; r < kRounds; ++r) {
    const Int64 i = first + r * kSortThreads + threadIdx.x;
    if (i < p.n) atomicAdd(&counts[digit_of(p.keys[i], p.shift)], 1u);
  }
  __syncthreads();
  p.counts[Int64(threadIdx.x) * p.tiles + blockIdx.x] = counts[threadIdx.x];
}

// A block turns one digit's counts into sums over the tiles before.
__global__ void __launch_bounds__(kSortThreads) scan_kernel(const RadixPass p) {
  wait_for_previous();
  unsigned* counts = p.counts + Int64(blockIdx.x) * p.tiles;
  unsigned before = 0;
  for (unsigned first = 0; first < p.tiles; first += kSortThreads) {
    const unsigned tile = first + threadIdx.x;
    unsigned total;
    const unsigned sum = sum_before(tile < p.tiles ? counts[tile] : 0, total);
    if (tile < p.tiles) counts[tile] = before + sum;
    before += total;
  }
  if (threadIdx.x == 0) p.totals[blockIdx.x] = before;
}

// Moves a tile's keys to their places. A warp owns a run of the tile, so that the order of keys is
// that of (tile, warp, round, lane).
__global__ void __launch_bounds__(kSortThreads) move_kernel(const RadixPass p) {
  wait_for_previous();
  __shared__ unsigned next[kWarps][kSortDigits];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int w = 0; w < kWarps; ++w) next[w][threadIdx.x] = 0;
  __syncthreads();

  const Int64 first = Int64(blockIdx.x) * kSortTile + warp * (kRounds * 32) + lane;
  IndexKey key[kRounds];
  unsigned rank[kRounds];  // among the warp's keys of the same digit
#pragma unroll
  for (int r = 0; r < kRounds; ++r) {
    const bool exists = first + r * 32 < p.n;
    key[r] = exists ? p.keys[first + r * 32] : 0;
    const unsigned digit = digit_of(key[r], p.shift);
    unsigned same = __ballot_sync(kAll, exists);
    for (int b = 0; b < 8; ++b) {
      const bool set = (digit >> b & 1) != 0;
      const unsigned vote = __ballot_sync(kAll, set);
      same &= set ? vote : ~vote;
    }
    const unsigned before = next[warp][digit];
    __syncwarp();
    rank[r] = before + unsigned(__popc(same & ((1u << lane) - 1)));
    if (exists && (same >> lane) == 1) next[warp][digit] = rank[r] + 1;  // the last of them
    __syncwarp();
  }

  unsigned all;
  const unsigned smaller = sum_before(p.totals[threadIdx.x], all);
  unsigned at = smaller + p.counts[Int64(threadIdx.x) * p.tiles + blockIdx.x];
  for (int w = 0; w < kWarps; ++w) {
    const unsigned count = next[w][threadIdx.x];
    next[w][threadIdx.x] = at;
    at += count;
  }
  __syncthreads();
#pragma unroll
  for (int r = 0; r < kRounds; ++r) {
    const Int64 i = first + r * 32;
    if (i >= p.n) break;
    const unsigned to = next[warp][digit_of(key[r], p.shift)] + rank[r];
    p.sorted_keys[to] = key[r];
    p.sorted_order[to] = p.order == nullptr ? unsigned(i) : p.order[i];
  }
}

}  // namespace

void launch_rank_sort(const IndexKey* keys, Int64 n, IndexKey* sorted_keys,
                      unsigned* sorted_order) {
  launch(rank_kernel, {(n + kSortThreads - 1) / kSortThreads, kSortThreads}, keys, int(n),
         sorted_keys, sorted_order);
}

void launch_radix_pass(const RadixPass& pass) {
  launch(count_kernel, {pass.tiles, kSortThreads}, pass);
  launch(scan_kernel, {kSortDigits, kSortThreads}, pass);
  launch(move_kernel, {pass.tiles, kSortThreads}, pass);
}

}  // namespace INGOT_ISA
}  // namespace ingot
