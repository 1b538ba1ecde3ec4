#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <ingot/profiler/pages.h>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace ingot::profiler {
namespace {

#ifdef __linux__
constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

void fill(void* memory, std::size_t bytes) {
#ifdef MADV_POPULATE_WRITE
  // Failures cost time later, nothing else.
  if (bytes >= kHugePageBytes) madvise(memory, bytes, MADV_HUGEPAGE);
  if (madvise(memory, bytes, MADV_POPULATE_WRITE) == 0) return;
#endif
  std::memset(memory, 0, bytes);
}
#endif

}  // namespace

#ifdef __linux__
void* map_pages(std::size_t bytes, std::size_t alignment) noexcept {
  const std::size_t room = bytes + alignment;
  void* memory = ::mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(memory);
  const std::size_t past = reinterpret_cast<std::uintptr_t>(begin) % alignment;
  const std::size_t before = past == 0 ? 0 : alignment - past;
  if (before > 0) ::munmap(begin, before);
  ::munmap(begin + before + bytes, room - before - bytes);
  fill(begin + before, bytes);
  return begin + before;
}

void unmap_pages(void* memory, std::size_t bytes) noexcept {
  if (memory != nullptr) ::munmap(memory, bytes);
}
#else
void* map_pages(std::size_t bytes, std::size_t alignment) noexcept {
  void* memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory != nullptr) std::memset(memory, 0, bytes);
  return memory;
}

void unmap_pages(void* memory, std::size_t) noexcept { std::free(memory); }
#endif

}  // namespace ingot::profiler
