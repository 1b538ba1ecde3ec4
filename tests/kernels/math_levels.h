// The f32 functions as loops, compiled once per instruction set level like a kernel unit, so that a
// test can compare the levels' bits, and a loop's body with its tail.
#pragma once

#include <iterator>

namespace ingot::math_levels {

struct Unary {
  const char* name;
  void (*run)(const float* x, float* y, long n);
};
struct Binary {
  const char* name;
  void (*run)(const float* a, const float* b, float* y, long n);
};
struct Conversion {
  const char* name;
  int size;  // bytes of one result
  void (*run)(const float* x, void* y, long n);
};
struct Loops {
  const Unary* unary;
  int unary_count;
  const Binary* binary;
  int binary_count;
  const Conversion* conversion;
  int conversion_count;
};

Loops loops_base();
Loops loops_v3();
Loops loops_v4();

}  // namespace ingot::math_levels
