// CUDA's spelling for g++ and clang++: included by the compiler in front of every .cu unit that is
// built for the host.
// Owns: qualifiers, thread indices, barriers, warp intrinsics, integer atomics, bit casts,
// launch(). What kernels may use is what stands here: a float atomicAdd does not compile. Must not
// know: ops.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <ingot/kernels/cuda/launch.cuh>

#include "cuda_on_host/grid.h"

#define __global__
#define __device__
#define __host__
#define __constant__ static const
#define __forceinline__ inline __attribute__((always_inline))
// Nothing, for the standard library spells its own attribute with this name.
#define __noinline__
#define __launch_bounds__(...)
#define __align__(n) alignas(n)
// One block at a time runs on a thread. At block scope this is static, as shared memory is.
#define __shared__ thread_local

#define threadIdx (::ingot::emulation::t_thread)
#define blockIdx (::ingot::emulation::t_block)
#define blockDim (::ingot::emulation::t_block_size)
#define gridDim (::ingot::emulation::t_grid_size)
inline constexpr int warpSize = ::ingot::emulation::kWarpSize;

#define INGOT_PLACE ::ingot::emulation::Place place = ::ingot::emulation::Place::here()

inline void __syncthreads(INGOT_PLACE) { ::ingot::emulation::sync_block(place); }
inline int __syncthreads_count(int value, INGOT_PLACE) {
  return ::ingot::emulation::count_in_block(value != 0, place);
}
inline int __syncthreads_or(int value, INGOT_PLACE) {
  return ::ingot::emulation::count_in_block(value != 0, place) != 0;
}
inline int __syncthreads_and(int value, INGOT_PLACE) {
  return ::ingot::emulation::count_in_block(value == 0, place) == 0;
}
inline void __syncwarp(unsigned mask = 0xffffffffu, INGOT_PLACE) {
  (void)::ingot::emulation::ballot(mask, false, place);
}
inline unsigned __ballot_sync(unsigned mask, int value, INGOT_PLACE) {
  return ::ingot::emulation::ballot(mask, value != 0, place);
}
inline int __any_sync(unsigned mask, int value, INGOT_PLACE) {
  return ::ingot::emulation::ballot(mask, value != 0, place) != 0;
}
inline int __all_sync(unsigned mask, int value, INGOT_PLACE) {
  return ::ingot::emulation::ballot(mask, value == 0, place) == 0;
}

namespace ingot::emulation {

template <class T>
concept Shuffled = std::is_arithmetic_v<T> && sizeof(T) <= 8;

template <Shuffled T>
T shuffle(unsigned mask, T value, int source, Place place) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = exchange(mask, bits, source, place);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

}  // namespace ingot::emulation

// Lanes are numbered inside segments of `width`, a power of two.
template <ingot::emulation::Shuffled T>
T __shfl_sync(unsigned mask, T value, int source, int width = warpSize, INGOT_PLACE) {
  const int lane = int(::ingot::emulation::lane_id());
  return ::ingot::emulation::shuffle(mask, value, (lane & ~(width - 1)) | (source & (width - 1)),
                                     place);
}
template <ingot::emulation::Shuffled T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize, INGOT_PLACE) {
  const int lane = int(::ingot::emulation::lane_id()), within = lane & (width - 1);
  return ::ingot::emulation::shuffle(mask, value, within < int(delta) ? lane : lane - int(delta),
                                     place);
}
template <ingot::emulation::Shuffled T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warpSize, INGOT_PLACE) {
  const int lane = int(::ingot::emulation::lane_id()), within = lane & (width - 1);
  return ::ingot::emulation::shuffle(
      mask, value, within + int(delta) >= width ? lane : lane + int(delta), place);
}
template <ingot::emulation::Shuffled T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = warpSize, INGOT_PLACE) {
  const int lane = int(::ingot::emulation::lane_id());
  const int end = (lane & ~(width - 1)) + width;
  return ::ingot::emulation::shuffle(mask, value, (lane ^ bits) >= end ? lane : lane ^ bits, place);
}

#undef INGOT_PLACE

// Integers only: sums of floats in the order of arrival would differ from run to run.
template <class T>
concept IngotAtomic = std::is_integral_v<T> &&(sizeof(T) == 4 || sizeof(T) == 8);

template <IngotAtomic T>
T atomicAdd(T* at, std::type_identity_t<T> value) {
  return __atomic_fetch_add(at, value, __ATOMIC_RELAXED);
}
template <IngotAtomic T>
T atomicSub(T* at, std::type_identity_t<T> value) {
  return __atomic_fetch_sub(at, value, __ATOMIC_RELAXED);
}
template <IngotAtomic T>
T atomicOr(T* at, std::type_identity_t<T> value) {
  return __atomic_fetch_or(at, value, __ATOMIC_RELAXED);
}
template <IngotAtomic T>
T atomicAnd(T* at, std::type_identity_t<T> value) {
  return __atomic_fetch_and(at, value, __ATOMIC_RELAXED);
}
template <IngotAtomic T>
T atomicExch(T* at, std::type_identity_t<T> value) {
  return __atomic_exchange_n(at, value, __ATOMIC_RELAXED);
}
template <IngotAtomic T>
T atomicCAS(T* at, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  __atomic_compare_exchange_n(at, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}

namespace ingot::emulation {
template <class T, class F>
T update(T* at, F f) {
  T old = __atomic_load_n(at, __ATOMIC_RELAXED);
  while (
      !__atomic_compare_exchange_n(at, &old, f(old), false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return old;
}
}  // namespace ingot::emulation

template <IngotAtomic T>
T atomicMax(T* at, std::type_identity_t<T> value) {
  return ::ingot::emulation::update(at, [value](T old) { return old < value ? value : old; });
}
template <IngotAtomic T>
T atomicMin(T* at, std::type_identity_t<T> value) {
  return ::ingot::emulation::update(at, [value](T old) { return value < old ? value : old; });
}
inline unsigned atomicInc(unsigned* at, unsigned last) {
  return ::ingot::emulation::update(at, [last](unsigned old) { return old >= last ? 0 : old + 1; });
}

inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

template <class T>
T __ldg(const T* at) {
  return *at;
}
template <class T>
T __ldcs(const T* at) {
  return *at;
}
template <class T>
void __stcs(T* at, std::type_identity_t<T> value) {
  *at = value;
}

inline int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
inline unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
inline float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
inline float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
inline long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
inline double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}

namespace ingot {
inline namespace INGOT_ISA {

// A LaunchShape that knows which line it was written on.
struct EmulatedShape : emulation::Launch {
  EmulatedShape(Int64 n, unsigned size, unsigned bytes = 0, const char* by = __builtin_FUNCTION(),
                const char* file = __builtin_FILE(), int line = __builtin_LINE())
      : emulation::Launch{n, size, bytes, by, {file, line}} {}
  EmulatedShape(LaunchShape shape, const char* by = __builtin_FUNCTION(),
                const char* file = __builtin_FILE(), int line = __builtin_LINE())
      : EmulatedShape(shape.blocks, shape.threads, shape.shared, by, file, line) {}
};

template <class... P, class... A>
void launch(void (*kernel)(P...), EmulatedShape shape, const A&... args) {
  const auto body = [&] { kernel(args...); };
  emulation::run_grid(
      shape, [](void* f) { (*static_cast<decltype(&body)>(f))(); },
      const_cast<void*>(static_cast<const void*>(&body)));
}

// The launch's dynamic shared memory.
template <class T>
T* dynamic_shared() {
  return static_cast<T*>(emulation::dynamic_shared());
}

}  // namespace INGOT_ISA
}  // namespace ingot
