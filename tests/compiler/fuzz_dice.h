// A small deterministic generator of choices (SplitMix64: Steele, Lea, Flood, 2014).
// Must not know: what is chosen.
#pragma once

#include <cstdint>

namespace ingot::fuzz {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  int below(int n) { return static_cast<int>(next() % static_cast<std::uint64_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  double real() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

// The seed of one thing that belongs to another.
inline std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  return Dice(a * 0x2545f4914f6cdd1d + b).next();
}

}  // namespace ingot::fuzz
