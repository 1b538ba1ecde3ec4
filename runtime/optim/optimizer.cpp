#include <map>
#include <set>

#include <ingot/kernels/core/check_at.h>
#include <ingot/runtime/grad_mode.h>
#include <ingot/runtime/names.h>
#include <ingot/runtime/observer.h>
#include <ingot/runtime/ops.h>
#include <ingot/runtime/optim/optimizer.h>

namespace ingot::optim {

void check_range(const char* op, const char* what, double value, double lo, double hi, Loc loc) {
  INGOT_CHECK_AT(op, loc, value >= lo && value < hi, "{} must lie in [{}, {}), got {}", what, lo,
                 hi, value);
}

void check_not_negative(const char* op, const char* what, double value, Loc loc) {
  INGOT_CHECK_AT(op, loc, value >= 0, "{} must not be negative, got {}", what, value);
}

Optimizer::Optimizer(const char* name, std::vector<Tensor> parameters, double lr,
                     std::vector<const char*> slot_names, Loc loc)
    : name_(name),
      step_range_(intern(fmt::format("Optimizer.step#{}.step", name))),
      zero_grad_range_(intern(fmt::format("Optimizer.zero_grad#{}.zero_grad", name))),
      parameters_(std::move(parameters)),
      lr_(lr),
      slot_names_(std::move(slot_names)),
      states_(parameters_.size()) {
  check_not_negative(name, "lr", lr, loc);
  INGOT_CHECK_AT(name, loc, !parameters_.empty(), "the parameter list is empty");
  std::set<const TensorImpl*> seen;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor& p = parameters_[i];
    INGOT_CHECK_AT(name, loc, p.defined(), "parameter {} is undefined", i);
    INGOT_CHECK_AT(name, loc, p.is_leaf(), "parameter {} is the result of an op, not a leaf", i);
    INGOT_CHECK_AT(name, loc, p.is_floating_point(), "parameter {} is {}, not floating", i,
                   describe(p.meta()));
    INGOT_CHECK_AT(name, loc, seen.insert(p.impl()).second, "parameter {} is listed twice", i);
    // Made here and not at the first step: then all steps have the same ops.
    states_[i].slots.resize(slot_names_.size());
    if (p.requires_grad()) prepare_slots(p, states_[i], loc);
  }
}

void Optimizer::prepare_slots(const Tensor& p, State& state, Loc loc) const {
  for (Tensor& slot : state.slots) {
    if (!slot.defined()) {
      slot = zeros_like(p, {}, loc);
    } else if (slot.dtype() != p.dtype() || slot.device() != p.device()) {
      slot = slot.to(p.options(), loc);  // the module has moved since
    }
  }
}

void Optimizer::step(Loc loc) {
  const ScopedEvent range(Event{EventKind::range, step_range_, loc});
  NoGradGuard no_grad;
  // All of them first: a step that is refused changes nothing.
  for (const Tensor& p : parameters_) {
    const Tensor& g = p.grad();
    INGOT_CHECK_AT(name_, loc, !g.defined() || (g.sizes() == p.sizes() && g.is_floating_point()),
                   "the gradient {} does not fit the parameter {}", describe(g.meta()),
                   describe(p.meta()));
  }
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    Tensor& p = parameters_[i];
    if (!p.grad().defined()) continue;
    const Tensor grad = p.grad();
    prepare_slots(p, states_[i], loc);
    ++states_[i].step;
    update(p, grad, states_[i], loc);
  }
}

void Optimizer::zero_grad(bool set_to_none, Loc loc) {
  const ScopedEvent range(Event{EventKind::range, zero_grad_range_, loc});
  NoGradGuard no_grad;
  for (Tensor& p : parameters_) {
    if (!p.grad().defined()) continue;
    if (set_to_none) {
      p.mutable_grad() = Tensor();
    } else {
      p.mutable_grad().zero_(loc);
    }
  }
}

void Optimizer::set_lr(double lr, Loc loc) {
  check_not_negative(name_, "lr", lr, loc);
  lr_ = lr;
}

NamedTensors Optimizer::state_dict(Loc loc) const {
  NamedTensors state;
  state.emplace_back("lr", scalar_tensor(lr_, kFloat64, loc));
  for (std::size_t i = 0; i < states_.size(); ++i) {
    state.emplace_back(fmt::format("{}.step", i), scalar_tensor(states_[i].step, kInt64, loc));
    for (std::size_t k = 0; k < slot_names_.size(); ++k) {
      const Tensor& slot = states_[i].slots[k];
      if (slot.defined()) state.emplace_back(fmt::format("{}.{}", i, slot_names_[k]), slot);
    }
  }
  return state;
}

void Optimizer::load_state_dict(const NamedTensors& state, Loc loc) {
  NoGradGuard no_grad;
  std::map<std::string, const Tensor*> given;
  for (const auto& [name, t] : state) {
    INGOT_CHECK_AT(name_, loc, t.defined(), "{} of the state is undefined", name);
    given[name] = &t;
  }
  const auto take = [&](const std::string& name, const Dims& sizes) -> const Tensor& {
    const auto it = given.find(name);
    INGOT_CHECK_AT(name_, loc, it != given.end(), "the state lacks {}", name);
    const Tensor& t = *it->second;
    INGOT_CHECK_AT(name_, loc, t.sizes() == sizes, "{} has shape {}, the state's has {}", name,
                   to_string(sizes), to_string(t.sizes()));
    given.erase(it);
    return t;
  };
  const double lr = take("lr", {}).item<double>(loc);
  check_not_negative(name_, "lr", lr, loc);
  std::vector<State> states(parameters_.size());
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor& p = parameters_[i];
    states[i].step = take(fmt::format("{}.step", i), {}).item<i64>(loc);
    check_not_negative(name_, "step", static_cast<double>(states[i].step), loc);
    states[i].slots.resize(slot_names_.size());
    for (std::size_t k = 0; k < slot_names_.size(); ++k) {
      const std::string name = fmt::format("{}.{}", i, slot_names_[k]);
      // A parameter that never had a gradient has no state.
      if (!given.contains(name) && states[i].step == 0) continue;
      states[i].slots[k] = take(name, p.sizes()).to(p.options(), loc).clone(loc);
    }
  }
  INGOT_CHECK_AT(name_, loc, given.empty(), "the optimiser has no {}", given.begin()->first);
  lr_ = lr;
  states_ = std::move(states);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].requires_grad()) prepare_slots(parameters_[i], states_[i], loc);
  }
}

}  // namespace ingot::optim
