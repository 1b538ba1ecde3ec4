// From a kernel and a shape to a launch on the current stream. Owns: launch(), the shape. Device
// code is written against this header and kernels/ops only, so that it also compiles for the host,
// where an emulation (tests/cuda_on_host) brings threads, shared memory and a launch() of its own.
// Must not know: ops.
#pragma once

#include <ingot/kernels/cuda/divisor.h>
#include <ingot/kernels/cuda/wait.cuh>
#include <ingot/kernels/ops/scalar.h>

#if defined(__CUDACC__)
#include <ingot/kernels/cuda/kernel_launch.h>
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
namespace detail {
template <class... P>
void launch_converted(void (*kernel)(P...), const LaunchShape& shape, P... parameters) {
  void* const places[] = {&parameters...};
  const std::uint32_t sizes[] = {sizeof(P)...};
  cuda::launch_kernel({.symbol = reinterpret_cast<const void*>(kernel),
                       .blocks = shape.blocks,
                       .threads = shape.threads,
                       .shared = shape.shared,
                       .parameters = places,
                       .sizes = sizes,
                       .n = sizeof...(P)});
}
}  // namespace detail

// Blocks are numbered along x: at most 2^31 - 1.
template <class... P, class... A>
void launch(void (*kernel)(P...), LaunchShape shape, const A&... args) {
  detail::launch_converted<P...>(kernel, shape, args...);
}

// The launch's dynamic shared memory (LaunchShape::shared bytes), 16-byte aligned.
template <class T>
__device__ __forceinline__ T* dynamic_shared() {
  extern __shared__ __align__(16) unsigned char bytes[];
  return reinterpret_cast<T*>(bytes);
}
#endif

}  // namespace INGOT_ISA
}  // namespace ingot
