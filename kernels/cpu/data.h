// CPU kernels of the rows in kernels/ops/structured/data.h: copies, casts, creation, joining.
// Owns: these entry points. Results have the metas that the rows infer, or any other strides
// without overlap. Must not know: allocation of results.
#pragma once

#include <ingot/kernels/kernel_table.h>

namespace ingot {

// clone and _to_copy.
void cpu_clone(const KernelArgs& args);
// copy_: in[1] may overlap in[0] in any way.
void cpu_copy(const KernelArgs& args);
// full and fill_.
void cpu_full(const KernelArgs& args);
// Element i is s[0] + i * s[1]: in f64, then rounded, for floating dtypes; in i64, wrapping, for
// integers, whose floating scalars are cut towards zero first; bool is whether that is not 0.
void cpu_arange(const KernelArgs& args);
void cpu_cat(const KernelArgs& args);
void cpu_flip(const KernelArgs& args);
void cpu_slice_backward(const KernelArgs& args);

}  // namespace ingot
