#include <ingot/kernels/core/check_at.h>
#include <ingot/runtime/grad_mode.h>
#include <ingot/runtime/nn/clip_grad.h>
#include <ingot/runtime/ops.h>

namespace ingot::nn::utils {

GradNorm clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm, Loc loc) {
  INGOT_CHECK_AT("clip_grad_norm_", loc, max_norm >= 0, "max_norm must not be negative, got {}",
                 max_norm);
  NoGradGuard no_grad;
  std::vector<Tensor> grads, norms;
  for (const Tensor& p : parameters) {
    if (!p.grad().defined()) continue;
    grads.push_back(p.grad());
    // Squares of 16-bit gradients leave their range; the common dtype also lets norms be stacked.
    const Tensor& g = grads.back();
    const Tensor wide = g.dtype() == DType::f64 ? g : g.to(DType::f32, loc);
    norms.push_back(wide.square(loc).sum(loc).sqrt(loc));
  }
  if (grads.empty()) return zeros({}, {}, loc);
  DType common = DType::f32;
  for (const Tensor& n : norms) common = promote(common, n.dtype());
  for (Tensor& n : norms) n = n.to(TensorOptions(common, norms[0].device()), loc);
  const Tensor norm = stack(norms, 0, loc).square(loc).sum(loc).sqrt(loc);
  const Tensor scale =
      div(Arg(max_norm, loc), norm.add(Arg(1e-6, loc))).clamp(std::nullopt, Scalar(1.0), loc);
  for (Tensor& g : grads) g.mul_(Arg(scale.to(TensorOptions(common, g.device()), loc), loc));
  return norm;
}

}  // namespace ingot::nn::utils
