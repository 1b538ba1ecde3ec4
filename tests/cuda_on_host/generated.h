// Generated CUDA text as functions of this process: compiled for the host, with the emulation in
// place of CUDA. Owns: the compiler's call, the loaded library. Must not know: what kernels do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ingot::emulation {

// Runs one kernel over its parameter's bytes.
using GeneratedKernel = void (*)(const void* parameter, std::int64_t blocks);

// Of each text (extern "C" ingot_run over one Params) its kernel, on so many threads a block;
// `headers` stand for the text that NVRTC is given in front. Empty after a failed assertion.
std::vector<GeneratedKernel> compile_for_host(const std::vector<std::string>& headers,
                                              const std::vector<std::string>& texts,
                                              const std::vector<unsigned>& threads);

}  // namespace ingot::emulation
