// Creation, joining and moving of elements on CUDA.
// Owns: the kernels of data ops but indexing. Must not know: the loops of copies.
#pragma once

#include <ingot/kernels/kernel_table.h>

namespace ingot {
inline namespace INGOT_ISA {

void cuda_clone(const KernelArgs& args);
void cuda_copy(const KernelArgs& args);
void cuda_full(const KernelArgs& args);
void cuda_arange(const KernelArgs& args);
void cuda_cat(const KernelArgs& args);
void cuda_flip(const KernelArgs& args);
void cuda_slice_backward(const KernelArgs& args);

}  // namespace INGOT_ISA
}  // namespace ingot
