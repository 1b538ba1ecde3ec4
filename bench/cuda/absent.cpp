// A build without CUDA has no rows of a GPU.
#include "benchmarks.h"
#include "child.h"

namespace bench {

const std::vector<Benchmark>& cuda_benchmarks() {
  static const std::vector<Benchmark> none;
  return none;
}

std::optional<int> cuda_child_main(int, char**) { return {}; }

}  // namespace bench
