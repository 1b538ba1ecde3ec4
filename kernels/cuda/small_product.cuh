// The small matrix product: a block computes a tile of 8 x 32 or 16 x 32 results from panels of A
// and B in shared memory, whole as far as they fit, and gives every result to a tail, which stores
// it or goes on computing with it.
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
__device__ __forceinline__ void close_copies() {
#if INGOT_ASYNC_COPY
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// Until all but the last kOpen groups of this thread's copies are there.
template <int kOpen>
__device__ __forceinline__ void await_copies() {
#if INGOT_ASYNC_COPY
  asm volatile("cp.async.wait_group %0;" ::"n"(kOpen) : "memory");
#endif
}

// A factor's rows (of A; columns of B) along k as they lie in shared memory: kRows of them, kDepth
// elements each. kAlong: elements along k are neighbours, as they are in global memory; else the
// rows are.
template <class S, int kRows, int kDepth, bool kAlong>
struct SmallPanel {
  using N = decltype(widen(S()));
  using T = typename N::Value;
  static constexpr int kSize = kRows * kDepth;

  // Quads of a row are permuted by its number: eight rows at one k then lie in different banks.
  static __device__ __forceinline__ int place(int row, int k) {
    if constexpr (kAlong) {
      return row * kDepth + (((k >> 2) ^ (row & 7)) << 2 | (k & 3));
    } else {
      return k * kRows + row;
    }
  }

  // Elements first ... first + kPart - 1 along k; `depth` of the panel exist, and `rows`.
  template <int kPart>
  static __device__ __forceinline__ void copy(T* to, const S* from, Int64 row_stride,
                                              Int64 k_stride, int rows, int depth, int first,
                                              bool quads) {
    constexpr int kInner = kAlong ? kPart : kRows, kOuter = kAlong ? kRows : kPart;
    const Int64 inner = kAlong ? k_stride : row_stride, outer = kAlong ? row_stride : k_stride;
    const int padded = (depth + 3) & ~3;
    if (quads) {
#pragma unroll
      for (int u = int(threadIdx.x); u < kInner * kOuter / 4; u += kSmallThreads) {
        const int o = u / (kInner / 4), i = u % (kInner / 4) * 4;
        const int row = kAlong ? o : i, k = first + (kAlong ? i : o);
        if (row >= rows || k >= padded) continue;
        int count = kAlong ? depth - k : k < depth ? rows - row : 0;
        if (count > 4) count = 4;
        // Where nothing is read the address is one that exists.
        copy_quad(to + place(row, k), count > 0 ? from + row * row_stride + k * k_stride : from,
                  count);
      }
    } else {
#pragma unroll 4
      for (int u = int(threadIdx.x); u < kInner * kOuter; u += kSmallThreads) {
        const int o = u / kInner, i = u % kInner;
        const int row = kAlong ? o : i, k = first + (kAlong ? i : o);
        if (row >= rows || k >= padded) continue;
        copy_element(
            to + place(row, k),
            k < depth ? from + o_offset(o, first, outer) + i_offset(i, first, inner) : from,
            k < depth);
      }
    }
  }

  // kCount elements along k at quad q of row (group + i * kGroups), i < kCount; without kAlong of
  // row (group * kCount + i).
  template <int kCount, int kGroups>
  static __device__ __forceinline__ void fetch(const T* panel, int q, int group,
                                               N (&x)[kCount][4]) {
    if constexpr (kAlong) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        const auto v =
            *reinterpret_cast<const Pack<T, 4>*>(panel + place(group + i * kGroups, q * 4));
#pragma unroll
        for (int l = 0; l < 4; ++l) x[i][l] = N(v.v[l]);
      }
    } else {
#pragma unroll
      for (int l = 0; l < 4; ++l) {
        const auto v =
            *reinterpret_cast<const Pack<T, kCount>*>(panel + place(group * kCount, q * 4 + l));
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
  static __device__ __forceinline__ Int64 o_offset(int o, int first, Int64 stride) {
    return (kAlong ? o : first + o) * stride;
  }
  static __device__ __forceinline__ Int64 i_offset(int i, int first, Int64 stride) {
    return (kAlong ? first + i : i) * stride;
  }

  static __device__ __forceinline__ void copy_quad(T* to, const S* from, int count) {
#if INGOT_ASYNC_COPY
    if constexpr (is_same_type<S, float>) {
      copy_async<16>(to, from, count * 4);
      return;
    } else if constexpr (is_same_type<S, double>) {
      copy_async<16>(to, from, count >= 2 ? 16 : count * 8);
      copy_async<16>(to + 2, count > 2 ? from + 2 : from, count > 2 ? (count - 2) * 8 : 0);
      return;
    }
#endif
    Pack<T, 4> v = {};
    // Doubles may lie at any multiple of 16 bytes.
    if (count == 4 && sizeof(S) <= 4) {
      const auto whole = *reinterpret_cast<const Pack<S, 4>*>(from);
#pragma unroll
      for (int l = 0; l < 4; ++l) v.v[l] = widen(whole.v[l]).v;
    } else {
      for (int l = 0; l < count; ++l) v.v[l] = widen(from[l]).v;
    }
    *reinterpret_cast<Pack<T, 4>*>(to) = v;
  }

  static __device__ __forceinline__ void copy_element(T* to, const S* from, bool exists) {
#if INGOT_ASYNC_COPY
    if constexpr (is_same_type<S, T>) {
      copy_async<sizeof(S)>(to, from, exists ? int(sizeof(S)) : 0);
      return;
    }
#endif
    *to = exists ? widen(*from).v : T(0);
  }
};

// A tail is told where the results of this thread lie before they are known, so that it can load
// what it needs, and gets each of them in the compute type:
//   load(slot, matrix, row, column); finish(slot, matrix, row, column, value)
// with slot < small_slots<rows of the tile>.
template <int kTileRows>
inline constexpr int small_slots = kTileRows* kSmallColumns / kSmallThreads;

// kA, kB: whether the neighbours in the factors' memory are those along k.
// The copies of a panel come in kParts: work on the first begins while others are on the way.
template <class S, int kTileRows, bool kA, bool kB, int kParts = 4>
class SmallTile {
  using N = decltype(widen(S()));
  using T = typename N::Value;
  // All of 48 KB with the larger tile.
  static constexpr int kDepth = 1024 / int(sizeof(T));
  static constexpr int kPart = kDepth / kParts;
  static constexpr int kChains = kSmallThreads / 32;
  static constexpr int kR = kTileRows / 4, kC = kSmallColumns / 8;  // results of a thread
  using PanelA = SmallPanel<S, kTileRows, kDepth, kA>;
  using PanelB = SmallPanel<S, kSmallColumns, kDepth, kB>;
  static constexpr int kPitch = kSmallColumns + 8;  // of partial sums

 public:
  template <class Tail>
  static __device__ __forceinline__ void run(const SmallProduct& p, Tail& tail) {
    __align__(32) __shared__ T space[PanelA::kSize + PanelB::kSize];
    T *const a_panel = space, *const b_panel = space + PanelA::kSize;
    const unsigned rest = p.tiles_n.quotient(blockIdx.x);
    const unsigned matrix = p.tiles_m.quotient(rest);
    const int row = int(rest - matrix * p.tiles_m.value()) * kTileRows;
    const int column = int(blockIdx.x - rest * p.tiles_n.value()) * kSmallColumns;
    const S* a = static_cast<const S*>(p.a) + matrix * p.a_step + row * p.a_row;
    const S* b = static_cast<const S*>(p.b) + matrix * p.b_step + column * p.b_column;
    const int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
    const int across = lane % 8, down = lane / 8;

    N sum[kR][kC];
#pragma unroll
    for (int i = 0; i < kR; ++i) {
#pragma unroll
      for (int j = 0; j < kC; ++j) sum[i][j] = N(0);
    }
    for (int at = 0; at < p.k || at == 0; at += kDepth) {
      const int depth = p.k - at < kDepth ? p.k - at : kDepth;
      if (at > 0) __syncthreads();
#pragma unroll 1
      for (int part = 0; part < kParts; ++part) {
        const int first = part * kPart;
        if (first < depth) {
          PanelA::template copy<kPart>(a_panel, a + at * p.a_column, p.a_row, p.a_column, p.m - row,
                                       depth, first, p.a_quads);
          PanelB::template copy<kPart>(b_panel, b + at * p.b_row, p.b_column, p.b_row, p.n - column,
                                       depth, first, p.b_quads);
        }
        close_copies();
      }
      if (at == 0)
        visit(p, row, column, [&](int slot, int r, int c) { tail.load(slot, matrix, r, c); });
      add_parts<0>(a_panel, b_panel, depth, warp, down, across, sum);
    }
    // The chains' sums meet where the panels were.
    __syncthreads();
    T* const partial = space;
#pragma unroll
    for (int i = 0; i < kR; ++i) {
      const int r = PanelA::template row_of<kR, 4>(down, i);
#pragma unroll
      for (int j = 0; j < kC; ++j) {
        const int c = PanelB::template row_of<kC, 8>(across, j);
        partial[(warp * kTileRows + r) * kPitch + c] = sum[i][j].v;
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

  template <int kIndex>
  static __device__ __forceinline__ void add_parts(const T* a, const T* b, int depth, int warp,
                                                   int down, int across, N (&sum)[kR][kC]) {
    if (kIndex * kPart >= depth) return;
    await_copies<kParts - 1 - kIndex>();
    __syncthreads();
    const int quads = (depth + 3) / 4;
#pragma unroll
    for (int q = warp + kIndex * kPart / 4; q < (kIndex + 1) * kPart / 4; q += kChains) {
      if (q >= quads) break;
      N u[kR][4], v[kC][4];
      PanelA::template fetch<kR, 4>(a, q, down, u);
      PanelB::template fetch<kC, 8>(b, q, across, v);
#pragma unroll
      for (int l = 0; l < 4; ++l) {
#pragma unroll
        for (int i = 0; i < kR; ++i) {
#pragma unroll
          for (int j = 0; j < kC; ++j) sum[i][j] = fma(u[i][l], v[j][l], sum[i][j]);
        }
      }
    }
    if constexpr (kIndex + 1 < kParts) add_parts<kIndex + 1>(a, b, depth, warp, down, across, sum);
  }
};

// The product's own result from its sum: alpha, beta and the bias, rounded as it is stored.
template <class S, int kSlots>
struct ProductResult {
  using N = decltype(widen(S()));
  N bias[kSlots];
  __device__ __forceinline__ void load(const SmallProduct& p, int slot, int row, int column) {
    if (p.bias == nullptr) return;
    bias[slot] = widen(static_cast<const S*>(p.bias)[row * p.bias_row + column * p.bias_column]);
  }
  __device__ __forceinline__ S value(const SmallProduct& p, int slot, N sum) const {
    if (p.alpha != 1) sum = N(p.alpha) * sum;
    if (p.bias != nullptr) sum = sum + (p.beta != 1 ? N(p.beta) * bias[slot] : bias[slot]);
    return narrow<S>(sum);
  }
};

}  // namespace INGOT_ISA
}  // namespace ingot
