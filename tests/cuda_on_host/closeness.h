// How close a CUDA kernel's results must be to the CPU's: to the bit where both compute each
// element alone, else within the roundings of sums whose trees differ.
// Owns: that choice, and the comparison of results. Must not know: how either was computed.
#pragma once

#include <string>
#include <vector>

#include <ingot/kernels/kernel_table.h>

namespace ingot::emulation {

class Closeness {
 public:
  // `args` of the CPU's call: its operands before it, its results after it.
  explicit Closeness(const KernelArgs& args);

  // Empty, or the first element of result `k` at `data` (of the same meta) that is too far from the
  // CPU's. Elements that pass are then overwritten with the CPU's, so that what remains different
  // was written outside of the result.
  std::string compare_and_level(int k, void* data) const;
  // The largest difference so far, as a part of what is allowed.
  double used() const { return used_; }

 private:
  double bound(int k, double value) const;

  const KernelArgs& args_;
  bool exact_ = true;
  double last_places_ = 0;  // elementwise ops at the base level
  double relative_ = 0;     // error per value, in units of the compute type's last place
  double magnitude_ = 0;    // of what was added up, in the same unit
  mutable double used_ = 0;
  double largest_[kMaxOutputs] = {};
};

}  // namespace ingot::emulation
