// Finds the machine's C++ compiler and says who it is.
// Owns: the search order, the environment that compilers are run with, the identity for cache keys
// and its record between processes, so that a warm process starts no other program.
// Must not know: sources, kernels, where its options were read.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <ingot/compiler/jit/disk_cache.h>

namespace ingot::jit {

struct HostCompilerOptions {
  // INGOT_CXX: a path or name, with leading arguments if need be ("ccache g++"). Empty: the first
  // of c++, g++, clang++ that works. "none": no compiler.
  std::string cxx;
  std::string search_path;               // PATH
  std::vector<std::string> environment;  // "NAME=value", all that the compiler gets besides PATH
  std::chrono::milliseconds timeout{120000};
  std::string dump_folder;  // sources that do not compile are kept here; empty: nowhere
};

struct CompilerInfo {
  std::string program;               // absolute path
  std::vector<std::string> leading;  // arguments that come first ("g++" after ccache)
  std::string version;               // first line of --version
  std::string identity;              // path, size, time, --version
  bool is_clang = false;
  std::string linker;  // absolute path; empty: link through the compiler
};

class CompilerFinder {
 public:
  // `records` keeps the answers of --version by the program's path, size and time; may be null.
  CompilerFinder(const HostCompilerOptions& options, DiskCache* records);

  // Found at the first call, which starts `--version` unless that is on record. Null if there is
  // no compiler; then missing() is one sentence. Thread-safe.
  const CompilerInfo* info();
  const std::string& missing();

  const std::vector<std::string>& environment() const { return environment_; }

 private:
  void find();
  // The absolute path of a program, given by path or by a name on the search path.
  std::string resolve(const std::string& name, bool skip_wrappers) const;
  std::optional<CompilerInfo> probe(const std::string& program, std::vector<std::string> leading);
  std::string ask_version(const std::string& program, std::vector<std::string> arguments) const;

  std::string cxx_;
  std::string search_path_;
  std::vector<std::string> environment_;
  DiskCache* records_;
  std::once_flag once_;
  std::optional<CompilerInfo> info_;
  std::string missing_;
};

}  // namespace ingot::jit
