// The CUDA graphs of one plan, by everything that a launch bakes in: addresses and host numbers.
// Owns: recorded graphs, which of them are kept. A call seen for the second time is recorded; later
// equal calls are one launch. Must not know: steps.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include <ingot/kernels/cuda/graph.h>

namespace ingot::compiler {

class GraphCache {
 public:
  // Runs `launches`, or the graph that was recorded from the same words. Words must be all that
  // differs between two calls of the plan on one device.
  void run(const std::vector<std::uint64_t>& words, const std::function<void()>& launches);

 private:
  struct Instance {
    std::vector<std::uint64_t> words;
    std::unique_ptr<cuda::Graph> graph;  // null: seen once
    std::uint64_t used = 0;
  };
  static constexpr std::size_t kMostInstances = 8;

  std::mutex mutex_;
  std::vector<Instance> instances_;
  std::uint64_t uses_ = 0;
  bool refused_ = false;  // the plan does what cannot be recorded
};

}  // namespace ingot::compiler
