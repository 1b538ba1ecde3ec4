// The machine's C++ compiler as a function: source text in, the bytes of a shared object out.
// Owns: the flags that every kernel needs, the link step, the sentence when it fails. Works on
// files without a name, so nothing is left behind, not even by a process that is killed.
// Must not know: graphs, what a kernel does, caches of kernels.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <ingot/compiler/jit/bytes.h>
#include <ingot/compiler/jit/compiler_finder.h>
#include <ingot/compiler/jit/files.h>
#include <ingot/compiler/jit/process.h>

namespace ingot::jit {

struct CompileResult {
  Bytes object;            // a shared object; empty on failure
  std::string error;       // one sentence, then the compiler's own lines; empty on success
  bool transient = false;  // not the source's fault: killed, timed out, no memory or disk
  double compile_ms = 0;
  double link_ms = 0;
};

// One of several bodies of a unit; names as in KernelSource.
struct UnitPart {
  std::string_view body;
  const std::vector<std::string>& names;
};

class HostCompiler {
 public:
  // `records` (may be null) must outlive the compiler.
  explicit HostCompiler(HostCompilerOptions options, DiskCache* records = nullptr);

  // See CompilerFinder.
  const CompilerInfo* info() { return finder_.info(); }
  const std::string& missing() { return finder_.missing(); }

  // Compiles `prelude` + `body` as one C++20 unit with base_flags() and then `flags` (the ISA
  // level). The unit includes nothing; functions that it leaves undefined come from libm.
  // Thread-safe.
  CompileResult compile(std::string_view prelude, std::string_view body,
                        const std::vector<std::string>& flags);
  // The parts behind one prelude in one run of the compiler, which costs less than a run for each;
  // then a link for each, so that every result is an object with the function of its part alone.
  // The time of the run is in the first result. An error of the compiler is every part's: parts
  // compiled one by one then say whose it is.
  std::vector<CompileResult> compile_together(std::string_view prelude,
                                              const std::vector<UnitPart>& parts,
                                              const std::vector<std::string>& flags);

  // What the numerics contract and vector code need: no contraction, no traps, no errno, wrapping.
  static const std::vector<std::string>& base_flags();

 private:
  // What the linker is to keep of an object: all, or one function under another name.
  struct Kept {
    std::string function, called;
  };

  Command command_for(const CompilerInfo& compiler) const;
  // The object file, before it is linked; its time and its error are the result's.
  UniqueFd compile_object(const CompilerInfo& compiler, std::string_view prelude,
                          std::string_view body, const std::vector<std::string>& flags,
                          CompileResult& result) const;
  // Fills the result's object or error, and its time.
  void link(const CompilerInfo& compiler, int object, const Kept& kept,
            CompileResult& result) const;
  struct LinkInput {
    int object, script;  // descriptors; -1: no script
    bool with_libm;
  };
  bool link_with(Command command, const LinkInput& input, CompileResult& result) const;
  std::string keep_source(std::string_view prelude, std::string_view body) const;

  HostCompilerOptions options_;
  CompilerFinder finder_;
};

}  // namespace ingot::jit
