// Rows of a user's own, in a unit that user_rows_test.cpp has compiled with other flags.
// Owns: what such a unit offers. Must not know: the flags.
#pragma once

#include <vector>

#include <ingot/runtime/tensor.h>

namespace ingot::user_rows {

// Results and the gradient of x, eager and compiled: both must have the same bits.
struct Unit {
  std::vector<Tensor> (*eager)(const Tensor& x);
  std::vector<Tensor> (*compiled)(const Tensor& x);
};
extern const Unit kPlain;   // -O2 for the baseline
extern const Unit kNative;  // -O3 -march=native, contraction allowed

}  // namespace ingot::user_rows
