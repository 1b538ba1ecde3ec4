// What CUDA itself takes: launches, graphs, copies, reading. Everything runs on the current stream
// of Ingot and returns at once.
// Owns: hand-written kernels and raw calls. Must not know: tensors.
#pragma once

#include <cstddef>
#include <memory>

namespace bench::gpu {

// out = a + b, one launch.
void add(const float* a, const float* b, float* out, int n);

// Reads n floats (a multiple of 4, 16-byte aligned) as fast as the GPU gives them and writes none.
// `sink` has room for one float and stays as it is.
void read_only(const float* from, std::size_t n, float* sink);

// A plain copy on the device.
void copy(void* to, const void* from, std::size_t bytes);

// Keeps the stream busy for about so long.
void spin(double us);

// A CUDA graph of tiny kernels, each dependent on the one before.
class KernelGraph {
 public:
  explicit KernelGraph(int nodes);
  ~KernelGraph();
  KernelGraph(const KernelGraph&) = delete;
  void launch() const;
  // The same after the parameters of one node were set anew.
  void launch_patched() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace bench::gpu
