#include <ingot/kernels/core/check_at.h>
#include <ingot/runtime/nn/activations.h>
#include <ingot/runtime/ops.h>

namespace ingot::nn {

Tensor ReLUImpl::forward(const Tensor& x, Loc loc) const { return relu(x, loc); }
Tensor TanhImpl::forward(const Tensor& x, Loc loc) const { return tanh(x, loc); }
Tensor SigmoidImpl::forward(const Tensor& x, Loc loc) const { return sigmoid(x, loc); }
Tensor SiLUImpl::forward(const Tensor& x, Loc loc) const { return silu(x, loc); }

GELUImpl::GELUImpl(std::string form, Loc loc) : approximate(std::move(form)) {
  INGOT_CHECK_AT("GELU", loc, approximate == "none" || approximate == "tanh",
                 "approximate is \"none\" or \"tanh\", got \"{}\"", approximate);
}

Tensor GELUImpl::forward(const Tensor& x, Loc loc) const { return gelu(x, approximate, loc); }
Tensor FlattenImpl::forward(const Tensor& x, Loc loc) const { return flatten(x, start, end, loc); }

}  // namespace ingot::nn
