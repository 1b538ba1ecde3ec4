// CUDA's table of kernels.
// Owns: which kernel runs which op. Must not know: what kernels do, other devices.
#pragma once

#include <ingot/kernels/cuda/product_epilogue.h>
#include <ingot/kernels/kernel_table.h>

// The namespaces that kernels/cuda is compiled in: for the device, and by the tests for the host.
namespace ingot::isa_cuda {

// The CUDA kernel of a built-in op; nullptr for views and where there is none. Kernels run on the
// current device, in the order of the current stream (device.h), and return before the work is
// done.
Kernel cuda_kernel(const OpInfo& op);

// A product with an epilogue: see products.h.
bool cuda_product_with(const KernelArgs& args, const ProductEpilogue& epilogue);

}  // namespace ingot::isa_cuda
