#include <array>
#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

#include <ingot/kernels/core/check_at.h>
#include <ingot/kernels/cuda/device.h>
#include <ingot/kernels/cuda/scratch.h>
#include <ingot/kernels/cuda/stream.h>
#include <ingot/runtime/check_cuda.h>
#include <ingot/runtime/memory_pool.h>

namespace ingot {

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kCacheHost = false;  // the sanitizer must see each block's own life
#else
constexpr bool kCacheHost = true;
#endif

void* take_host(Device, std::size_t bytes, std::size_t alignment) {
  return std::aligned_alloc(alignment, bytes);
}
void give_host(Device, void* block) noexcept { std::free(block); }

void* take_device(Device device, std::size_t bytes, std::size_t) {
  const cuda::DeviceGuard guard(device);
  return cuda::allocate_raw(bytes);
}
void give_device(Device device, void* block) noexcept {
  try {
    const cuda::DeviceGuard guard(device);
    cuda::free_raw(block);
  } catch (const Error&) {  // the CUDA runtime is shutting down and has freed it
  }
}

cuda::StreamHandle current_stream_of(Device device) {
  return cuda::streams_in_use() ? cuda::thread_stream(device.index()) : nullptr;
}

// An event behind what a stream was given. For the shared stream of a device, the one that the
// device has without a guard.
cuda::EventHandle mark_stream(StreamOf of) {
  const cuda::DeviceGuard guard(of.device);
  const cuda::EventHandle event = cuda::make_event(false);
  try {
    cuda::record_event(event, of.stream == nullptr ? cuda::shared_stream() : of.stream);
  } catch (...) {
    cuda::free_event(event);
    throw;
  }
  return event;
}

constexpr MemoryOrder kDeviceOrder = {current_stream_of, mark_stream, cuda::event_done,
                                      cuda::wait_for_event, cuda::free_event};
constexpr MemoryOrder kPinnedOrder = {nullptr, mark_stream, cuda::event_done, cuda::wait_for_event,
                                      cuda::free_event};

void* take_pinned(Device, std::size_t bytes, std::size_t) { return cuda::allocate_pinned(bytes); }
void give_pinned(Device, void* block) noexcept { cuda::free_pinned(block); }

// Scratch memory of kernels comes from the pool of the device they run on.
void* take_scratch(std::size_t bytes) {
  return allocate(bytes, Device(kCUDA, cuda::current_device()));
}
void give_scratch(void* block, std::size_t bytes, int device) noexcept {
  deallocate(block, bytes, Device(kCUDA, device));
}

// Pools are never destroyed: tensors in static storage may outlive any order of destruction.
MemoryPool& host_pool() {
  static auto* pool = new MemoryPool(kCPU, {take_host, give_host}, kCacheHost);
  return *pool;
}

MemoryPool& device_pool(Device device) {
  static const auto* pools = [] {
    auto* all = new std::array<MemoryPool*, cuda::kMaxDevices>{};
    for (int i = 0; i < cuda::device_count(); ++i) {
      (*all)[static_cast<std::size_t>(i)] =
          new MemoryPool(Device(kCUDA, i), {take_device, give_device}, true, &kDeviceOrder);
    }
    set_scratch_provider({take_scratch, give_scratch});
    return all;
  }();
  INGOT_CHECK_AS(DeviceError, cuda::is_available(), "{}: {}", device.str(),
                 cuda::unavailable_reason());
  INGOT_CHECK_AS(DeviceError, device.index() >= 0 && device.index() < cuda::device_count(),
                 "{}: there are {} CUDA devices", device.str(), cuda::device_count());
  return *(*pools)[static_cast<std::size_t>(device.index())];
}

MemoryPool& pinned_pool() {
  static auto* pool = new MemoryPool(kCPU, {take_pinned, give_pinned}, true, &kPinnedOrder);
  return *pool;
}

// Blocks of the pinned pool that tensors hold.
struct PinnedBlocks {
  std::mutex mutex;
  std::map<const void*, std::size_t> bytes;
};
PinnedBlocks& pinned_blocks() {
  static auto* blocks = new PinnedBlocks;
  return *blocks;
}

struct ShortageHooks {
  std::mutex mutex;
  std::vector<ShortageHook> hooks;
};
ShortageHooks& shortage_hooks() {
  static auto* hooks = new ShortageHooks;
  return *hooks;
}

MemoryPool& pool_of(Device device) { return device.is_cpu() ? host_pool() : device_pool(device); }

// For the caller of the public function `op`.
MemoryPool& pool_for(const char* op, Device device, Loc loc) {
  if (device.is_cuda()) check_cuda(op, device, loc);
  return pool_of(device);
}

}  // namespace

