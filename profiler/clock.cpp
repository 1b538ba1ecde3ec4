#include <mutex>
#include <thread>

#include <fmt/format.h>

#include <ingot/profiler/clock.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace ingot::profiler {
namespace {

constexpr std::int64_t kShortestBaseNs = 2'000'000;

bool counter_is_steady() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  // Leaf 0x80000007, EDX bit 8: invariant TSC (Intel SDM 18.17.1, AMD APM volume 2, 13.4).
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & (1u << 8)) != 0;
#else
  return false;
#endif
}

ClockPoint g_first;

}  // namespace

ClockPoint clock_point() {
  ClockPoint best;
  std::uint64_t shortest = ~std::uint64_t{0};
  for (int i = 0; i < 8; ++i) {
    std::uint64_t before = ticks();
    std::int64_t ns = monotonic_ns();
    std::uint64_t width = ticks() - before;
    if (width >= shortest) continue;
    shortest = width;
    best = {before + width / 2, ns};
  }
  return best;
}

void start_clock() {
  static std::once_flag once;
  std::call_once(once, [] {
    detail::g_use_counter.store(counter_is_steady(), std::memory_order_relaxed);
    g_first = clock_point();
  });
}

TickMap TickMap::calibrate(const ClockPoint& origin) {
  start_clock();
  ClockPoint end = clock_point();
  if (std::int64_t base = end.ns - g_first.ns; base < kShortestBaseNs) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(kShortestBaseNs - base));
    end = clock_point();
  }
  double slope =
      static_cast<double>(end.ns - g_first.ns) / static_cast<double>(end.ticks - g_first.ticks);
  if (!detail::g_use_counter.load(std::memory_order_relaxed)) slope = 1;
  return {origin.ticks, slope};
}

std::string clock_name() {
  start_clock();
  if (!detail::g_use_counter.load(std::memory_order_relaxed)) return "CLOCK_MONOTONIC";
  return fmt::format("time stamp counter, {:.3f} GHz", 1 / TickMap::calibrate({}).ns_per_tick());
}

}  // namespace ingot::profiler
