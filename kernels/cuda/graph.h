// A CUDA graph made by recording what a function launches, to be launched again as one.
// Owns: the capture, the executable graph, the scratch memory that its kernels use. Must not know:
// plans. Addresses and host numbers are those of the recording: a graph is right only for them.
#pragma once

#include <functional>
#include <memory>

#include <ingot/kernels/cuda/device.h>
#include <ingot/kernels/cuda/scratch.h>

struct CUgraphExec_st;

namespace ingot::cuda {

class Graph {
 public:
  // Calls `launches`, whose work on the current stream is recorded and not run. It must have run
  // once before on this device, so that all code is loaded. Null when it did what cannot be
  // recorded; whatever it throws is passed on.
  static std::unique_ptr<Graph> record(const std::function<void()>& launches);
  ~Graph();
  Graph(const Graph&) = delete;

  // In the order of the current stream.
  void launch() const;

 private:
  Graph() = default;
  CUgraphExec_st* exec_ = nullptr;
  ScratchHold scratch_;
};

}  // namespace ingot::cuda
