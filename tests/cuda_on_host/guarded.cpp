#include "cuda_on_host/guarded.h"

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

#include <fmt/format.h>

namespace ingot::emulation {

namespace {

constexpr std::size_t kAlignment = 256;
#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kZone = 0;
#else
constexpr std::size_t kZone = 4096;
#endif
constexpr unsigned char kZoneByte = 0xd7;
// A quiet NaN as f32, f64, f16 and bf16 alike.
constexpr unsigned char kGarbage = 0xff;

}  // namespace

GuardedMemory::GuardedMemory(std::size_t bytes, std::size_t phase) : bytes_(bytes) {
  before_ = kZone + phase;
  after_ = kZone;
  const std::size_t whole = before_ + bytes + after_;
  void* block = nullptr;
  // posix_memalign keeps the size, which aligned_alloc would have to round up.
  if (posix_memalign(&block, kAlignment, whole == 0 ? 1 : whole) != 0) throw std::bad_alloc();
  block_ = static_cast<char*>(block);
  data_ = block_ + before_;
  std::memset(block_, kZoneByte, before_);
  std::memset(data_, kGarbage, bytes_);
  std::memset(data_ + bytes_, kZoneByte, after_);
}

GuardedMemory::GuardedMemory(GuardedMemory&& o) noexcept
    : block_(std::exchange(o.block_, nullptr)),
      data_(o.data_),
      bytes_(o.bytes_),
      before_(o.before_),
      after_(o.after_) {}

GuardedMemory::~GuardedMemory() { std::free(block_); }

std::string GuardedMemory::damage() const {
  const auto whole = [](const char* zone, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      if (static_cast<unsigned char>(zone[i]) != kZoneByte) return i;
    }
    return n;
  };
  if (const std::size_t i = whole(block_, before_); i < before_) {
    return fmt::format("byte {} before the start of {} bytes was written", before_ - i, bytes_);
  }
  if (const std::size_t i = whole(data_ + bytes_, after_); i < after_) {
    return fmt::format("byte {} of {} bytes was written", bytes_ + i, bytes_);
  }
  return "";
}

}  // namespace ingot::emulation
