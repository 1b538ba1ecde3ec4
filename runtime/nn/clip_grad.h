// Gradient clipping.
// Owns: the global norm of gradients and scaling by it. Reads no value on the host, so that it can
// stand inside a compiled step. Must not know: optimisers, modules.
#pragma once

#include <vector>

#include <ingot/runtime/tensor.h>

namespace ingot::nn::utils {

// A tensor that may be ignored: reading it is the caller's choice.
struct GradNorm : Tensor {
  GradNorm(Tensor norm) : Tensor(std::move(norm)) {}
};

// Scales all gradients by min(1, max_norm / (norm + 1e-6)), norm being the 2-norm of all of them as
// one vector, as torch.nn.utils.clip_grad_norm_ documents (R. Pascanu et al., "On the difficulty of
// training recurrent neural networks", ICML 2013). Returns the norm before scaling, 0-d; 0 when no
// parameter has a gradient. A norm of NaN or inf makes the gradients NaN (or 0): nothing is
// checked.
GradNorm clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm,
                         Loc loc = Loc::here());

}  // namespace ingot::nn::utils
