// The instruction set levels that kernel units are compiled for, and which one this process uses.
// Owns: detection, the cap, the feature list that keys of compiled kernels hold. Must not know:
// kernels, the environment (its reader calls set_isa_cap).
#pragma once

#include <string>
#include <string_view>

namespace ingot {

// base: what the compiler targets by default (x86-64 with SSE2, aarch64 with NEON).
// v3, v4: the x86-64 psABI levels: AVX2 + FMA, and AVX-512 F BW CD DQ VL.
enum class IsaLevel { base, v3, v4 };

// The highest level that was built into the library, that the CPU and the operating system support
// and that the cap allows. Fixed by the first call.
IsaLevel isa_level();

// Lowers isa_level(). Call it before the first use of a kernel; later calls are an Error when they
// would change the level.
void set_isa_cap(IsaLevel cap);

// What the CPU and the operating system support, whatever was built or capped.
IsaLevel detected_isa_level();

// "base", "x86-64-v3", "x86-64-v4".
std::string_view isa_name(IsaLevel level);
// The level of a name as isa_name() gives it, or "v3", "v4"; else an Error that lists the names.
IsaLevel isa_from_name(std::string_view name);

// What isa_level() stands for, spelled out and independent of the machine's other features, such as
// "x86-64-v3: avx avx2 bmi bmi2 ...": equal strings run the same code. Never "native".
std::string isa_features();

}  // namespace ingot
