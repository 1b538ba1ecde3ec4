// Scratch: short-lived memory of the calling thread, kept between kernels.
// Owns: one stack of buffers per thread that grow to what was asked of them. Buffers are released
// in the reverse order of their creation, on the thread that made them. Must not know: kernels.
#pragma once

#include <ingot/kernels/core/dims.h>

namespace ingot {

class Scratch {
 public:
  // At least `bytes` bytes, 64-byte aligned, not initialised. Throws OutOfMemoryError.
  explicit Scratch(i64 bytes);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  char* data() const { return data_; }

 private:
  char* data_;
};

}  // namespace ingot
