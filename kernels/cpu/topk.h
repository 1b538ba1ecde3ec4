// CPU kernel of the row topk in kernels/ops/structured/reductions.h.
// Owns: this entry point. Must not know: allocation of results.
#pragma once

#include <ingot/kernels/kernel_table.h>

namespace ingot {

void cpu_topk(const KernelArgs& args);

}  // namespace ingot
