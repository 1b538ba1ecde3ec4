// CUDA kernels of the rows in kernels/ops/structured/random.h.
// Owns: these entry points. The same draws as on the CPU, bit for bit but for f64 randn, whose
// logarithm, sine and cosine are the device library's. Must not know: generators, device code.
#pragma once

#include <ingot/kernels/kernel_table.h>

namespace ingot {
inline namespace INGOT_ISA {

void cuda_uniform(const KernelArgs& args);
void cuda_normal(const KernelArgs& args);
void cuda_randint(const KernelArgs& args);
void cuda_dropout(const KernelArgs& args);

}  // namespace INGOT_ISA
}  // namespace ingot
