#include <atomic>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <vector>

#include <ingot/kernels/core/check.h>
#include <ingot/runtime/allocator.h>
#include <ingot/runtime/observer.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define INGOT_POOL_BLOCKS 0  // the sanitizer must see each block's own life
#else
#define INGOT_POOL_BLOCKS 1
#endif

namespace ingot {

namespace {

// Size classes: four steps a power of two, so that at most a fifth of a block is unused.
constexpr int kClasses = 4 * 48;

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

class CpuPool {
 public:
  void* take(std::size_t bytes) {
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

  void give(void* block, std::size_t bytes) noexcept {
    int c = size_class(bytes);
    std::size_t block_bytes = class_bytes(c);
    allocated_.fetch_sub(signed_size(block_bytes), std::memory_order_relaxed);
    notify(block, -signed_size(block_bytes));
    if (INGOT_POOL_BLOCKS && push(c, block)) return;
    std::free(block);
    reserved_.fetch_sub(signed_size(block_bytes), std::memory_order_relaxed);
  }

  void clear() {
    std::lock_guard lock(mutex_);
    for (int c = 0; c < kClasses; ++c) {
      for (void* block : free_[c]) std::free(block);
      reserved_.fetch_sub(signed_size(free_[c].size() * class_bytes(c)));
      free_[c].clear();
    }
  }

  MemoryStats stats() const {
    return {allocated_.load(), peak_.load(), reserved_.load(), requests_.load(),
            from_system_.load()};
  }
  void reset_peak() { peak_.store(allocated_.load()); }
  void set_limit(i64 bytes) { limit_.store(bytes); }

 private:
  static i64 signed_size(std::size_t bytes) { return static_cast<i64>(bytes); }

  void* pop(int c) {
    std::lock_guard lock(mutex_);
    if (free_[c].empty()) return nullptr;
    void* block = free_[c].back();
    free_[c].pop_back();
    return block;
  }

  bool push(int c, void* block) noexcept {
    std::lock_guard lock(mutex_);
    try {
      free_[c].push_back(block);
    } catch (...) {
      return false;
    }
    return true;
  }

  void* from_system(std::size_t bytes, std::size_t block_bytes) {
    from_system_.fetch_add(1, std::memory_order_relaxed);
    for (int attempt = 0; attempt < 2; ++attempt) {
      i64 limit = limit_.load();
      if (limit == 0 || reserved_.load() + signed_size(block_bytes) <= limit) {
        // Large blocks start on a page, so that one of them never shares a page with another.
        std::size_t align = block_bytes >= (1u << 20) ? 4096 : kStorageAlignment;
        std::size_t rounded = (block_bytes + align - 1) / align * align;
        if (void* block = std::aligned_alloc(align, rounded)) {
          reserved_.fetch_add(signed_size(block_bytes));
          return block;
        }
      }
      if (attempt == 0) clear();
    }
    detail::fail<OutOfMemoryError>("out of memory on cpu: {} bytes asked for; {}", bytes,
                                   memory_summary());
  }

  void notify(void* block, i64 bytes) noexcept {
    if (Observer* o = observer()) [[unlikely]] {
      o->memory({kCPU, block, bytes, allocated_.load(), reserved_.load()});
    }
  }

  std::mutex mutex_;
  std::vector<void*> free_[kClasses];
  std::atomic<i64> allocated_{0}, peak_{0}, reserved_{0}, requests_{0}, from_system_{0}, limit_{0};
};

// Never destroyed: tensors in static storage may outlive any order of destruction.
CpuPool& cpu_pool() {
  static CpuPool* pool = new CpuPool;
  return *pool;
}

void check_device(Device device) {
  INGOT_CHECK_AS(DeviceError, device.is_cpu(), "{}: this build has no CUDA support", device.str());
}

}  // namespace

void* allocate(std::size_t bytes, Device device) {
  check_device(device);
  return bytes == 0 ? nullptr : cpu_pool().take(bytes);
}

void deallocate(void* block, std::size_t bytes, Device) noexcept {
  if (block != nullptr) cpu_pool().give(block, bytes);
}

MemoryStats memory_stats(Device device) {
  check_device(device);
  return cpu_pool().stats();
}

std::string memory_summary(Device device) {
  MemoryStats s = memory_stats(device);
  return fmt::format(
      "{}: {} bytes in tensors (peak {}), {} held from the system, {} requests of "
      "which {} reached the system",
      device.str(), s.allocated, s.peak_allocated, s.reserved, s.requests, s.from_system);
}

void reset_peak_memory(Device device) {
  check_device(device);
  cpu_pool().reset_peak();
}

void empty_cache(Device device) {
  check_device(device);
  cpu_pool().clear();
}

void set_memory_limit(i64 bytes, Device device) {
  check_device(device);
  cpu_pool().set_limit(bytes);
}

}  // namespace ingot
