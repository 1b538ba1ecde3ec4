// Memory of the system's own, for blocks of 64 KiB and more that sessions come and go with: once
// freed it is the system's again. malloc would keep such blocks in the heap of the thread that
// asked, one heap for each of many threads. Must not know: what is kept in it.
#pragma once

#include <cstddef>

namespace ingot::profiler {

// Zeros, aligned to `alignment` (a power of two, a page at least). The pages are there when it
// returns: a page fault inside an event can cost 10 us. nullptr without memory.
void* map_pages(std::size_t bytes, std::size_t alignment) noexcept;
void unmap_pages(void* memory, std::size_t bytes) noexcept;

}  // namespace ingot::profiler
