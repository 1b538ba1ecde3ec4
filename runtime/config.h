// Process-wide settings and facts: threads, what was built, whether CUDA is there.
// Owns: the public functions. Must not know: ops.
#pragma once

#include <string>

namespace ingot {

// Threads of the pool that kernels share, the caller's included. Results never depend on it.
void set_num_threads(int n);
int num_threads();

// One paragraph: version, compiler, instruction set levels, libraries, CUDA.
std::string build_info();

namespace cuda {
bool is_available();
std::string unavailable_reason();  // empty when it is
int device_count();
}  // namespace cuda

}  // namespace ingot
