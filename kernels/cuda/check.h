// INGOT_CUDA_CHECK: one way from a status of the CUDA runtime to an Error.
// Must not know: ops. The only header of this folder, beside launch.cuh, that includes CUDA's.
#pragma once

#include <cuda_runtime_api.h>

#include <ingot/kernels/cuda/device.h>

#define INGOT_CUDA_CHECK(call)                                       \
  do {                                                               \
    const cudaError_t status_ = (call);                              \
    if (status_ != cudaSuccess) [[unlikely]]                         \
      ::ingot::cuda::throw_status(static_cast<int>(status_), #call); \
  } while (false)
