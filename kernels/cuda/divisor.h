#pragma once
// Owns FastDivisor, division by launch-time constants. Freestanding: this text is also part of
// generated source.
#include <ingot/kernels/ops/isa.h>

namespace ingot {
inline namespace INGOT_ISA {

// n / d for a d known at the launch, n < 2^31, by a multiplication (Granlund and Montgomery,
// "Division by invariant integers using multiplication", PLDI 1994, with 2^32 <= m < 2^33 cut to 32
// bits and the lost bit added again).
class FastDivisor {
 public:
  FastDivisor() = default;
  explicit FastDivisor(unsigned d) : d_(d) {
    while ((1ull << shift_) < d) ++shift_;
    magic_ = static_cast<unsigned>((1ull << 32) * ((1ull << shift_) - d) / d + 1);
  }
  INGOT_INLINE unsigned quotient(unsigned n) const {
    const auto high = static_cast<unsigned>(static_cast<unsigned long long>(n) * magic_ >> 32);
    return (high + n) >> shift_;
  }
  INGOT_INLINE unsigned value() const { return d_; }

 private:
  unsigned d_ = 1, magic_ = 1, shift_ = 0;
};

}  // namespace INGOT_ISA
}  // namespace ingot
