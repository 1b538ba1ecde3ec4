// Memory for tensors: a caching allocator per device.
// Owns: blocks, their reuse, statistics, the limit and the out-of-memory error. Blocks are 256-byte
// aligned. Must not know: tensors.
#pragma once

#include <cstddef>
#include <string>

#include <ingot/kernels/core/dims.h>
#include <ingot/kernels/core/dtype.h>
#include <ingot/kernels/core/error.h>

namespace ingot {

inline constexpr std::size_t kStorageAlignment = 256;

struct MemoryStats {
  i64 allocated = 0;       // bytes that tensors hold
  i64 peak_allocated = 0;  // the most of it since the start or reset_peak_memory()
  i64 reserved = 0;        // bytes held from the system: allocated plus cached
  i64 requests = 0;        // allocations asked for
  i64 from_system = 0;     // of these, how many the cache could not serve
};

// nullptr for 0 bytes. Throws OutOfMemoryError with request, limit and statistics; blocks that only
// the cache holds, and what hooks for shortages give up, go back to the system first.
void* allocate(std::size_t bytes, Device device);
void deallocate(void* block, std::size_t bytes, Device device) noexcept;

// Called, by the thread that asks, when there is no memory on `device` even after the cache was
// given back: gives up what can be had again, of any thread. The request is then tried once more
// before OutOfMemoryError. Must not allocate there, nor wait for anything that an allocating thread
// may hold. Registered for the life of the process.
using ShortageHook = void (*)(Device device) noexcept;
void on_memory_shortage(ShortageHook hook);

// These throw DeviceError for a GPU that is not there.
MemoryStats memory_stats(Device device = kCPU, Loc loc = Loc::here());
std::string memory_summary(Device device = kCPU, Loc loc = Loc::here());
void reset_peak_memory(Device device = kCPU, Loc loc = Loc::here());
void empty_cache(Device device = kCPU, Loc loc = Loc::here());
// The most bytes that allocate() takes from the system; 0: no limit.
void set_memory_limit(i64 bytes, Device device = kCPU, Loc loc = Loc::here());

// Page-locked host memory. Throws DeviceError without CUDA.
void* allocate_pinned(std::size_t bytes);
void deallocate_pinned(void* block, std::size_t bytes) noexcept;

// Work that this thread has just given, or gives next, to its stream of `device` uses memory at
// this address. Freed memory is not reused before that work is done. As long as the process has but
// the shared stream of each device this costs one load: the order of that stream is enough.
void used_on_stream(const void* at, Device device);
// The same for page-locked memory that allocate_pinned() gave; other addresses are left alone.
void pinned_used_on_stream(const void* at, Device device);

}  // namespace ingot
