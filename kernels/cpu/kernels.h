// The CPU's table of kernels.
// Owns: which kernel runs which op. Must not know: what kernels do, other devices.
#pragma once

#include <ingot/kernels/kernel_table.h>

namespace ingot {

// The CPU kernel of a built-in op; nullptr for views and for user's rows.
Kernel cpu_kernel(const OpInfo& op);

}  // namespace ingot
