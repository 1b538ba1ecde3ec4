// The spans that one thread has open, one inside the other. Owns: how deep it is. The ends of
// events that were open while a window changed never come: what is left of an older window is
// forgotten at the first span of a newer one. Must not know: what a span is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ingot::profiler {

template <class Span>
class OpenSpans {
 public:
  static constexpr std::size_t kDeepest = 8;

  // nullptr: one that is not measured. Those deeper than kDeepest are not. `window` is not 0.
  void push(std::uint64_t window, Span* span) {
    if (window != window_) {
      window_ = window;
      depth_ = 0;
    }
    if (depth_ < kDeepest) spans_[depth_] = span;
    ++depth_;
  }
  bool has_room(std::uint64_t window) const { return window != window_ || depth_ < kDeepest; }
  // The innermost one of this window; nullptr: none, or not measured.
  Span* pop(std::uint64_t window) {
    if (window != window_ || depth_ == 0) return nullptr;
    --depth_;
    return depth_ < kDeepest ? spans_[depth_] : nullptr;
  }

 private:
  std::array<Span*, kDeepest> spans_{};
  std::size_t depth_ = 0;
  std::uint64_t window_ = 0;
};

}  // namespace ingot::profiler
