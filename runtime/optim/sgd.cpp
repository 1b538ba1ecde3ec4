#include <ingot/kernels/core/check_at.h>
#include <ingot/runtime/optim/sgd.h>

namespace ingot::optim {

namespace {

std::vector<const char*> slots(const SGDOptions& options) {
  if (options.momentum == 0) return {};
  return {"momentum_buffer"};
}

}  // namespace

SGD::SGD(std::vector<Tensor> parameters, SGDOptions options, Loc loc)
    : Optimizer("SGD", std::move(parameters), options.lr, slots(options), loc), options_(options) {
  check_not_negative("SGD", "momentum", options.momentum, loc);
  check_not_negative("SGD", "weight_decay", options.weight_decay, loc);
  INGOT_CHECK_AT("SGD", loc, !options.nesterov || (options.momentum > 0 && options.dampening == 0),
                 "nesterov needs a momentum above 0 and no dampening");
}

void SGD::update(Tensor& p, const Tensor& grad, State& state, Loc loc) {
  const auto scalar = [&](double v) { return Arg(v, loc); };
  Tensor d = grad;
  if (options_.weight_decay != 0) {
    d = grad.add(Arg(p.mul(scalar(options_.weight_decay)), loc));
  }
  if (options_.momentum != 0) {
    // The buffer starts as zeros: the first step's b = d takes no op of its own.
    Tensor& b = state.slots[0];
    b.mul_(scalar(options_.momentum));
    if (options_.dampening == 0) {
      b.add_(Arg(d, loc));
    } else {
      b.add_(Arg(d.mul(scalar(state.step == 1 ? 1.0 : 1 - options_.dampening)), loc));
    }
    d = options_.nesterov ? d.add(Arg(b.mul(scalar(options_.momentum)), loc)) : b;
  }
  p.sub_(Arg(d.mul(scalar(lr())), loc));
}

}  // namespace ingot::optim
