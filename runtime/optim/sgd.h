// Stochastic gradient descent with momentum.
// Owns: the update rule, as torch.optim.SGD documents it; momentum after B. T. Polyak (1964) and
// Nesterov's form after I. Sutskever et al., "On the importance of initialization and momentum in
// deep learning", ICML 2013. Must not know: modules.
#pragma once

#include <ingot/runtime/optim/optimizer.h>

namespace ingot::optim {

struct SGDOptions {
  double lr = 1e-3;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;  // needs momentum > 0 and dampening = 0
};

// With d = grad + weight_decay p, at a parameter's first step b = d, then
//   b = momentum b + (1 - dampening) d;  d = nesterov ? d + momentum b : b;  p = p - lr d.
// Without momentum there is no b. State: "momentum_buffer".
class SGD : public Optimizer {
 public:
  explicit SGD(std::vector<Tensor> parameters, SGDOptions options = {}, Loc loc = Loc::here());
  const SGDOptions& options() const { return options_; }  // options().lr is the initial one

 protected:
  void update(Tensor& p, const Tensor& grad, State& state, Loc loc) override;

 private:
  SGDOptions options_;
};

}  // namespace ingot::optim
