// What the driver takes to load machine code. Owns: load_ms(). Must not know: where it comes from.
// Must not know: who compiled it.
#pragma once

#include <string>

namespace bench::gpu {

// Milliseconds from the bytes to the kernel of this name; it is unloaded again.
double load_ms(const std::string& cubin, const char* kernel);

}  // namespace bench::gpu
