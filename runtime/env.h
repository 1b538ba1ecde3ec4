// The environment: every INGOT_* variable in one table.
// Owns: reading it once, at first use; warnings for unknown names, errors for values without
// effect. Must not know: what the values do.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <ingot/kernels/core/dtype.h>

namespace ingot {

struct EnvVariable {
  const char* name;
  const char* help;
};
// All that are understood, in the order of the README's table.
const std::vector<EnvVariable>& env_variables();

struct Env {
  Device device;                     // INGOT_DEVICE: the default device
  std::string detect_anomaly;        // INGOT_DETECT_ANOMALY=1|inf, empty: off
  std::vector<std::string> disable;  // INGOT_DISABLE=fusion,codegen,disk_cache
  std::string isa;                   // INGOT_ISA=base|v3|v4, empty: the best there is
  bool verify = false;               // INGOT_VERIFY=1
  bool compile = true;               // INGOT_COMPILE=0: compiled functions run eagerly
  int threads = 0;                   // INGOT_THREADS, 0: all cores

  bool disables(std::string_view what) const;
};

// What INGOT_DISABLE and CompileOptions::disable may name.
inline constexpr std::string_view kDisableNames[] = {"fusion", "epilogue", "codegen", "disk_cache",
                                                     "cuda_graph"};

// Read once; throws Error for a value without effect ("INGOT_THREADS=x is not a number").
const Env& env();

// What kernels are made with and kept in. Read when the first kernel is made: a program that has
// computed already may still choose.
struct KernelEnv {
  std::string cache_dir;     // INGOT_CACHE_DIR, else the user's cache folder + /ingot
  std::string cxx;           // INGOT_CXX, else empty: search PATH
  std::string dump_dir;      // INGOT_DUMP, empty: no dumps
  std::string path;          // PATH
  std::string library_path;  // LD_LIBRARY_PATH
};
const KernelEnv& kernel_env();

// Says on stderr, once for each, which INGOT_* variables have changed since they were read: the
// changes have no effect. Asked where that costs nothing beside what is done.
void warn_of_late_changes();

}  // namespace ingot
