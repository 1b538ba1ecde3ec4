// Generated CUDA kernels by source: from this process, from the disk, or from NVRTC.
// Owns: the key, single flight among threads, parallel compiles, the memory of failures. Must not
// know: graphs, what kernels do, the environment.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ingot/compiler/jit/disk_cache.h>
#include <ingot/compiler/jit/kernel_cache.h>
#include <ingot/kernels/cuda/module.h>

namespace ingot::compiler {

struct CubinResult {
  std::shared_ptr<const cuda::DeviceModule> module;  // null: see error
  std::string error;
  jit::KernelOrigin origin = jit::KernelOrigin::kFailed;
  double compile_ms = 0;
};

class CubinCache {
 public:
  // An empty folder: memory only.
  // library_path: what the loader searches before its own folders (LD_LIBRARY_PATH).
  CubinCache(jit::DiskCacheOptions disk, int generator_version, std::string dump_folder,
             std::string library_path);

  // All units, compiled side by side for one compute capability; results in the order of requests.
  // Never throws for a compiler's sake.
  std::vector<CubinResult> get_many(const std::vector<jit::KernelSource>& units, int architecture);

 private:
  struct Entry;
  struct Shared;
  CubinResult get(const jit::KernelSource& unit, int architecture);
  const std::string& version();
  CubinResult produce(const jit::KernelSource& unit, int architecture, const std::string& key);

  const int generator_version_;
  const std::string dump_folder_, library_path_;
  const jit::Log log_;
  jit::DiskCache disk_;
  std::shared_ptr<Shared> shared_;
  jit::CompilePool pool_;
  std::once_flag version_once_;
  std::string version_;  // of NVRTC
};

}  // namespace ingot::compiler
