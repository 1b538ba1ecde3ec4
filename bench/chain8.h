// The chain of eight elementwise ops that several rows use.
#pragma once

#include <ingot/runtime/tensor.h>

namespace bench {

// t = a * b + 1; t = t * sigmoid(t); tanh(t) * 0.5 + a
ingot::Tensor chain8(const ingot::Tensor& a, const ingot::Tensor& b);

}  // namespace bench
