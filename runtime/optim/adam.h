// Adam and AdamW.
// Owns: the update rules, as torch.optim.Adam and AdamW document them; after D. P. Kingma and
// J. Ba, "Adam: a method for stochastic optimization", ICLR 2015, and I. Loshchilov and F. Hutter,
// "Decoupled weight decay regularization", ICLR 2019. Must not know: modules.
#pragma once

#include <ingot/runtime/optim/optimizer.h>

namespace ingot::optim {

struct AdamOptions {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  double weight_decay = 0;  // added to the gradient: g = grad + weight_decay p
};

struct AdamWOptions {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  double weight_decay = 1e-2;  // apart from the gradient: p = p - lr weight_decay p
};

// At step t, with m ("exp_avg") and v ("exp_avg_sq") starting at 0:
//   m = m + (1 - beta1) (g - m);  v = beta2 v + (1 - beta2) g g
//   p = p - lr / (1 - beta1^t) m / (sqrt(v) / sqrt(1 - beta2^t) + eps)
class Adam : public Optimizer {
 public:
  explicit Adam(std::vector<Tensor> parameters, AdamOptions options = {}, Loc loc = Loc::here());
  const AdamOptions& options() const { return options_; }  // options().lr is the initial one

 protected:
  void update(Tensor& p, const Tensor& grad, State& state, Loc loc) override;

 private:
  AdamOptions options_;
};

// As Adam, with the decay applied to p before the rest of the step.
class AdamW : public Optimizer {
 public:
  explicit AdamW(std::vector<Tensor> parameters, AdamWOptions options = {}, Loc loc = Loc::here());
  const AdamWOptions& options() const { return options_; }

 protected:
  void update(Tensor& p, const Tensor& grad, State& state, Loc loc) override;

 private:
  AdamWOptions options_;
};

}  // namespace ingot::optim
