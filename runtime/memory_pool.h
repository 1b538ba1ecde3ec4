// MemoryPool: the cache of one device's blocks, by size class.
// Owns: blocks, their reuse, statistics, the limit. On a GPU it is stream-ordered: a freed block
// may be handed out again at once, since whoever gets it runs behind the work that still uses it.
// Must not know: tensors, where memory comes from.
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include <ingot/runtime/allocator.h>

namespace ingot {

// Where a pool gets its memory from, and gives it back to.
struct MemorySource {
  void* (*take)(Device device, std::size_t bytes, std::size_t alignment);  // nullptr: none left
  void (*give)(Device device, void* block) noexcept;
};

class MemoryPool {
 public:
  MemoryPool(Device device, MemorySource source, bool caches)
      : device_(device), source_(source), caches_(caches) {}

  // Never nullptr: throws OutOfMemoryError, after the cache was given back.
  void* take(std::size_t bytes);
  void give(void* block, std::size_t bytes) noexcept;
  void clear();  // gives the cached blocks back
  MemoryStats stats() const;
  void reset_peak() { peak_.store(allocated_.load()); }
  void set_limit(i64 bytes) { limit_.store(bytes); }

 private:
  // Four steps a power of two, up to 2^48 units.
  static constexpr int kClasses = 4 * 48;

  void* pop(int size_class);
  bool push(int size_class, void* block) noexcept;
  void* from_system(std::size_t bytes, std::size_t block_bytes);
  void notify(void* block, i64 bytes) noexcept;

  const Device device_;
  const MemorySource source_;
  const bool caches_;
  std::mutex mutex_;
  std::vector<void*> free_[kClasses];
  std::atomic<i64> allocated_{0}, peak_{0}, reserved_{0}, requests_{0}, from_system_{0}, limit_{0};
};

}  // namespace ingot
