// Whether a device is a GPU that can be used, asked before work that is no op is given to it.
// Owns: the sentence. Must not know: streams, tensors.
#pragma once

#include <ingot/kernels/core/dtype.h>
#include <ingot/kernels/core/error.h>

namespace ingot {

// Throws DeviceError: "cuda::Stream: there is no NVIDIA driver ...; at net.cpp:14".
void check_cuda(const char* op, Device device, Loc loc);

}  // namespace ingot
