// The MLP whose training step is measured on the CPU and on a GPU: 256-256-256-10, batch 64, gelu.
// Owns: its shape and layers. Must not know: devices, how it is timed.
#pragma once

#include <ingot/ingot.h>

namespace bench::mlp {

inline constexpr ingot::i64 kBatch = 64, kWide = 256, kClasses = 10;

struct Net : ingot::nn::Module {
  ingot::nn::Linear fc1{kWide, kWide}, fc2{kWide, kWide}, fc3{kWide, kClasses};
  INGOT_MODULE(Net, fc1, fc2, fc3)

  ingot::Tensor operator()(const ingot::Tensor& x) {
    return fc3(ingot::gelu(fc2(ingot::gelu(fc1(x)))));
  }
};

}  // namespace bench::mlp
