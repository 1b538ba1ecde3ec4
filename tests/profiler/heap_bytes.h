// What operator new has given out in this program.
// Owns: the count and its peak, and what the process holds. recorder_test.cpp has the operators.
#pragma once

#include <atomic>
#include <cstddef>
#include <fstream>
#include <string>
#include <unistd.h>

namespace ingot::profiler {

struct HeapBytes {
  std::atomic<std::ptrdiff_t> now{0}, peak{0};

  void add(std::ptrdiff_t bytes) {
    const std::ptrdiff_t after = now.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    std::ptrdiff_t most = peak.load(std::memory_order_relaxed);
    while (most < after && !peak.compare_exchange_weak(most, after, std::memory_order_relaxed)) {
    }
  }
  // The most that f has at one time beyond what was there.
  template <class F>
  std::size_t extra(F&& f) {
    const std::ptrdiff_t before = now.load();
    peak = before;
    f();
    return static_cast<std::size_t>(peak.load() - before);
  }
};
extern HeapBytes g_heap;

// Of the process. Sanitizers keep memory of their own: there it says nothing.
inline std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kUnderSanitizer = true;
#else
inline constexpr bool kUnderSanitizer = false;
#endif

}  // namespace ingot::profiler
