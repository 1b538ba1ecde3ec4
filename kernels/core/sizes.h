// check_sizes: whether a caller's sizes can be those of a tensor.
// Owns: the sentences. Internal, since it pulls in fmt. Must not know: tensors, memory.
#pragma once

#include <algorithm>

#include <ingot/kernels/core/check.h>
#include <ingot/kernels/core/dims.h>

namespace ingot {

// No size is negative, and neither the elements nor the strides overflow.
inline void check_sizes(const char* op, const Dims& sizes) {
  i64 reach = 1;
  bool fits = true;
  for (i64 d : sizes) {
    INGOT_CHECK(d >= 0, "{}: negative size in {}", op, to_string(sizes));
    fits = !__builtin_mul_overflow(reach, std::max<i64>(d, 1), &reach) && fits;
  }
  INGOT_CHECK(fits, "{}: shape {} has more elements than can be counted", op, to_string(sizes));
}

}  // namespace ingot
