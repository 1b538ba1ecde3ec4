// CUDA kernels of the rows in kernels/ops/structured/composites.h: any strides in, row-major
// results out, 16-bit types computed in f32. Must not know: device code.
#pragma once

#include <ingot/kernels/kernel_table.h>

namespace ingot {
inline namespace INGOT_ISA {

void cuda_softmax(const KernelArgs& args);
void cuda_log_softmax(const KernelArgs& args);
void cuda_softmax_backward(const KernelArgs& args);
void cuda_log_softmax_backward(const KernelArgs& args);
void cuda_logsumexp(const KernelArgs& args);

void cuda_layer_norm(const KernelArgs& args);
void cuda_layer_norm_backward(const KernelArgs& args);
void cuda_layer_norm_backward_params(const KernelArgs& args);

// A target that is neither a class nor ignore_index is reported (fault.h); its row counts as
// nothing.
void cuda_cross_entropy(const KernelArgs& args);
void cuda_cross_entropy_backward(const KernelArgs& args);

}  // namespace INGOT_ISA
}  // namespace ingot
