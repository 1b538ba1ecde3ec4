#include <algorithm>
#include <atomic>
#include <chrono>

#include <ingot/compiler/cuda/graph_cache.h>
#include <ingot/runtime/allocator.h>

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

// How the addresses lie within 16 bytes, as one word.
std::uint64_t alignment_of(const std::vector<std::uint64_t>& words, std::size_t places) {
  std::uint64_t hash = places;
  for (std::size_t i = 0; i < places; ++i) {
    hash = (hash ^ (words[i] & 15)) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
  }
  return hash;
}

using Clock = std::chrono::steady_clock;

double ns_since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

// The least of what was seen, which it forgets in time.
double least_lately(double least, double now) {
  constexpr double kForget = 1.02;
  return least == 0 ? now : std::min(now, least * kForget);
}

std::uint64_t fresh_id() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

void drop_all(Device device) noexcept;

struct Caches {
  std::mutex mutex;
  std::vector<GraphCache*> all;
};
// Never destroyed: compiled functions may be static.
Caches& caches() {
  static auto* const living = [] {
    on_memory_shortage(&drop_all);
    return new Caches;
  }();
  return *living;
}

void drop_all(Device device) noexcept {
  const std::lock_guard lock(caches().mutex);
  for (GraphCache* cache : caches().all) cache->drop(device);
}

// The cache whose graph this thread records, updates or launches. Memory may run out meanwhile.
constinit thread_local const GraphCache* t_inside = nullptr;

class Inside {
 public:
  explicit Inside(const GraphCache* cache) { t_inside = cache; }
  ~Inside() { t_inside = nullptr; }
  Inside(const Inside&) = delete;
};

}  // namespace

GraphCache::GraphCache(std::vector<StepNote> notes, Device device, Record record)
    : notes_(std::move(notes)), device_(device), record_(record) {
  const std::lock_guard lock(caches().mutex);
  caches().all.push_back(this);
}

GraphCache::~GraphCache() {
  const std::lock_guard lock(caches().mutex);
  std::erase(caches().all, this);
}

void GraphCache::drop(Device device) noexcept {
  if (!(device_ == device) || t_inside == this) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || instances_.empty()) return;
  use_.dropped += static_cast<i64>(instances_.size());
  instances_.clear();
  misses_ = 0;
  // Many runs since the last pause: memory was short for reasons of its own, not for these graphs.
  if (uses_ > paused_until_ + pause(drops_)) drops_ = 0;
  paused_until_ = uses_ + pause(drops_++);
}

void GraphCache::Cost::add(double ns) {
  ++n_;
  ns_ = least_lately(ns_, ns);
}

void GraphCache::run(const std::vector<std::uint64_t>& words, std::size_t places,
                     const Launches& launches, int* failed_step) {
  if (run_graph(words, places, launches, failed_step)) return;
  const Clock::time_point start = Clock::now();
  launches(nullptr);
  // Two threads may both be here; either's time will do.
  const double least = steps_cost_.load(std::memory_order_relaxed);
  steps_cost_.store(static_cast<float>(least_lately(least, ns_since(start))),
                    std::memory_order_relaxed);
}

// False: nothing was launched.
bool GraphCache::run_graph(const std::vector<std::uint64_t>& words, std::size_t places,
                           const Launches& launches, int* failed_step) {
  // A second thread in the same plan launches its steps rather than wait.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  const Inside inside(this);
  if (++uses_ < paused_until_) return false;
  const bool may_record = uses_ >= record_again_;
  if (instances_.empty() && !may_record) return false;
  const std::uint64_t hash = hash_of(words);
  for (Instance& i : instances_) {
    if (i.hash != hash || i.words != words) continue;
    launch(i, failed_step);
    return true;
  }
  const Miss miss{words, hash, alignment_of(words, places)};
  const bool repeats = seen(hash);
  const Place place = to_update(miss.alignment);
  const bool none = place == instances_.end();
  const auto first = [&] {
    return none && none_is_aligned(miss.alignment) && often_missed(miss.alignment);
  };
  const bool wanted = repeats ? none || instances_.size() < kMostInstances : first();
  if (!wanted) return !none && updates_pay() && update(miss, place, launches, failed_step);
  if (!may_record || !make_room() || !record(miss, launches)) return false;
  launch(instances_.back(), failed_step);
  return true;
}

