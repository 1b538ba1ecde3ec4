#include <algorithm>
#include <atomic>

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

void GraphCache::run(const std::vector<std::uint64_t>& words, const Launches& launches,
                     int* failed_step) {
  if (!run_graph(words, launches, failed_step)) launches(nullptr);
}

// False: nothing was launched.
bool GraphCache::run_graph(const std::vector<std::uint64_t>& words, const Launches& launches,
                           int* failed_step) {
  // A second thread in the same plan launches its steps rather than wait.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  const Inside inside(this);
  if (++uses_ < paused_until_) return false;
  const bool may_record = uses_ >= record_again_;
  if (instances_.empty() && !may_record) return false;
  const std::uint64_t hash = hash_of(words);
  const auto launch_it = [&](Instance& i) {
    launch(i, failed_step);
    return true;
  };
  for (Instance& i : instances_) {
    if (i.hash == hash && i.words == words) return launch_it(i);
  }
  const bool repeats = seen(hash);
  const bool first = instances_.empty() && ++misses_ >= kMissesBeforeGraph;
  const bool room = instances_.size() < kMostInstances;
  if (room && (repeats || first)) {
    if (may_record && record(hash, words, launches)) return launch_it(instances_.back());
  } else if (may_update()) {
    if (update(hash, words, launches)) return launch_it(instances_.back());
  }
  return false;
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
  ++use_.recorded;
  return true;
}

std::vector<GraphCache::Instance>::iterator GraphCache::oldest() {
  return std::min_element(instances_.begin(), instances_.end(),
                          [](const Instance& a, const Instance& b) { return a.used < b.used; });
}

bool GraphCache::may_update() const {
  if (instances_.empty() || failed_updates_ == kFailuresInARow) return false;
  return instances_.front().graph->only_ours() || notes_.size() >= kWorthRecordingAgain;
}

// The instance that was used longest ago becomes that of these words, and the last in the list.
bool GraphCache::update(std::uint64_t hash, const std::vector<std::uint64_t>& words,
                        const Launches& launches) {
  const auto place = oldest();
  Instance taken = std::move(*place);
  instances_.erase(place);  // nobody finds it while it is half updated
  bool updated = false;
  try {
    updated = taken.graph->update([&] { launches(nullptr); });
  } catch (const std::exception&) {
  }
  if (!updated) {
    ++failed_updates_;
    return false;
  }
  failed_updates_ = 0;
  ++use_.updates;
  taken.hash = hash;
  taken.words = words;
  instances_.push_back(std::move(taken));
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
