// A CUDA graph made by recording what a function launches, to be launched again as one.
// Owns: the executable graph, its nodes' parameters, the scratch memory that its kernels use. Must
// not know: plans. Addresses and host numbers are those of the recording, or of the last update.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <ingot/kernels/cuda/device.h>
#include <ingot/kernels/cuda/kernel_launch.h>
#include <ingot/kernels/cuda/scratch.h>

struct CUgraph_st;
struct CUgraphExec_st;
struct CUgraphNode_st;

namespace ingot::cuda {

class LibraryNodes;

class Graph {
 public:
  // Calls `launches`, whose work on the current stream is recorded and not run. It must have run
  // once before on this device, so that all code is loaded. Null when it did what cannot be
  // recorded; whatever it throws is passed on.
  static std::unique_ptr<Graph> record(const std::function<void()>& launches);
  virtual ~Graph();  // a launch that still runs is finished first
  Graph(const Graph&) = delete;

  // Makes the graph what `launches` would launch now, in the same order: nodes that differ get new
  // parameters. A library's call whose operands moved is recorded anew, the first times that they
  // do. After false, or whatever `launches` throws, the graph must not be launched any more.
  virtual bool update(const std::function<void()>& launches);

  // Whether update() can do anything: all nodes are kernels of ours, or of a library's calls.
  virtual bool updatable() const { return updatable_; }
  // Whether a library chose some of the nodes, by the alignment of its operands among other things:
  // update() is then for operands of the same alignment (up to 16 bytes).
  virtual bool has_library_nodes() const { return !library_.empty(); }

  // In the order of the current stream.
  virtual void launch() const;

  // Inside record(): the nodes so far, of any kind.
  static int nodes_recorded();

 protected:
  Graph() = default;

 private:
  class Recording;
  class Updating;

  // A kernel of ours as it is in the executable graph.
  struct Node {
    CUgraphNode_st* node;
    KernelLaunch launch;     // without parameters
    std::size_t begin, end;  // of its parameters in bytes_
  };

  std::size_t known_nodes() const;

  CUgraphExec_st* exec_ = nullptr;
  CUgraph_st* graph_ = nullptr;  // its nodes name those of exec_
  std::vector<Node> own_;
  std::vector<std::shared_ptr<LibraryNodes>> library_;  // by call
  // What was launched, in order: places in own_, and ~places in library_.
  std::vector<int> order_;
  std::vector<char> bytes_;
  bool updatable_ = true;
  std::unique_ptr<ScratchHold> scratch_;
  StreamHandle stream_ = nullptr;  // whose memory that is
};

}  // namespace ingot::cuda
