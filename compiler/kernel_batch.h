// KernelBatch: the kernels of many plans, compiled at once in few runs of the compiler. For
// programs that make thousands of plans, such as tests. Owns: the sources, from the plan that asks
// until compile(). Must not know: what kernels do.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <vector>

#include <ingot/compiler/jit/kernel_cache.h>

namespace ingot::compiler {

// While one lives, plans that this thread makes get no kernels and run as without a compiler.
class KernelBatch {
 public:
  KernelBatch();
  ~KernelBatch();
  KernelBatch(const KernelBatch&) = delete;
  KernelBatch& operator=(const KernelBatch&) = delete;

  // The innermost one of this thread, or null.
  static KernelBatch* current();
  void add(std::vector<jit::KernelRequest> requests, bool disk_cache);
  void add_cuda(std::vector<jit::KernelSource> units, int architecture, bool disk_cache);
  // Compiles what was gathered, and forgets it. A plan made after that finds its kernels. Returns
  // how many were asked for, those that were known included.
  std::size_t compile();

 private:
  struct Gathered {
    std::vector<jit::KernelRequest> host;
    std::map<int, std::vector<jit::KernelSource>> cuda;  // by architecture
  };
  std::array<Gathered, 2> gathered_;  // for the cache in memory, and for that with a disk
  KernelBatch* outer_;
};

}  // namespace ingot::compiler
