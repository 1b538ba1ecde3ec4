// The nodes that a library's call has put into a graph, and how they get other addresses.
// Owns: what each node is launched with. Addresses that moved are written where LearnedPlaces says,
// or else come with a fresh recording of the call. Must not know: which library, the graph. For
// units that include CUDA's headers.
#pragma once

#include <cstddef>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <vector>

#include <ingot/kernels/cuda/kernel_launch.h>
#include <ingot/kernels/cuda/learned_places.h>

namespace ingot::cuda {

class LibraryNodes {
 public:
  // The nodes are those of a graph that lives as long as this; the executable graph has them too.
  LibraryNodes(const LibraryCall& call, const std::vector<cudaGraphNode_t>& nodes);

  // Whether the nodes can be given other parameters at all.
  bool known() const { return known_; }
  std::size_t size() const { return nodes_.size(); }

  // Whether they are what the call would launch.
  bool hold(const LibraryCall& call) const;
  // Makes them what the call would launch by what was learned. False: that is not known.
  bool move(cudaGraphExec_t graph, const LibraryCall& call);
  // The same with the nodes of a fresh recording of the call. False: it launches something else, or
  // CUDA refuses; the graph must not be launched any more.
  bool replace(cudaGraphExec_t graph, const LibraryCall& call,
               const std::vector<cudaGraphNode_t>& fresh);

 private:
  struct Node {
    cudaGraphNode_t node = nullptr;
    cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
    CUDA_KERNEL_NODE_PARAMS kernel{};     // of a kernel; its parameters are in the words
    std::vector<std::size_t> sizes = {};  // of its parameters, bytes
    bool packed = false;                  // the parameters are one buffer
    bool readable = false;                // the words are there
    std::size_t first_word = 0, words = 0;
  };
  using Words = LearnedPlaces::Words;

  static bool read(cudaGraphNode_t node, Node* to, Words* words);
  static bool read_kernel(Node* to, Words* words);
  static bool alike(const Node& a, const Node& b);
  static bool write(cudaGraphExec_t graph, const Node& node, const Words& words);
  bool same_kind(const LibraryCall& call) const;

  std::vector<std::byte> kind_;
  LearnedPlaces::Addresses addresses_;
  std::vector<Node> nodes_;
  Words words_;
  LearnedPlaces places_;
  bool known_ = true;
};

}  // namespace ingot::cuda
