// CPU kernels of the rows in kernels/ops/structured/composites.h.
// Owns: these entry points. Operands have any strides; results are row-major, as the rows infer
// them; a result may be exactly one of the operands. 16-bit types compute in f32 and round once.
// Must not know: allocation of results.
#pragma once

#include <ingot/kernels/kernel_table.h>

namespace ingot {

void cpu_softmax(const KernelArgs& args);
void cpu_log_softmax(const KernelArgs& args);
void cpu_softmax_backward(const KernelArgs& args);
void cpu_log_softmax_backward(const KernelArgs& args);
void cpu_logsumexp(const KernelArgs& args);

void cpu_layer_norm(const KernelArgs& args);
void cpu_layer_norm_backward(const KernelArgs& args);
void cpu_layer_norm_backward_params(const KernelArgs& args);

// IndexError before the first write when a target is neither a class nor ignore_index.
void cpu_cross_entropy(const KernelArgs& args);
void cpu_cross_entropy_backward(const KernelArgs& args);

}  // namespace ingot
