// The small matrix product: a block computes a tile of 8 x 32 or 16 x 32 results from panels of A
// and B that lie in shared memory whole, and gives every result to a tail, which stores it or goes
// on computing with it.
// Owns: the order of the sum, which depends on k alone: eight chains of multiply-adds, chain c over
// the quads of k with number c modulo 8, then a tree over the chains. Freestanding: this text is
// also part of generated source. Must not know: ops, launches.
#pragma once

#include <ingot/kernels/cuda/elements.h>
#include <ingot/kernels/cuda/small_product.h>
#include <ingot/kernels/cuda/wait.cuh>

namespace ingot {
inline namespace INGOT_ISA {

// Copies to shared memory that go on in the background, where the GPU has them.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define INGOT_ASYNC_COPY 1
#else
#define INGOT_ASYNC_COPY 0
#endif

#if INGOT_ASYNC_COPY
// `bytes` of the 16 (or 4) are read, the rest is zero.
template <int kSize>
__device__ __forceinline__ void copy_async(void* to, const void* from, int bytes) {
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(to));
  if constexpr (kSize == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(bytes)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(at), "l"(from), "n"(kSize),
                 "r"(bytes)
                 : "memory");
  }
}
#endif
// Until this thread's copies are there.
__device__ __forceinline__ void await_copies() {
#if INGOT_ASYNC_COPY
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

// A factor's rows (of A; columns of B) along k as they lie in shared memory: kRows of them, kDepth
// elements each. kAlong: elements along k are neighbours, as they are in global memory; else the
// rows are.
template <class S, int kRows, int kDepth, bool kAlong>
struct SmallPanel {
  using N = Num<S>;
  static constexpr int kSize = kRows * kDepth;

  // Quads of a row are permuted by its number: eight rows at one k then lie in different banks.
  static __device__ __forceinline__ int place(int row, int k) {
    if constexpr (kAlong) {
      return row * kDepth + (((k >> 2) ^ (row & 7)) << 2 | (k & 3));
    } else {
      return k * kRows + row;
    }
  }

  // The panel's `depth` elements along k of as many rows as there are; up to a multiple of 4 they
  // are followed by zeros. kQuads: four neighbours at once. log2_quads: of a power of 2 with room
  // for the quads of `depth`.
  template <bool kQuads>
  static __device__ __forceinline__ void copy(S* to, const S* from, Int64 row_stride,
                                              Int64 k_stride, int rows, int depth, int log2_quads) {
    constexpr int kStep = kQuads ? 4 : 1;
    const int padded = (depth + 3) & ~3;
    const int thread = int(threadIdx.x);
    if constexpr (kAlong) {
      const int bits = log2_quads + (kQuads ? 0 : 2);
      const int k = (thread & ((1 << bits) - 1)) * kStep, together = kSmallThreads >> bits;
      if (k >= padded) return;
      const int end = rows < kRows ? rows : kRows, count = depth - k;
      const S* x = from + (thread >> bits) * row_stride + (count > 0 ? k * k_stride : 0);
#pragma unroll 4
      for (int row = thread >> bits; row < end; row += together, x += together * row_stride) {
        copy_some<kQuads>(to + place(row, k), x, count);
      }
    } else {
      constexpr int kLine = kRows / kStep, kTogether = kSmallThreads / kLine;
      const int row = thread % kLine * kStep, count = rows - row;
      if (count <= 0) return;
      const S* x = from + row * row_stride + thread / kLine * k_stride;
#pragma unroll 4
      for (int k = thread / kLine; k < padded; k += kTogether, x += kTogether * k_stride) {
        // Where nothing is read the address is one that exists.
        copy_some<kQuads>(to + place(row, k), k < depth ? x : from, k < depth ? count : 0);
      }
    }
  }

  // kCount elements along k at quad q of row (group + i * kGroups), i < kCount; without kAlong of
  // row (group * kCount + i).
  template <int kCount, int kGroups>
  static __device__ __forceinline__ void fetch(const S* panel, int q, int group,
                                               N (&x)[kCount][4]) {
    if constexpr (kAlong) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        const auto v =
            *reinterpret_cast<const Pack<S, 4>*>(panel + place(group + i * kGroups, q * 4));
#pragma unroll
        for (int l = 0; l < 4; ++l) x[i][l] = N(v.v[l]);
      }
    } else {
#pragma unroll
      for (int l = 0; l < 4; ++l) {
        const auto v =
            *reinterpret_cast<const Pack<S, kCount>*>(panel + place(group * kCount, q * 4 + l));
#pragma unroll
        for (int i = 0; i < kCount; ++i) x[i][l] = N(v.v[i]);
      }
    }
  }
  template <int kCount, int kGroups>
  static __device__ __forceinline__ int row_of(int group, int i) {
    return kAlong ? group + i * kGroups : group * kCount + i;
  }

 private:
  template <bool kQuads>
  static __device__ __forceinline__ void copy_some(S* to, const S* from, int count) {
    if constexpr (kQuads) {
      copy_quad(to, from, count < 4 ? count : 4);
    } else {
      copy_element(to, from, count > 0);
    }
  }

  static __device__ __forceinline__ void copy_quad(S* to, const S* from, int count) {
    static_assert(sizeof(S) == 4, "a quad is 16 bytes");
#if INGOT_ASYNC_COPY
    copy_async<16>(to, from, count * 4);
#else
    Pack<S, 4> v = {};
    if (count == 4) {
      v = *reinterpret_cast<const Pack<S, 4>*>(from);
    } else {
      for (int l = 0; l < count; ++l) v.v[l] = from[l];
    }
    *reinterpret_cast<Pack<S, 4>*>(to) = v;
#endif
  }

  static __device__ __forceinline__ void copy_element(S* to, const S* from, bool exists) {
#if INGOT_ASYNC_COPY
    copy_async<sizeof(S)>(to, from, exists ? int(sizeof(S)) : 0);
#else
    *to = exists ? *from : S(0);
#endif
  }
};

