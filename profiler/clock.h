// The clock of the recorder: raw ticks while recording, nanoseconds once a window is read.
// Owns: ticks(), their calibration against CLOCK_MONOTONIC. The time stamp counter is used where
// the CPU promises that it runs at one rate in all power states; else the system's clock.
// Must not know: events, sessions.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace ingot::profiler {

inline std::int64_t monotonic_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

namespace detail {
// Decided once, before the first window opens.
inline constinit std::atomic<bool> g_use_counter{false};
}  // namespace detail

inline std::uint64_t ticks() {
#if defined(__x86_64__)
  if (detail::g_use_counter.load(std::memory_order_relaxed)) [[likely]]
    return __rdtsc();
#endif
  return static_cast<std::uint64_t>(monotonic_ns());
}

// One instant on both clocks.
struct ClockPoint {
  std::uint64_t ticks = 0;
  std::int64_t ns = 0;
};

// The best of a few readings (some 100 ns each).
ClockPoint clock_point();

// Chooses the clock and takes the first point of the process. Safe to call often.
void start_clock();

// Ticks of one window to nanoseconds since `origin`: a line through the process's first point and
// the end of the window, so that a reading's error (tens of ns) is spread over all of that time.
class TickMap {
 public:
  TickMap() = default;  // ticks are nanoseconds, for clocks of tests
  TickMap(std::uint64_t origin, double ns_per_tick) : origin_(origin), slope_(ns_per_tick) {}
  // Sleeps up to 2 ms when the process's first point is too recent for a good slope.
  static TickMap calibrate(const ClockPoint& origin);

  std::int64_t ns(std::uint64_t tick) const {
    double d = static_cast<double>(static_cast<std::int64_t>(tick - origin_)) * slope_;
    return static_cast<std::int64_t>(d);
  }
  double ns_per_tick() const { return slope_; }

 private:
  std::uint64_t origin_ = 0;
  double slope_ = 1;
};

std::string clock_name();  // "time stamp counter, 2.10 GHz" or "CLOCK_MONOTONIC"

}  // namespace ingot::profiler
