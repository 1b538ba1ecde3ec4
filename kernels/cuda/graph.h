// A CUDA graph made by recording what a function launches, to be launched again as one.
// Owns: the capture, the executable graph, its nodes' parameters, the scratch memory that its
// kernels use. Must not know: plans. Addresses and host numbers are those of the recording, or of
// the last update.
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

class Graph {
 public:
  // Calls `launches`, whose work on the current stream is recorded and not run. It must have run
  // once before on this device, so that all code is loaded. Null when it did what cannot be
  // recorded; whatever it throws is passed on.
  static std::unique_ptr<Graph> record(const std::function<void()>& launches);
  virtual ~Graph();  // a launch that still runs is finished first
  Graph(const Graph&) = delete;

  // Makes the graph what `launches` would launch now, in the same order. Nodes that differ get new
  // parameters; where some are not kernels of ours everything is recorded again. After false, or
  // whatever `launches` throws, the graph must not be launched any more.
  virtual bool update(const std::function<void()>& launches);

  // Whether all nodes are kernels of ours, which update() gives new parameters one by one.
  virtual bool only_ours() const { return only_ours_; }

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
    KernelLaunch launch;  // without parameters
    std::size_t begin;    // of its parameters in bytes_
  };

  CUgraph_st* capture(const std::function<void()>& launches, LaunchTape* tape);
  void forget_nodes();

  CUgraphExec_st* exec_ = nullptr;
  CUgraph_st* graph_ = nullptr;  // its nodes name those of exec_
  std::vector<Node> nodes_;      // where all are kernels of ours; else none
  std::vector<char> bytes_;
  bool only_ours_ = false;
  std::unique_ptr<ScratchHold> scratch_;
};

}  // namespace ingot::cuda
