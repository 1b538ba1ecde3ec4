// CUDA kernels of the rows in kernels/ops/structured/indexing.h.
// Owns: these entry points. Nothing is read or written out of bounds: an index that is out of range
// is reported (fault.h), reads give 0 there, writes leave it out. Sums add up in index order with
// the bits of the CPU's, in every run. Results may have any strides without overlap. Must not know:
// device code.
#pragma once

#include <ingot/kernels/kernel_table.h>

namespace ingot {
inline namespace INGOT_ISA {

void cuda_index_select(const KernelArgs& args);
void cuda_index_add(const KernelArgs& args);
void cuda_gather(const KernelArgs& args);
void cuda_scatter_add(const KernelArgs& args);
void cuda_embedding(const KernelArgs& args);
void cuda_embedding_backward(const KernelArgs& args);
void cuda_index(const KernelArgs& args);
// Values and indices may overlap x.
void cuda_index_put(const KernelArgs& args);

}  // namespace INGOT_ISA
}  // namespace ingot