// The graph to be updated for addresses that are aligned in this way: that which was used longest
// ago. Kernels of ours take any, unless a plan launches others for it.
GraphCache::Place GraphCache::to_update(std::uint64_t alignment) {
  Place found = instances_.end();
  if (failed_updates_ == kFailuresInARow) return found;
  for (Place i = instances_.begin(); i != instances_.end(); ++i) {
    const bool apart = kept_apart_ || i->graph->has_library_nodes();
    if (!i->graph->updatable() || (apart && i->alignment != alignment)) continue;
    if (found == instances_.end() || i->used < found->used) found = i;
  }
  return found;
}

bool GraphCache::updates_pay() const {
  const double steps = steps_cost_.load(std::memory_order_relaxed);
  return update_cost_.n() < kUpdatesToLearn || steps == 0 || update_cost_.ns() <= steps ||
         uses_ % kTryAgain == 0;
}

// Whether a first graph for addresses that are aligned in this way is worth trying: it will be
// updated.
bool GraphCache::none_is_aligned(std::uint64_t alignment) const {
  return failed_updates_ < kFailuresInARow &&
         std::all_of(instances_.begin(), instances_.end(), [&](const Instance& i) {
           return i.alignment != alignment && i.graph->updatable();
         });
}

// Whether calls whose addresses are aligned in this way have come often enough for a graph.
bool GraphCache::often_missed(std::uint64_t alignment) {
  int& misses =
      instances_.empty() ? misses_ : misses_of_alignment_[alignment % misses_of_alignment_.size()];
  return ++misses >= kMissesBeforeGraph;
}

bool GraphCache::make_room() {
  if (instances_.size() < kMostInstances) return true;
  const Place place = oldest();
  if (place->used + kIdle > uses_) return false;
  instances_.erase(place);
  return true;
}

// Whether the words were met lately; notes them.
bool GraphCache::seen(std::uint64_t hash) {
  if (std::find(recent_.begin(), recent_.end(), hash) != recent_.end()) return true;
  recent_[next_recent_++ % recent_.size()] = hash;
  return false;
}

bool GraphCache::record(const Miss& miss, const Launches& launches) {
  Instance fresh{miss.hash, miss.alignment, miss.words, nullptr, {}, fresh_id(), 0};
  std::vector<int> after;
  try {
    fresh.graph = record_([&] { launches(&after); });
  } catch (const std::exception&) {  // no memory for scratch; another thread broke the recording
  }
  if (fresh.graph == nullptr) {
    if (++failed_records_ >= kFailuresInARow) {
      record_again_ = uses_ + pause(failed_records_ - kFailuresInARow);
    }
    return false;
  }
  failed_records_ = 0;
  for (std::size_t k = 0; k < notes_.size(); ++k) {
    const StepNote& note = notes_[k];
    fresh.parts.push_back({note.name, note.loc, note.cost,
                           note.fused_from.empty() ? nullptr : note.fused_from.c_str(),
                           after[k] - (k == 0 ? 0 : after[k - 1])});
  }
  instances_.push_back(std::move(fresh));
  misses_of_alignment_[miss.alignment % misses_of_alignment_.size()] = 0;
  ++use_.recorded;
  return true;
}

GraphCache::Place GraphCache::oldest() {
  return std::min_element(instances_.begin(), instances_.end(),
                          [](const Instance& a, const Instance& b) { return a.used < b.used; });
}

// The graph becomes that of these words and the last in the list, and is launched.
bool GraphCache::update(const Miss& miss, Place place, const Launches& launches, int* failed_step) {
  const Clock::time_point start = Clock::now();
  Instance taken = std::move(*place);
  instances_.erase(place);  // nobody finds it while it is half updated
  bool updated = false;
  try {
    updated = taken.graph->update([&] { launches(nullptr); });
  } catch (const std::exception&) {
  }
  if (!updated) {
    ++failed_updates_;
    kept_apart_ = true;
    return false;
  }
  failed_updates_ = 0;
  ++use_.updates;
  taken.hash = miss.hash;
  taken.alignment = miss.alignment;
  taken.words = miss.words;
  instances_.push_back(std::move(taken));
  launch(instances_.back(), failed_step);
  update_cost_.add(ns_since(start));
  return true;
}

void GraphCache::launch(Instance& instance, int* failed_step) {
  *failed_step = 0;
  instance.used = uses_;
  const GraphLaunch launched{instance.id, instance.parts.data(),
                             static_cast<int>(instance.parts.size())};
  const ScopedEvent event({.kind = EventKind::kernel,
                           .name = "cuda_graph",
                           .loc = notes_[0].loc,
                           .device = device_,
                           .graph = &launched});
  instance.graph->launch();
  ++use_.launches;
}

GraphUse GraphCache::use() const {
  const std::lock_guard lock(mutex_);
  return use_;
}

}  // namespace ingot::compiler
