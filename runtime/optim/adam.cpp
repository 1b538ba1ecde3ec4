#include <cmath>

#include <ingot/runtime/optim/adam.h>

namespace ingot::optim {

namespace {

template <class Options>
void check(const char* op, const Options& options, Loc loc) {
  check_range(op, "beta1", options.beta1, 0, 1, loc);
  check_range(op, "beta2", options.beta2, 0, 1, loc);
  check_not_negative(op, "eps", options.eps, loc);
  check_not_negative(op, "weight_decay", options.weight_decay, loc);
}

// The part that both share. What depends on the step enters as a scalar.
template <class Options>
void adaptive_update(Tensor& p, const Tensor& g, Tensor& m, Tensor& v, i64 step, double lr,
                     const Options& options, Loc loc) {
  const auto scalar = [&](double value) { return Arg(value, loc); };
  const double t = static_cast<double>(step);
  const double correction1 = 1 - std::pow(options.beta1, t);
  const double correction2 = 1 - std::pow(options.beta2, t);
  m.lerp_(g, scalar(1 - options.beta1));
  v.mul_(scalar(options.beta2)).addcmul_(g, g, Scalar(1 - options.beta2), loc);
  Tensor denominator = v.sqrt(loc);
  denominator.div_(scalar(std::sqrt(correction2))).add_(scalar(options.eps));
  p.addcdiv_(m, denominator, Scalar(-lr / correction1), loc);
}

}  // namespace

Adam::Adam(std::vector<Tensor> parameters, AdamOptions options, Loc loc)
    : Optimizer("Adam", std::move(parameters), options.lr, {"exp_avg", "exp_avg_sq"}, loc),
      options_(options) {
  check("Adam", options, loc);
}

void Adam::update(Tensor& p, const Tensor& grad, State& state, Loc loc) {
  Tensor g = grad;
  if (options_.weight_decay != 0) {
    g = grad.add(Arg(p.mul(Arg(options_.weight_decay, loc)), loc));
  }
  adaptive_update(p, g, state.slots[0], state.slots[1], state.step, lr(), options_, loc);
}

AdamW::AdamW(std::vector<Tensor> parameters, AdamWOptions options, Loc loc)
    : Optimizer("AdamW", std::move(parameters), options.lr, {"exp_avg", "exp_avg_sq"}, loc),
      options_(options) {
  check("AdamW", options, loc);
}

void AdamW::update(Tensor& p, const Tensor& grad, State& state, Loc loc) {
  if (options_.weight_decay != 0) p.mul_(Arg(1 - lr() * options_.weight_decay, loc));
  adaptive_update(p, grad, state.slots[0], state.slots[1], state.step, lr(), options_, loc);
}

}  // namespace ingot::optim
