// The driver's functions, found through the CUDA runtime: nothing is linked against libcuda.
// Owns: the table. Must not know: what is launched or loaded. For units that include CUDA's
// headers.
#pragma once

#include <cuda.h>
#include <string>

namespace ingot::cuda {

struct Driver {
  decltype(&::cuLibraryLoadData) load_library;
  decltype(&::cuLibraryUnload) unload_library;
  decltype(&::cuLibraryGetKernel) get_kernel;
  decltype(&::cuLaunchKernelEx) launch;
  decltype(&::cuGraphKernelNodeGetParams) get_node;
  decltype(&::cuGraphExecKernelNodeSetParams) set_node;
  // Null before CUDA 12.4.
  decltype(&::cuKernelGetParamInfo) kernel_parameter;
  decltype(&::cuFuncGetParamInfo) function_parameter;
  decltype(&::cuGetErrorString) error_string;
};

// Throws DeviceError when the driver lacks one of the others.
const Driver& driver();

std::string error_text(CUresult status);

}  // namespace ingot::cuda
