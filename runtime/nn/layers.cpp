#include <cmath>

#include <ingot/kernels/core/check_at.h>
#include <ingot/runtime/grad_mode.h>
#include <ingot/runtime/nn/layers.h>
#include <ingot/runtime/ops.h>

namespace ingot::nn {

void empty_handle(Loc loc) {
  detail::fail_at<Error>("nn", loc, "the module handle is empty; it was made from nullptr");
}

LinearImpl::LinearImpl(i64 in, i64 out, Flag with_bias, TensorOptions options, Loc loc) {
  INGOT_CHECK_AT("Linear", loc, in >= 0 && out >= 0, "the sizes must not be negative, got {} -> {}",
                 in, out);
  weight = empty({out, in}, options, loc).requires_grad_(true, loc);
  if (with_bias) bias = empty({out}, options, loc).requires_grad_(true, loc);
  reset_parameters(loc);
}

void LinearImpl::reset_parameters(Loc loc) {
  NoGradGuard no_grad;
  const i64 in = weight.size(1);
  const double bound = in > 0 ? 1 / std::sqrt(static_cast<double>(in)) : 0;
  weight.uniform_(-bound, bound, loc);
  if (bias.defined()) bias.uniform_(-bound, bound, loc);
}

Tensor LinearImpl::forward(const Tensor& x, Loc loc) const { return linear(x, weight, bias, loc); }

EmbeddingImpl::EmbeddingImpl(i64 count, i64 dim, TensorOptions options, Loc loc) {
  INGOT_CHECK_AT("Embedding", loc, count >= 0 && dim >= 0,
                 "the sizes must not be negative, got {} x {}", count, dim);
  weight = empty({count, dim}, options, loc).requires_grad_(true, loc);
  reset_parameters(loc);
}

void EmbeddingImpl::reset_parameters(Loc loc) {
  NoGradGuard no_grad;
  weight.normal_(0, 1, loc);
}

Tensor EmbeddingImpl::forward(const Tensor& index, Loc loc) const {
  return embedding(weight, index, loc);
}

LayerNormImpl::LayerNormImpl(Dims normalized_shape, LayerNormOptions options,
                             TensorOptions tensor_options, Loc loc)
    : normalized_shape(normalized_shape), options(options) {
  INGOT_CHECK_AT("LayerNorm", loc, !normalized_shape.empty(), "there is no axis to normalise over");
  INGOT_CHECK_AT("LayerNorm", loc, options.eps >= 0, "eps must not be negative, got {}",
                 options.eps);
  if (options.elementwise_affine) {
    weight = ones(normalized_shape, tensor_options, loc).requires_grad_(true, loc);
    bias = zeros(normalized_shape, tensor_options, loc).requires_grad_(true, loc);
  }
}

Tensor LayerNormImpl::forward(const Tensor& x, Loc loc) const {
  return layer_norm(x, normalized_shape, weight, bias, options.eps, loc);
}

DropoutImpl::DropoutImpl(Real probability, Loc loc) : p(probability) {
  INGOT_CHECK_AT("Dropout", loc, p >= 0 && p <= 1, "p must lie in [0, 1], got {}", p);
}

Tensor DropoutImpl::forward(const Tensor& x, Loc loc) const {
  return dropout(x, p, is_training(), loc);
}

}  // namespace ingot::nn
