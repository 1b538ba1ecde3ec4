// The words that the parts of the run-time compiler share.
// Owns: the byte buffer, the log callback, the clock for phases.
// Must not know: files, processes, kernels.
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace ingot::jit {

using Bytes = std::vector<unsigned char>;
using ByteView = std::span<const unsigned char>;

// Receives one sentence without a newline. An owner of a log calls it from any thread, one call at
// a time; the callback must not call the owner.
using Log = std::function<void(std::string_view)>;

inline ByteView as_bytes(std::string_view text) {
  return {reinterpret_cast<const unsigned char*>(text.data()), text.size()};
}
inline std::string_view as_text(ByteView bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class Stopwatch {
 public:
  double ms() const {
    return std::chrono::duration<double, std::milli>(Clock::now() - start_).count();
  }
  // Milliseconds since the start or the last lap.
  double lap() {
    const Clock::time_point now = Clock::now();
    const double ms = std::chrono::duration<double, std::milli>(now - start_).count();
    start_ = now;
    return ms;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

}  // namespace ingot::jit
