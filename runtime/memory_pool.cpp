#include <algorithm>
#include <bit>

#include <ingot/kernels/core/check.h>
#include <ingot/runtime/memory_pool.h>
#include <ingot/runtime/observer.h>

namespace ingot {

namespace {

// Size classes: four steps a power of two, so that at most a fifth of a block is unused.
int size_class(std::size_t bytes) {
  std::size_t units = (bytes + kStorageAlignment - 1) / kStorageAlignment;
  if (units <= 4) return static_cast<int>(units) - 1;
  int power = std::bit_width(units - 1) - 1;  // 2^power < units <= 2^(power + 1)
  std::size_t step = std::size_t{1} << (power - 2);
  return power * 4 - 4 + static_cast<int>((units - 1 - (std::size_t{1} << power)) / step);
}

std::size_t class_bytes(int c) {
  if (c < 4) return static_cast<std::size_t>(c + 1) * kStorageAlignment;
  int power = (c + 4) / 4;
  std::size_t step = std::size_t{1} << (power - 2);
  std::size_t quarter = static_cast<std::size_t>((c + 4) % 4 + 1);
  return ((std::size_t{1} << power) + quarter * step) * kStorageAlignment;
}

i64 signed_size(std::size_t bytes) { return static_cast<i64>(bytes); }

}  // namespace

void* MemoryPool::take(std::size_t bytes) {
  int c = size_class(bytes);
  std::size_t block_bytes = class_bytes(c);
  requests_.fetch_add(1, std::memory_order_relaxed);
  void* block = pop(c);
  if (block == nullptr) block = from_system(bytes, block_bytes);
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
  if (caches_ && push(c, block)) return;
  source_.give(device_, block);
  reserved_.fetch_sub(signed_size(block_bytes), std::memory_order_relaxed);
}

void MemoryPool::used(const void* at, StreamOf stream) {
  std::lock_guard lock(mutex_);
  std::vector<StreamOf>& streams = uses_[at];
  if (std::find(streams.begin(), streams.end(), stream) == streams.end()) streams.push_back(stream);
}

void MemoryPool::clear() {
  std::lock_guard lock(mutex_);
  reclaim(true);
  const auto give_back = [&](FreeBlocks& free) {
    for (int c = 0; c < kClasses; ++c) {
      for (void* block : free.of[c]) source_.give(device_, block);
      reserved_.fetch_sub(signed_size(free.of[c].size() * class_bytes(c)));
      free.of[c].clear();
    }
  };
  give_back(free_);
  for (auto& [stream, free] : free_of_others_) give_back(*free);
}

MemoryStats MemoryPool::stats() const {
  return {allocated_.load(), peak_.load(), reserved_.load(), requests_.load(), from_system_.load()};
}

cuda::StreamHandle MemoryPool::current() const {
  return order_ == nullptr || order_->current == nullptr ? nullptr : order_->current(device_);
}

MemoryPool::FreeBlocks& MemoryPool::free_of(cuda::StreamHandle owner) {
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
  std::vector<void*>& free = free_of(owner).of[c];
  if (free.empty()) return nullptr;
  void* block = free.back();
  if (owner != nullptr) owners_[block] = owner;
  free.pop_back();
  return block;
}

bool MemoryPool::push(int c, void* block) noexcept {
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
        return true;
      }
    }
    free_of(owner).of[c].push_back(block);
  } catch (...) {
    return false;
  }
  return true;
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
    free_of(d.owner).of[d.size_class].push_back(d.block);
    return true;
  };
  deferred_.erase(std::remove_if(deferred_.begin(), deferred_.end(), passed), deferred_.end());
}

void* MemoryPool::try_system(std::size_t block_bytes) {
  const i64 limit = limit_.load();
  if (limit != 0 && reserved_.load() + signed_size(block_bytes) > limit) return nullptr;
  // Large blocks start on a page, so that one of them never shares a page with another.
  const std::size_t align = block_bytes >= (1u << 20) ? 4096 : kStorageAlignment;
  const std::size_t rounded = (block_bytes + align - 1) / align * align;
  void* block = source_.take(device_, rounded, align);
  if (block == nullptr) return nullptr;
  reserved_.fetch_add(signed_size(block_bytes));
  if (const cuda::StreamHandle owner = current(); owner != nullptr) {
    std::lock_guard lock(mutex_);
    owners_[block] = owner;
  }
  return block;
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
