#include <algorithm>

#include <ingot/kernels/core/check.h>
#include <ingot/runtime/memory_pool.h>
#include <ingot/runtime/observer.h>

namespace ingot {

namespace {

// Reserved memory stays below peak * kReservedNumerator / kReservedDenominator while blocks of
// other sizes can be had: blocks are rounded up by a quarter at most, which leaves this for 1.5
// times what was live.
constexpr i64 kReservedNumerator = 9, kReservedDenominator = 8;

// Joining free blocks and giving memory back is paid for by requests, so that a program whose sizes
// come and go pays a bounded part of each request; it may then hold up to this many times its peak.
constexpr i64 kReservedByCost = 4;
constexpr i64 kWorkAtStart = 1 << 16, kWorkOfRequest = 1;
constexpr i64 kWorkOfSystem = 64;  // giving a block back or taking one, in blocks looked at

i64 signed_size(std::size_t bytes) { return static_cast<i64>(bytes); }

}  // namespace

void* MemoryPool::take(std::size_t bytes) {
  int c = size_class(bytes);
  std::size_t block_bytes = class_bytes(c);
  requests_.fetch_add(1, std::memory_order_relaxed);
  void* block = pop(c);
  if (block == nullptr) block = take_other(c, bytes);
  i64 now = allocated_.fetch_add(signed_size(block_bytes), std::memory_order_relaxed) +
            signed_size(block_bytes);
  i64 peak = peak_.load(std::memory_order_relaxed);
  while (now > peak && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
  notify(block, signed_size(block_bytes));
  return block;
}

void MemoryPool::give(void* block, std::size_t bytes) noexcept {
  int c = size_class(bytes);
  std::size_t block_bytes = class_bytes(c);
  allocated_.fetch_sub(signed_size(block_bytes), std::memory_order_relaxed);
  notify(block, -signed_size(block_bytes));
  if (caches_) {
    push(c, block);
    return;
  }
  const std::lock_guard lock(mutex_);
  give_segment(static_cast<char*>(block), block_bytes);
}

void MemoryPool::used(const void* at, StreamOf stream) {
  std::lock_guard lock(mutex_);
  std::vector<StreamOf>& streams = uses_[at];
  if (std::find(streams.begin(), streams.end(), stream) == streams.end()) streams.push_back(stream);
}

void MemoryPool::clear() {
  std::lock_guard lock(mutex_);
  reclaim(true);
  constexpr std::size_t kAll = ~std::size_t{0};
  give_free_segments(free_, 0, kAll);
  for (auto& [stream, free] : free_of_others_) give_free_segments(*free, 0, kAll);
}

void MemoryPool::give_free_segments(FreeBlocks& free, int c, std::size_t enough) {
  for (const auto& [segment, bytes] : free.take_segments(segments_, c, enough)) {
    give_segment(segment, bytes);
  }
}

void MemoryPool::give_segment(char* segment, std::size_t bytes) noexcept {
  segments_.erase(segment);
  source_.give(device_, segment);
  reserved_.fetch_sub(signed_size(bytes), std::memory_order_relaxed);
  work_ += kWorkOfSystem;
}

MemoryStats MemoryPool::stats() const {
  return {allocated_.load(), peak_.load(), reserved_.load(), requests_.load(), from_system_.load()};
}

cuda::StreamHandle MemoryPool::current() const {
  return order_ == nullptr || order_->current == nullptr ? nullptr : order_->current(device_);
}

FreeBlocks& MemoryPool::free_of(cuda::StreamHandle owner) {
  if (owner == nullptr) [[likely]]
    return free_;
  std::unique_ptr<FreeBlocks>& free = free_of_others_[owner];
  if (free == nullptr) free = std::make_unique<FreeBlocks>();
  return *free;
}

void* MemoryPool::pop(int c) {
  const cuda::StreamHandle owner = current();
  std::lock_guard lock(mutex_);
  if (!deferred_.empty()) [[unlikely]]
    reclaim(false);
  void* block = free_of(owner).take(c);
  if (block != nullptr && owner != nullptr) owners_[block] = owner;
  return block;
}

void* MemoryPool::take_other(int c, std::size_t bytes) {
  const i64 needed = signed_size(class_bytes(c));
  const cuda::StreamHandle owner = current();
  {
    const std::lock_guard lock(mutex_);
    const i64 after = allocated_.load() + needed, peak = std::max(peak_.load(), after);
    const bool can_pay = work_ < kWorkAtStart + kWorkOfRequest * requests_.load();
    const i64 budget =
        can_pay ? peak / kReservedDenominator * kReservedNumerator : peak * kReservedByCost;
    // What other streams keep is theirs.
    FreeBlocks& free = free_of(owner);
    if (const i64 excess = after + signed_size(free.bytes()) - budget; excess > 0) {
      void* block = free.cut(c, segments_);
      if (block == nullptr) {
        work_ += signed_size(free.join(segments_));
        block = free.take(c);
        if (block == nullptr) block = free.cut(c, segments_);
      }
      if (block != nullptr) {
        if (owner != nullptr) owners_[block] = owner;
        return block;
      }
      give_free_segments(free, c, static_cast<std::size_t>(excess));
    }
    work_ += kWorkOfSystem;
  }
  return from_system(bytes, class_bytes(c));
}

void MemoryPool::push(int c, void* block) noexcept {
  std::lock_guard lock(mutex_);
  try {
    cuda::StreamHandle owner = nullptr;
    if (!owners_.empty()) {
      if (const auto at = owners_.find(block); at != owners_.end()) {
        owner = at->second;
        owners_.erase(at);
      }
    }
    if (!uses_.empty()) {
      Deferred deferred{block, c, owner, {}};
      for (const StreamOf& stream : take_uses(block, class_bytes(c), owner)) {
        deferred.events.push_back(order_->mark(stream));
      }
      if (!deferred.events.empty()) {
        deferred_.push_back(std::move(deferred));
        return;
      }
    }
    free_of(owner).put(c, block);
  } catch (...) {
    // No memory for the entry, or CUDA is shutting down: a whole segment goes back, a part of one
    // is out of use until the process ends.
    const auto segment = segments_.find(static_cast<char*>(block));
    if (segment != segments_.end() && segment->second == class_bytes(c)) {
      give_segment(segment->first, segment->second);
    }
  }
}

std::vector<StreamOf> MemoryPool::take_uses(void* block, std::size_t bytes,
                                            cuda::StreamHandle owner) {
  const bool host_owns = order_->current == nullptr;
  const StreamOf covered{device_.index(), owner};
  std::vector<StreamOf> streams;
  const auto begin = uses_.lower_bound(block);
  auto end = begin;
  for (; end != uses_.end() && end->first < static_cast<char*>(block) + bytes; ++end) {
    for (const StreamOf& s : end->second) {
      if (!host_owns && s == covered) continue;
      if (std::find(streams.begin(), streams.end(), s) == streams.end()) streams.push_back(s);
    }
  }
  uses_.erase(begin, end);
  return streams;
}

void MemoryPool::reclaim(bool wait) {
  const auto passed = [&](Deferred& d) {
    while (!d.events.empty()) {
      if (wait) {
        order_->await(d.events.back());
      } else if (!order_->passed(d.events.back())) {
        return false;
      }
      order_->drop(d.events.back());
      d.events.pop_back();
    }
    free_of(d.owner).put(d.size_class, d.block);
    return true;
  };
  deferred_.erase(std::remove_if(deferred_.begin(), deferred_.end(), passed), deferred_.end());
}

void* MemoryPool::try_system(std::size_t block_bytes) {
  const i64 limit = limit_.load(), size = signed_size(block_bytes);
  // Counted before it is there, so that threads that ask at once see each other.
  if (const i64 reserved = reserved_.fetch_add(size) + size; limit == 0 || reserved <= limit) {
    const std::size_t align = block_alignment(block_bytes);
    if (void* block = source_.take(device_, block_bytes, align)) {
      const cuda::StreamHandle owner = current();
      const std::lock_guard lock(mutex_);
      segments_.emplace(static_cast<char*>(block), block_bytes);
      if (owner != nullptr) owners_[block] = owner;
      return block;
    }
  }
  reserved_.fetch_sub(size);
  return nullptr;
}

void* MemoryPool::from_system(std::size_t bytes, std::size_t block_bytes) {
  from_system_.fetch_add(1, std::memory_order_relaxed);
  if (void* block = try_system(block_bytes)) return block;
  clear();
  if (void* block = try_system(block_bytes)) return block;
  relieve_shortage(device_);
  clear();
  if (void* block = try_system(block_bytes)) return block;
  detail::fail<OutOfMemoryError>("out of memory on {}: {} bytes asked for; {}", device_.str(),
                                 bytes, memory_summary(device_));
}

void MemoryPool::notify(void* block, i64 bytes) noexcept {
  if (Observer* o = observer()) [[unlikely]] {
    o->memory({device_, block, bytes, allocated_.load(), reserved_.load()});
  }
}

}  // namespace ingot
