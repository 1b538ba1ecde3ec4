// How many threads kernels use.
// Owns: the setting, public. Must not know: how work is shared (parallel.h).
#pragma once

#include <ingot/kernels/core/error.h>

namespace ingot {

inline constexpr int kMaxThreads = 256;

// Threads of the pool that kernels share, the caller's included; at first the number of cores this
// process may run on. More than one thread per core only slows products down, so siblings count
// once. Results never depend on it.
int num_threads();
// 1 ... kMaxThreads, else Error. Takes effect with the next op, for all threads.
void set_num_threads(int n, Loc loc = Loc::here());

}  // namespace ingot
