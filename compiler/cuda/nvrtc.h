// NVRTC, NVIDIA's run-time compiler, as a function: source text in, machine code out.
// Owns: opening the library at first use, the options that every kernel needs, the sentence when it
// fails. Needs no GPU and no driver. Must not know: caches, what a kernel does.
#pragma once

#include <string>
#include <string_view>

namespace ingot::compiler {

struct NvrtcResult {
  std::string cubin;  // empty on failure
  std::string error;  // one sentence, then the compiler's own lines; empty on success
  double ms = 0;
};

// Why there is no NVRTC here, with what to install; empty when there is.
const std::string& nvrtc_missing();
// "13.0", part of a kernel's key, and the file that says so; empty when there is none.
const std::string& nvrtc_version();
const std::string& nvrtc_path();

// One unit that includes nothing, for compute capability `architecture` (90). Thread-safe, and
// compiles run side by side.
NvrtcResult nvrtc_compile(std::string_view prelude, std::string_view body, int architecture);

}  // namespace ingot::compiler
