// wait_for_previous(): where a kernel that may be started early waits for those before it.
// Owns: that one instruction. Freestanding: generated kernels embed it.
#pragma once

#include <ingot/kernels/ops/isa.h>

namespace ingot {
inline namespace INGOT_ISA {

// The first statement of every kernel, since all are launched so: from compute capability 9.0 a
// kernel is started while the one ahead of it still runs, and must not touch memory before that has
// ended.
INGOT_INLINE void wait_for_previous() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

}  // namespace INGOT_ISA
}  // namespace ingot