// A tail is told where the results of this thread lie before they are known, so that it can load
// what it needs, and gets each of them in the compute type:
//   load(slot, matrix, row, column); finish(slot, matrix, row, column, value)
// with slot < small_slots<rows of the tile>.
template <int kTileRows>
inline constexpr int small_slots = kTileRows* kSmallColumns / kSmallThreads;

// kA, kB: whether the neighbours in the factors' memory are those along k; kQuads: whether four of
// them, in both, are one aligned load.
template <class S, int kTileRows, bool kA, bool kB, bool kQuads>
class SmallTile {
  using N = Num<S>;
  static constexpr int kDepth = kSmallDepth<S>;  // all of 48 KB with the larger tile
  static constexpr int kChains = kSmallThreads / 32;
  static constexpr int kR = kTileRows / 4, kC = kSmallColumns / 8;  // results of a thread
  using PanelA = SmallPanel<S, kTileRows, kDepth, kA>;
  using PanelB = SmallPanel<S, kSmallColumns, kDepth, kB>;
  static constexpr int kPitch = kSmallColumns + 8;  // of partial sums

 public:
  template <class Tail>
  static __device__ __forceinline__ void run(const SmallProduct& p, Tail& tail) {
    __align__(32) __shared__ S space[PanelA::kSize + PanelB::kSize];
    S *const a_panel = space, *const b_panel = space + PanelA::kSize;
    const unsigned rest = p.tiles_n.quotient(blockIdx.x);
    const unsigned matrix = p.tiles_m.quotient(rest);
    const int row = int(rest - matrix * p.tiles_m.value()) * kTileRows;
    const int column = int(blockIdx.x - rest * p.tiles_n.value()) * kSmallColumns;
    const S* a = static_cast<const S*>(p.a) + matrix * p.a_step + row * p.a_row;
    const S* b = static_cast<const S*>(p.b) + matrix * p.b_step + column * p.b_column;
    PanelA::template copy<kQuads>(a_panel, a, p.a_row, p.a_column, p.m - row, p.k, p.log2_quads);
    PanelB::template copy<kQuads>(b_panel, b, p.b_column, p.b_row, p.n - column, p.k, p.log2_quads);
    visit(p, row, column, [&](int slot, int r, int c) { tail.load(slot, matrix, r, c); });

    const int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
    // Neighbours share rows, every second one columns: loads that agree in one of the two lowest
    // bits of the lane take shared memory half the time.
    const int across = (lane & 1) | (lane >> 1 & 6), down = (lane >> 1 & 1) | (lane >> 3 & 2);
    N sum[kR][kC];
#pragma unroll
    for (int i = 0; i < kR; ++i) {
#pragma unroll
      for (int j = 0; j < kC; ++j) sum[i][j] = N(0);
    }
    await_copies();
    __syncthreads();
#pragma unroll 2
    for (int q = warp; 4 * q < p.k; q += kChains) {
      N u[kR][4], v[kC][4];
      PanelA::template fetch<kR, 4>(a_panel, q, down, u);
      PanelB::template fetch<kC, 8>(b_panel, q, across, v);
#pragma unroll
      for (int l = 0; l < 4; ++l) {
#pragma unroll
        for (int i = 0; i < kR; ++i) {
#pragma unroll
          for (int j = 0; j < kC; ++j) sum[i][j] = fma(u[i][l], v[j][l], sum[i][j]);
        }
      }
    }
    // The chains' sums meet where the panels were.
    __syncthreads();
    S* const partial = space;
#pragma unroll
    for (int i = 0; i < kR; ++i) {
      S* const to = partial + (warp * kTileRows + PanelA::template row_of<kR, 4>(down, i)) * kPitch;
      if constexpr (kB) {
#pragma unroll
        for (int j = 0; j < kC; ++j) to[PanelB::template row_of<kC, 8>(across, j)] = sum[i][j].v;
      } else {
        Pack<S, kC> line;
#pragma unroll
        for (int j = 0; j < kC; ++j) line.v[j] = sum[i][j].v;
        *reinterpret_cast<Pack<S, kC>*>(to + across * kC) = line;
      }
    }
    __syncthreads();
    visit(p, row, column, [&](int slot, int r, int c) {
      N chain[kChains];
#pragma unroll
      for (int w = 0; w < kChains; ++w) {
        chain[w] = N(partial[(w * kTileRows + r - row) * kPitch + c - column]);
      }
      tail.finish(slot, matrix, r, c,
                  ((chain[0] + chain[1]) + (chain[2] + chain[3])) +
                      ((chain[4] + chain[5]) + (chain[6] + chain[7])));
    });
  }

