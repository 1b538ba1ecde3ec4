// Statements of random programs: backward passes, hooks, what is done to gradients.
#include "compiler/fuzz_run.h"

namespace ingot::fuzz {

void Run::backward() {
  Tensor loss;
  for (const Named& named : pool_) {
    if (named.tensor.is_floating_point() && named.tensor.requires_grad()) {
      loss = named.tensor;
      if (listing_ != nullptr) line_ = "backward: t" + std::to_string(named.id) + ".sum()";
    }
  }
  if (!loss.defined()) return;
  try {
    loss.sum().backward();
  } catch (const Error& error) {
    log_error(error);  // a saved value was overwritten: in both modes
    name(" threw: ");
    name(error.what());
  }
  for (const Tensor& t : retained_) {
    if (!t.grad().defined()) continue;
    push(t.grad());
    Tensor grad = t.grad();
    NoGradGuard guard;
    if (shape_.chance(50)) grad.mul_(3);
  }
  for (Tensor& t : world_.now.captures) {
    if (!t.grad().defined()) continue;
    push(t.grad());
    NoGradGuard guard;
    if (features_.hooks && shape_.chance(30)) t.mutable_grad().mul_(0.5);
    if (shape_.chance(50)) t.add_(t.grad() * -0.1);
  }
}

void Run::hook() {
  Tensor x = any();
  if (!x.requires_grad() || x.is_leaf()) {
    // Hooks on leaves would pile up from call to call; a product of one is not a leaf.
    x = world_.now.captures[shape_.chance(50) ? 0 : 2] * 1.5;
    if (!x.requires_grad()) return;
    push(x);
    if (shape_.chance(70)) push(tanh(x));
    if (shape_.chance(50)) push(x + x);
    if (shape_.chance(50)) push(x.reshape({x.numel()}) * 2);
  }
  switch (choose(7)) {
    case 0:
      name(" retain_grad");
      x.retain_grad();
      retained_.push_back(x);
      return;
    case 1:
      name(" hook: in place");
      return x.register_hook([](const Tensor& g) {
        NoGradGuard guard;
        Tensor h = g;
        h.mul_(2);
        return Tensor();
      });
    case 2:
      name(" hook: in place, and returns it");
      return x.register_hook([](const Tensor& g) {
        NoGradGuard guard;
        Tensor h = g;
        h.add_(1);
        return h;
      });
    case 3:
      name(" hook: replaces");
      return x.register_hook([](const Tensor& g) { return tanh(g) * 0.5; });
    case 4:
      name(" hook: keeps");
      return x.register_hook([world = &world_](const Tensor& g) {
        world->escaped.push_back(g);
        if (world->escaped.size() > 4) world->escaped.erase(world->escaped.begin());
        return Tensor();
      });
    case 5:
      if (!features_.observe) return;
      name(" hook: reads");
      return x.register_hook([world = &world_](const Tensor& g) {
        if (g.numel() > 0) world->log(g.reshape({g.numel()})[0].item<double>());
        return Tensor();
      });
    default:
      name(" hook: a part in place");
      return x.register_hook([](const Tensor& g) {
        NoGradGuard guard;
        Tensor h = g;
        if (h.dim() > 0 && h.size(0) > 0) h[0] = 7;
        return Tensor();
      });
  }
}

}  // namespace ingot::fuzz
