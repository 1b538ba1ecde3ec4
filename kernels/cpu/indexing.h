// CPU kernels of the rows in kernels/ops/structured/indexing.h.
// Owns: these entry points. All indices are checked before the first write (IndexError names the
// first bad one); sums add up in index order whatever the number of threads, those of f16 and bf16
// in f32 with one rounding at the end. Must not know: allocation of results.
#pragma once

#include <ingot/kernels/kernel_table.h>

namespace ingot {

void cpu_index_select(const KernelArgs& args);
void cpu_index_add(const KernelArgs& args);
void cpu_gather(const KernelArgs& args);
void cpu_scatter_add(const KernelArgs& args);
void cpu_embedding(const KernelArgs& args);
void cpu_embedding_backward(const KernelArgs& args);
void cpu_index(const KernelArgs& args);
// The values may overlap x.
void cpu_index_put(const KernelArgs& args);

}  // namespace ingot
