// Errors that only the device can find: indices out of range.
// Owns: a record per device that kernels report to (fault.cuh) and that the host looks at where it
// waits for the device anyway, so that no kernel ever waits for a check. Without CUDA the record is
// ordinary memory, for kernels that run on the host. Must not know: ops, streams.
#pragma once

#include <ingot/kernels/core/error.h>
#include <ingot/kernels/cuda/device.h>
#include <ingot/kernels/cuda/fault_site.h>

namespace ingot {
namespace cuda {

// An error of an op that was called before: complete, and that op's, wherever it is met.
struct Fault : IndexError {
  using IndexError::IndexError;
};

// To be called once the device is known to have finished: after a copy to the host, a synchronise.
// Throws Fault for the first one since the last call ("index_select: index 7 is out of range
// for dim 0 of size 5; at net.cpp:14") and forgets it. The results of that op have zeros in place
// of what does not exist; nothing was written out of bounds. Costs one read of host memory.
void check_fault(int device);

// The line that kernels launched by this thread are charged with, until the next call.
void set_fault_line(Loc line);

// For kernels about to be launched by this thread on the current device. `op` and `unit` are
// literals: they are read when the fault is found.
FaultSite fault_site(const char* op, int axis, const char* unit = nullptr);

}  // namespace cuda
}  // namespace ingot
