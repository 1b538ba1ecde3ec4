// Process-wide settings and facts: threads (kernels/cpu/threads.h), what was built, whether CUDA
// is there.
// Owns: the public functions. Must not know: ops.
#pragma once

#include <string>

#include <ingot/kernels/core/dtype.h>
#include <ingot/kernels/core/error.h>
#include <ingot/kernels/cpu/threads.h>

namespace ingot {

// Whether products of f32 matrices on a GPU may round their factors to TF32 (10 bits of fraction,
// so that tensor cores take them): off at the start. Counts for ops that are called from then on,
// in backward passes too; a compiled function records one path for each setting.
namespace cuda {
void set_allow_tf32(bool allow);
bool allow_tf32();
}  // namespace cuda

// One paragraph: version, compiler, instruction set levels, libraries, CUDA.
std::string build_info();

// Without CUDA in the build, a driver or a GPU the first three answer and the others throw
// DeviceError with the reason; everything on the CPU works.
namespace cuda {
bool is_available();
std::string unavailable_reason();  // empty when it is
int device_count();
// Waits for all work on a device, in a compiled function also for what it left pending. Errors that
// kernels found (an index out of range) are thrown here at the latest.
void synchronize(Device device = kCUDA, Loc loc = Loc::here());
// The share of the device's memory that tensors may take, in (0, 1].
void set_memory_limit(double fraction, Device device = kCUDA, Loc loc = Loc::here());
void empty_cache(Device device = kCUDA, Loc loc = Loc::here());
std::string memory_summary(Device device = kCUDA, Loc loc = Loc::here());
}  // namespace cuda

}  // namespace ingot