 private:
  // The results that this thread finishes.
  template <class F>
  static __device__ __forceinline__ void visit(const SmallProduct& p, int row, int column,
                                               const F& f) {
#pragma unroll
    for (int slot = 0; slot < small_slots<kTileRows>; ++slot) {
      const int e = int(threadIdx.x) + slot * kSmallThreads;
      const int r = row + e / kSmallColumns, c = column + e % kSmallColumns;
      if (r < p.m && c < p.n) f(slot, r, c);
    }
  }
};

// The product's own result from its sum: alpha, beta and the bias, rounded as it is stored.
template <class S, int kSlots>
struct ProductResult {
  using N = Num<S>;
  N bias[kSlots];
  __device__ __forceinline__ void load(const SmallProduct& p, int slot, int row, int column) {
    if (p.bias == nullptr) return;
    bias[slot] = N(static_cast<const S*>(p.bias)[row * p.bias_row + column * p.bias_column]);
  }
  __device__ __forceinline__ S value(const SmallProduct& p, int slot, N sum) const {
    if (p.alpha != 1) sum = N(p.alpha) * sum;
    if (p.bias != nullptr) sum = sum + (p.beta != 1 ? N(p.beta) * bias[slot] : bias[slot]);
    return sum.v;
  }
};

}  // namespace INGOT_ISA
}  // namespace ingot
