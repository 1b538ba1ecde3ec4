// A line of device code, as its errors name it.
// Owns: Place. Must not know: what happens there.
#pragma once

#include <string>

namespace ingot::emulation {

struct Place {
  const char* file = "";
  int line = 0;

  static constexpr Place here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
  bool operator==(const Place& o) const { return line == o.line && file == o.file; }
};

std::string to_string(const Place& place);  // "kernels/cuda/reduce.cuh:40", from the root on

}  // namespace ingot::emulation
