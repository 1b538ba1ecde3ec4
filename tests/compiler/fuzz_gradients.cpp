// Statements of random programs: backward passes, hooks, what is done to gradients.
#include "compiler/fuzz_run.h"

namespace ingot::fuzz {

namespace {

constexpr int kHooks = 6;

// A hook of the given kind. The world outlives the history that it hangs in; a run does not.
void add_hook(Tensor& x, World& world, int kind, std::string* line) {
  constexpr const char* kNames[kHooks] = {
      "writes", "writes and returns it", "writes a part", "replaces", "keeps", "reads"};
  if (line != nullptr) *line += std::string(" hook that ") + kNames[kind];
  x.register_hook([&world, kind](const Tensor& g) -> Tensor {
    const NoGradGuard guard;
    Tensor h = g;
    switch (kind) {
      case 0:
        h.mul_(2);
        return {};
      case 1:
        h.add_(1);
        return h;
      case 2:
        if (h.dim() > 0 && h.size(0) > 0) h[0] = 7;
        return {};
      case 3:
        return tanh(g) * 0.5;
      case 4:
        world.escaped.push_back(g);
        if (world.escaped.size() > 4) world.escaped.erase(world.escaped.begin());
        return {};
      default:
        if (g.numel() > 0) world.log(g.reshape({g.numel()})[0].item<double>());
        return {};
    }
  });
}

}  // namespace

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
  if (shape_.chance(25)) {
    name(" retain_grad");
    x.retain_grad();
    retained_.push_back(x);
    return;
  }
  add_hook(x, world_, choose(kHooks), &line_);
}

void add_leaf_hooks(World& world, std::uint64_t seed) {
  Dice dice(mixed(seed, 9));
  for (Givens& g : world.others) {
    for (Tensor& t : g.captures) {
      if (t.is_leaf() && t.requires_grad() && dice.chance(40)) {
        add_hook(t, world, dice.below(kHooks), nullptr);
      }
    }
  }
}

}  // namespace ingot::fuzz
