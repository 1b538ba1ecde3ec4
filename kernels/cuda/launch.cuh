// From a kernel and a shape to a launch on the current stream. Owns: launch(), the shape, division
// by launch-time constants. Device code is written against this header and kernels/ops only, so
// that it also compiles for the host, where an emulation (tests/cuda_on_host) brings threads,
// shared memory and a launch() of its own. Must not know: ops.
#pragma once

#include <ingot/kernels/ops/scalar.h>

#if defined(__CUDACC__)
#include <ingot/kernels/cuda/check.h>
#endif

namespace ingot {
inline namespace INGOT_ISA {

using Unsigned = unsigned;

struct LaunchShape {
  Int64 blocks;
  unsigned threads;
  unsigned shared = 0;  // bytes of dynamic shared memory
};

#if defined(__CUDACC__)
// Blocks are numbered along x: at most 2^31 - 1.
template <class... P, class... A>
void launch(void (*kernel)(P...), LaunchShape shape, const A&... args) {
  if (shape.blocks == 0) return;
  kernel<<<static_cast<unsigned>(shape.blocks), shape.threads, shape.shared,
           cuda::current_stream()>>>(args...);
  INGOT_CUDA_CHECK(cudaGetLastError());
}

// The launch's dynamic shared memory (LaunchShape::shared bytes), 16-byte aligned.
template <class T>
__device__ __forceinline__ T* dynamic_shared() {
  extern __shared__ __align__(16) unsigned char bytes[];
  return reinterpret_cast<T*>(bytes);
}
#endif

// n / d for a d known at the launch, n < 2^31, by a multiplication (Granlund and Montgomery,
// "Division by invariant integers using multiplication", PLDI 1994, with 2^32 <= m < 2^33 cut to 32
// bits and the lost bit added again).
class FastDivisor {
 public:
  FastDivisor() = default;
  explicit FastDivisor(unsigned d) : d_(d) {
    while ((1ull << shift_) < d) ++shift_;
    magic_ = static_cast<unsigned>((1ull << 32) * ((1ull << shift_) - d) / d + 1);
  }
  INGOT_INLINE unsigned quotient(unsigned n) const {
    const auto high = static_cast<unsigned>(static_cast<unsigned long long>(n) * magic_ >> 32);
    return (high + n) >> shift_;
  }
  INGOT_INLINE unsigned value() const { return d_; }

 private:
  unsigned d_ = 1, magic_ = 1, shift_ = 0;
};

}  // namespace INGOT_ISA
}  // namespace ingot
