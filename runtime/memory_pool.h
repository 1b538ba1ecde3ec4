// MemoryPool: the cache of one device's blocks, by size class. A class that has no free block is
// served from the system until the pool holds an eighth more than was ever in use at once; then
// from larger free blocks, which are split, or the system gets free memory of other sizes back.
// That work is bounded by the requests: sizes that come and go for ever may keep 4 times the peak.
// Owns: blocks, their reuse, statistics, the limit. On a GPU it is stream-ordered: a freed block
// may be handed out again at once to work on the stream that it was taken on, since whoever gets it
// runs behind the work that still uses it. Where other streams used it too, it waits for them.
// Must not know: tensors, where memory comes from.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <ingot/kernels/cuda/device.h>
#include <ingot/runtime/allocator.h>
#include <ingot/runtime/free_blocks.h>

namespace ingot {

// Where a pool gets its memory from, and gives it back to.
struct MemorySource {
  void* (*take)(Device device, std::size_t bytes, std::size_t alignment);  // nullptr: none left
  void (*give)(Device device, void* block) noexcept;
};

// A stream of a device; null: the one that all threads share.
struct StreamOf {
  int device;
  cuda::StreamHandle stream;
  bool operator==(const StreamOf&) const = default;
};

// What orders the use of a pool's memory beside the host's own order.
struct MemoryOrder {
  // Where the calling thread's work goes; whoever takes a block uses it there first. Null: the host
  // itself writes the block as soon as it has it, so every use by a stream must have ended.
  cuda::StreamHandle (*current)(Device device) = nullptr;
  cuda::EventHandle (*mark)(StreamOf stream);  // an event behind all that it was given so far
  bool (*passed)(cuda::EventHandle event);
  void (*await)(cuda::EventHandle event);
  void (*drop)(cuda::EventHandle event) noexcept;
};

// Calls the hooks of on_memory_shortage().
void relieve_shortage(Device device) noexcept;

class MemoryPool {
 public:
  // `order` lives as long as the pool; null: the host's own order is all there is.
  MemoryPool(Device device, MemorySource source, bool caches, const MemoryOrder* order = nullptr)
      : device_(device), source_(source), caches_(caches), order_(order) {}

  // Never nullptr: throws OutOfMemoryError, after the cache was given back and `relieve_shortage`
  // called.
  void* take(std::size_t bytes);
  void give(void* block, std::size_t bytes) noexcept;
  // Work that `stream` was given before now, or is given next, uses a block at this address: once
  // freed, the block is not reused before that work is done.
  void used(const void* at, StreamOf stream);
  void clear();  // gives the cached blocks back
  MemoryStats stats() const;
  void reset_peak() { peak_.store(allocated_.load()); }
  void set_limit(i64 bytes) { limit_.store(bytes); }

 private:
  // Freed, but not done with on some stream.
  struct Deferred {
    void* block;
    int size_class;
    cuda::StreamHandle owner;
    std::vector<cuda::EventHandle> events;
  };

  cuda::StreamHandle current() const;
  void* pop(int size_class);
  void push(int size_class, void* block) noexcept;
  // For a class that has no free block; `bytes` are what was asked for. Never nullptr.
  void* take_other(int size_class, std::size_t bytes);
  // Gives segments back that are free as a whole until `enough` bytes are: those of smaller
  // classes first.
  void give_free_segments(FreeBlocks& free, int size_class, std::size_t enough);
  void give_segment(char* segment, std::size_t bytes) noexcept;
  FreeBlocks& free_of(cuda::StreamHandle owner);
  // The streams that used [block, block + bytes) and that the owner's order does not cover.
  std::vector<StreamOf> take_uses(void* block, std::size_t bytes, cuda::StreamHandle owner);
  void reclaim(bool wait);  // deferred blocks whose streams are done
  void* from_system(std::size_t bytes, std::size_t block_bytes);
  void* try_system(std::size_t block_bytes);  // nullptr: none left, or the limit is reached
  void notify(void* block, i64 bytes) noexcept;

  const Device device_;
  const MemorySource source_;
  const bool caches_;
  const MemoryOrder* const order_;
  std::mutex mutex_;
  FreeBlocks free_;    // of the shared stream
  Segments segments_;  // what came from the system
  i64 work_ = 0;       // spent on requests that no free block of their class served
  std::unordered_map<cuda::StreamHandle, std::unique_ptr<FreeBlocks>> free_of_others_;
  std::unordered_map<void*, cuda::StreamHandle> owners_;  // of blocks taken on other streams
  std::map<const void*, std::vector<StreamOf>> uses_;
  std::vector<Deferred> deferred_;
  std::atomic<i64> allocated_{0}, peak_{0}, reserved_{0}, requests_{0}, from_system_{0}, limit_{0};
};

}  // namespace ingot
