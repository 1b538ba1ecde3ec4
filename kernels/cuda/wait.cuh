// wait_for_previous(): where a kernel that may be started early waits for those before it.
// Owns: that one instruction. Freestanding: generated kernels embed it.
#pragma once

#include <ingot/kernels/ops/isa.h>

namespace ingot {
inline namespace INGOT_ISA {

// For kernels that are launched with LaunchShape::waits: called by every thread, before its first
// access to memory. From compute capability 9.0 the launch overlaps the end of the kernel ahead.
INGOT_INLINE void wait_for_previous() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

}  // namespace INGOT_ISA
}  // namespace ingot
