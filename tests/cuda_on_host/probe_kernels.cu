// CUDA unit for the host: kernels that only try the emulation out, the wrong ones too.
#include <ingot/kernels/cuda/storage.cuh>

#include "cuda_on_host/probe_kernels.h"

namespace ingot {
inline namespace INGOT_ISA {

namespace {

constexpr unsigned kAllLanes = 0xffffffffu;

__global__ void block_sums(float* out, const float* in) {
  __shared__ float part[1024];
  const unsigned t = threadIdx.x;
  part[t] = in[blockIdx.x * blockDim.x + t];
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (t < half) part[t] += part[t + half];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = part[0];
}

__global__ void missing_barrier(float* out, const float* in) {
  __shared__ float part[1024];
  const unsigned t = threadIdx.x;
  part[t] = in[t];
  out[t] = part[blockDim.x - 1 - t];
}

__global__ void warp_sums(double* out, const double* in, long long* counts) {
  double x = in[threadIdx.x];
  long long n = 1ll << 40;
  for (int step = 16; step > 0; step /= 2) {
    x += __shfl_xor_sync(kAllLanes, x, step);
    n += __shfl_xor_sync(kAllLanes, n, step);
  }
  out[threadIdx.x] = x;
  counts[threadIdx.x] = n;
}

__global__ void shuffles(int* out, int width) {
  const int t = int(threadIdx.x);
  out[4 * t] = __shfl_sync(kAllLanes, t, 3, width);
  out[4 * t + 1] = __shfl_up_sync(kAllLanes, t, 2, width);
  out[4 * t + 2] = __shfl_down_sync(kAllLanes, t, 2, width);
  out[4 * t + 3] = __shfl_xor_sync(kAllLanes, t, 1, width);
}

__global__ void half_warps(int* out) {
  const int t = int(threadIdx.x);
  if (t < 16) {
    for (int i = 0; i < 3; ++i) out[t] = __shfl_sync(0xffffu, t, i);
    __syncwarp(0xffffu);
  } else {
    out[t] = __shfl_down_sync(0xffff0000u, t, 1);
  }
  out[32 + t] = int(__ballot_sync(kAllLanes, t % 2));
}

__global__ void atomics(int* sum, int* most, unsigned* turn) {
  atomicAdd(sum, int(threadIdx.x));
  atomicMax(most, int(blockIdx.x));
  __threadfence();
  atomicInc(turn, 9u);
}

__global__ void reversed(int* out, int written) {
  int* const part = dynamic_shared<int>();
  const int t = int(threadIdx.x), n = int(blockDim.x);
  if (t < written) part[t] = t;
  if (t == n - 1) {
    for (int i = n; i < written; ++i) part[i] = i;
  }
  __syncthreads();
  out[t] = part[n - 1 - t];
}

__global__ void vector_load(float* out, const float* in) {
  const auto pack = *reinterpret_cast<const Pack<float, 4>*>(in);
  for (int l = 0; l < 4; ++l) out[l] = pack.v[l];
}

__global__ void exit_before_barrier() {
  if (threadIdx.x == 5) return;
  __syncthreads();
}

__global__ void different_barriers() {
  if (threadIdx.x % 2 == 0) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}

__global__ void lane_outside_mask() { (void)__shfl_sync(0x7fffffffu, 1, 0); }

__global__ void lost_lane() {
  if (threadIdx.x != 7) (void)__shfl_sync(kAllLanes, 1.0f, 0);
}

}  // namespace

void probe_block_sums(float* out, const float* in, int blocks, int threads) {
  launch(block_sums, {blocks, unsigned(threads)}, out, in);
}
void probe_missing_barrier(float* out, const float* in, int threads) {
  launch(missing_barrier, {1, unsigned(threads)}, out, in);
}
void probe_warp_sums(double* out, const double* in, long long* counts, int threads) {
  launch(warp_sums, {1, unsigned(threads)}, out, in, counts);
}
void probe_shuffles(int* out, int threads, int width) {
  launch(shuffles, {1, unsigned(threads)}, out, width);
}
void probe_half_warps(int* out) { launch(half_warps, {1, 32}, out); }
void probe_atomics(int* sum, int* most, unsigned* turn, int blocks, int threads) {
  launch(atomics, {blocks, unsigned(threads)}, sum, most, turn);
}
void probe_dynamic_shared(int* out, int threads, int written) {
  launch(reversed, {1, unsigned(threads), unsigned(threads) * 4}, out, written);
}

void probe_vector_load(float* out, const float* in) { launch(vector_load, {1, 1}, out, in); }

void probe_exit_before_barrier(int threads) { launch(exit_before_barrier, {1, unsigned(threads)}); }
void probe_different_barriers(int threads) { launch(different_barriers, {1, unsigned(threads)}); }
void probe_lane_outside_mask() { launch(lane_outside_mask, {1, 32}); }
void probe_lost_lane() { launch(lost_lane, {1, 32}); }

}  // namespace INGOT_ISA
}  // namespace ingot
