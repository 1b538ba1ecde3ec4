#include <algorithm>
#include <atomic>

#include <ingot/compiler/cuda/graph_cache.h>

namespace ingot::compiler {

namespace {

std::uint64_t hash_of(const std::vector<std::uint64_t>& words) {
  std::uint64_t hash = words.size();
  for (std::uint64_t word : words) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
  }
  return hash;
}

std::uint64_t fresh_id() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

void GraphCache::run(const std::vector<std::uint64_t>& words, const Launches& launches) {
  // A second thread in the same plan launches its steps rather than wait.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || refused_) return launches(nullptr);
  ++uses_;
  const std::uint64_t hash = hash_of(words);
  for (Instance& i : instances_) {
    if (i.hash == hash && i.words == words) return launch(i);
  }
  const bool repeats = seen(hash);
  const bool first = instances_.empty() && ++misses_ >= kMissesBeforeGraph;
  const bool room = instances_.size() < kMostInstances;
  if (room && (repeats || first)) {
    if (record(hash, words, launches)) return launch(instances_.back());
  } else if (!instances_.empty() && failed_updates_ < kFailedUpdates) {
    if (update(hash, words, launches)) return launch(instances_.back());
  }
  launches(nullptr);
}

// Whether the words were met lately; notes them.
bool GraphCache::seen(std::uint64_t hash) {
  if (std::find(recent_.begin(), recent_.end(), hash) != recent_.end()) return true;
  recent_[next_recent_++ % recent_.size()] = hash;
  return false;
}

bool GraphCache::record(std::uint64_t hash, const std::vector<std::uint64_t>& words,
                        const Launches& launches) {
  Instance fresh{hash, words, nullptr, {}, fresh_id(), 0};
  std::vector<int> after;
  fresh.graph = cuda::Graph::record([&] { launches(&after); });
  if (fresh.graph == nullptr) {
    refused_ = true;
    return false;
  }
  for (std::size_t k = 0; k < notes_.size(); ++k) {
    const StepNote& note = notes_[k];
    fresh.parts.push_back({note.name, note.loc, note.cost,
                           note.fused_from.empty() ? nullptr : note.fused_from.c_str(),
                           after[k] - (k == 0 ? 0 : after[k - 1])});
  }
  instances_.push_back(std::move(fresh));
  ++use_.recorded;
  return true;
}

// The instance that was used longest ago becomes that of these words, and the last in the list.
bool GraphCache::update(std::uint64_t hash, const std::vector<std::uint64_t>& words,
                        const Launches& launches) {
  auto oldest =
      std::min_element(instances_.begin(), instances_.end(),
                       [](const Instance& a, const Instance& b) { return a.used < b.used; });
  Instance taken = std::move(*oldest);
  instances_.erase(oldest);  // nobody finds it while it is half updated
  if (!taken.graph->update([&] { launches(nullptr); })) {
    ++failed_updates_;
    return false;
  }
  ++use_.updates;
  taken.hash = hash;
  taken.words = words;
  instances_.push_back(std::move(taken));
  return true;
}

void GraphCache::launch(Instance& instance) {
  instance.used = uses_;
  const GraphLaunch launched{instance.id, instance.parts.data(),
                             static_cast<int>(instance.parts.size())};
  const ScopedEvent event({.kind = EventKind::kernel,
                           .name = "cuda_graph",
                           .loc = notes_[0].loc,
                           .device = {kCUDA, cuda::current_device()},
                           .graph = &launched});
  instance.graph->launch();
  ++use_.launches;
}

GraphUse GraphCache::use() const {
  const std::lock_guard lock(mutex_);
  return use_;
}

}  // namespace ingot::compiler