void on_memory_shortage(ShortageHook hook) {
  ShortageHooks& all = shortage_hooks();
  const std::lock_guard lock(all.mutex);
  all.hooks.push_back(hook);
}

void relieve_shortage(Device device) noexcept {
  ShortageHooks& all = shortage_hooks();
  const std::lock_guard lock(all.mutex);
  for (const ShortageHook hook : all.hooks) hook(device);
}

void* allocate(std::size_t bytes, Device device) {
  MemoryPool& pool = pool_of(device);
  return bytes == 0 ? nullptr : pool.take(bytes);
}

void deallocate(void* block, std::size_t bytes, Device device) noexcept {
  if (block == nullptr || (device.is_cuda() && ScratchHold::keep(block, bytes, device.index())))
    return;
  pool_of(device).give(block, bytes);
}

void* allocate_pinned(std::size_t bytes) {
  INGOT_CHECK_AS(DeviceError, cuda::is_available(), "pin_memory: {}", cuda::unavailable_reason());
  if (bytes == 0) return nullptr;
  void* block = pinned_pool().take(bytes);
  PinnedBlocks& blocks = pinned_blocks();
  const std::lock_guard lock(blocks.mutex);
  blocks.bytes[block] = bytes;
  return block;
}

void deallocate_pinned(void* block, std::size_t bytes) noexcept {
  if (block == nullptr) return;
  {
    PinnedBlocks& blocks = pinned_blocks();
    const std::lock_guard lock(blocks.mutex);
    blocks.bytes.erase(block);
  }
  pinned_pool().give(block, bytes);
}

void used_on_stream(const void* at, Device device) {
  if (!cuda::streams_in_use() || at == nullptr || device.is_cpu()) [[likely]]
    return;
  pool_of(device).used(at, {device.index(), cuda::thread_stream(device.index())});
}

void pinned_used_on_stream(const void* at, Device device) {
  PinnedBlocks& blocks = pinned_blocks();
  {
    const std::lock_guard lock(blocks.mutex);
    auto block = blocks.bytes.upper_bound(at);
    if (block == blocks.bytes.begin()) return;
    --block;
    if (at >= static_cast<const char*>(block->first) + block->second) return;
  }
  pinned_pool().used(at, {device.index(), cuda::thread_stream(device.index())});
}

MemoryStats memory_stats(Device device, Loc loc) {
  return pool_for("memory_stats", device, loc).stats();
}

std::string memory_summary(Device device, Loc loc) {
  const MemoryStats s = pool_for("memory_summary", device, loc).stats();
  return fmt::format(
      "{}: {} bytes in tensors (peak {}), {} held from the system, {} requests of "
      "which {} reached the system",
      device.str(), s.allocated, s.peak_allocated, s.reserved, s.requests, s.from_system);
}

void reset_peak_memory(Device device, Loc loc) {
  pool_for("reset_peak_memory", device, loc).reset_peak();
}

void empty_cache(Device device, Loc loc) { pool_for("empty_cache", device, loc).clear(); }

void set_memory_limit(i64 bytes, Device device, Loc loc) {
  INGOT_CHECK_AT("set_memory_limit", loc, bytes >= 0, "{} bytes are negative; 0 is no limit",
                 bytes);
  pool_for("set_memory_limit", device, loc).set_limit(bytes);
}

}  // namespace ingot
