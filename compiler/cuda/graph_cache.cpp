#include <algorithm>

#include <ingot/compiler/cuda/graph_cache.h>

namespace ingot::compiler {

void GraphCache::run(const std::vector<std::uint64_t>& words,
                     const std::function<void()>& launches) {
  // A second thread in the same plan launches its steps rather than wait.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || refused_) return launches();
  ++uses_;
  auto same = [&](const Instance& i) { return i.words == words; };
  auto found = std::find_if(instances_.begin(), instances_.end(), same);
  if (found != instances_.end() && found->graph != nullptr) {
    found->used = uses_;
    return found->graph->launch();
  }
  if (found == instances_.end()) {
    launches();
    if (instances_.size() < kMostInstances) {
      instances_.push_back({words, nullptr, uses_});
      return;
    }
    auto oldest =
        std::min_element(instances_.begin(), instances_.end(),
                         [](const Instance& a, const Instance& b) { return a.used < b.used; });
    *oldest = {words, nullptr, uses_};
    return;
  }
  found->graph = cuda::Graph::record(launches);
  if (found->graph == nullptr) {
    refused_ = true;
    return launches();
  }
  found->used = uses_;
  found->graph->launch();
}

}  // namespace ingot::compiler
