// Recording what a thread gives to the GPU, on a stream of its own.
// Owns: the streams to record on, the state of a recording. Must not know: what is recorded, what
// becomes of it. For units that include CUDA's headers.
#pragma once

#include <cuda_runtime_api.h>
#include <optional>
#include <vector>

#include <ingot/kernels/cuda/device.h>
#include <ingot/kernels/cuda/stream.h>

namespace ingot::cuda {

// What the current stream has recorded so far: the graph, and its last node (null: none yet, or
// several).
struct Recorded {
  cudaGraph_t graph = nullptr;
  cudaGraphNode_t last = nullptr;
};
Recorded recorded();

// The nodes of a graph from behind `before` (null: from its first) to `last`, each of which waits
// for just the one ahead of it. None: they are no such chain.
std::optional<std::vector<cudaGraphNode_t>> chain(cudaGraphNode_t before, cudaGraphNode_t last);

// This thread's work on the current device is recorded and not run while one lives. Other threads
// go on using the shared stream.
class Capture {
 public:
  Capture();
  ~Capture();
  Capture(const Capture&) = delete;

  // Null when something was done that cannot be recorded. The graph is the caller's.
  cudaGraph_t end();

 private:
  class Stream {
   public:
    Stream();
    ~Stream();
    Stream(const Stream&) = delete;
    StreamHandle handle = nullptr;

   private:
    int device_;
  };
  RecordingLock lock_;
  Stream stream_;
  CaptureStream current_;
  bool open_ = false;
};

}  // namespace ingot::cuda
