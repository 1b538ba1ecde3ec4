// The chain of eight elementwise ops that several rows use.
// Owns: the chain as text that every measured form of it shares. Must not know: how it is timed.
#pragma once

#include <ingot/runtime/tensor.h>

namespace bench {

// t = a * b + 1; t = t * sigmoid(t); tanh(t) * 0.5 + a
ingot::Tensor chain8(const ingot::Tensor& a, const ingot::Tensor& b);

}  // namespace bench
