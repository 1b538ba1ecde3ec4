// Optimizer: what all optimisers share.
// Owns: the parameter list, the learning rate, the state tensors and step counts, saving them. A
// step is in-place tensor ops without history; whatever changes from step to step enters them as an
// op's scalar, and nothing reads a tensor, so that a whole step can be recorded and fused.
// Must not know: modules, single update rules.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <ingot/runtime/tensor.h>

namespace ingot::optim {

// Entries by name, as nn::Module::state_dict() gives them.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

class Optimizer {
 public:
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;
  virtual ~Optimizer() = default;

  // Updates each parameter that has a gradient; the others keep value, state and step count.
  void step(Loc loc = Loc::here());
  // set_to_none drops the gradients, so the next backward() need not add to zeros.
  void zero_grad(bool set_to_none = true, Loc loc = Loc::here());

  double lr() const { return lr_; }
  void set_lr(double lr, Loc loc = Loc::here());
  const std::vector<Tensor>& parameters() const { return parameters_; }

  // "lr" (f64), and for parameter i "i.step" (i64) and its state, as in "0.exp_avg". The state
  // shares the optimiser's bytes: clone() what must outlive the next step.
  NamedTensors state_dict(Loc loc = Loc::here()) const;
  // Takes over a state of the same kind of optimiser over parameters of the same shapes. Throws
  // Error, with nothing changed, when an entry is missing, unknown or of another shape.
  void load_state_dict(const NamedTensors& state, Loc loc = Loc::here());

 protected:
  struct State {
    i64 step = 0;               // updates made, the current one included
    std::vector<Tensor> slots;  // in the order of slot_names; undefined until first needed
  };

  // `name` and `slot_names` are literals.
  Optimizer(const char* name, std::vector<Tensor> parameters, double lr,
            std::vector<const char*> slot_names, Loc loc);

  // Changes p; grad is its gradient, and all slots are defined and as p in shape, dtype and device.
  virtual void update(Tensor& p, const Tensor& grad, State& state, Loc loc) = 0;

 private:
  void prepare_slots(const Tensor& p, State& state, Loc loc) const;

  const char* name_;
  const char *step_range_, *zero_grad_range_;  // names of the profiler ranges
  std::vector<Tensor> parameters_;
  double lr_;
  std::vector<const char*> slot_names_;
  std::vector<State> states_;
};

// Throws Error unless lo <= value < hi ("AdamW: beta1 must lie in [0, 1), got 2").
void check_range(const char* op, const char* what, double value, double lo, double hi, Loc loc);
// Throws Error when value < 0 or NaN.
void check_not_negative(const char* op, const char* what, double value, Loc loc);

}  // namespace ingot::optim
