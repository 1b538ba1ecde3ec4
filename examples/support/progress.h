// How far a long loop has come.
// Owns: a bar that redraws itself on a terminal, and one plain line per finished part elsewhere.
// Must not know: what is being done.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <unistd.h>

namespace examples {

class Progress {
 public:
  Progress(std::string label, std::int64_t total)
      : label_(std::move(label)), total_(total), terminal_(isatty(STDOUT_FILENO) == 1) {}

  // `note` is made only when the bar is redrawn, at most ten times a second.
  template <class Note>
  void update(std::int64_t done, const Note& note) {
    const auto now = std::chrono::steady_clock::now();
    if (!terminal_ || now < next_) return;
    next_ = now + std::chrono::milliseconds(100);
    constexpr std::int64_t kWidth = 30;
    const auto filled = static_cast<std::size_t>(total_ > 0 ? kWidth * done / total_ : kWidth);
    const std::string bar = std::string(filled, '#') + std::string(kWidth - filled, '.');
    std::printf("\r\x1b[K%s [%s] %3d%% %s", label_.c_str(), bar.c_str(),
                static_cast<int>(total_ > 0 ? 100 * done / total_ : 100),
                std::string(note()).c_str());
    std::fflush(stdout);
  }

  // Replaces the bar by a line that stays.
  void finish(const std::string& result) {
    std::printf("%s%s %s\n", terminal_ ? "\r\x1b[K" : "", label_.c_str(), result.c_str());
    std::fflush(stdout);
  }

 private:
  std::string label_;
  std::int64_t total_;
  bool terminal_;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace examples
