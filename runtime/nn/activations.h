// Modules without state, for Sequential: activations and Flatten.
// Owns: the wrapping of an op into a module, nothing else; runtime/ops.h says what each op does.
// Must not know: other modules.
#pragma once

#include <ingot/runtime/nn/handle.h>

namespace ingot::nn {

struct ReLUImpl : Module {
  Tensor forward(const Tensor& x, Loc loc = Loc::here()) const;
  INGOT_MODULE(ReLU)
};
using ReLU = Handle<ReLUImpl>;

struct TanhImpl : Module {
  Tensor forward(const Tensor& x, Loc loc = Loc::here()) const;
  INGOT_MODULE(Tanh)
};
using Tanh = Handle<TanhImpl>;

struct SigmoidImpl : Module {
  Tensor forward(const Tensor& x, Loc loc = Loc::here()) const;
  INGOT_MODULE(Sigmoid)
};
using Sigmoid = Handle<SigmoidImpl>;

struct SiLUImpl : Module {
  Tensor forward(const Tensor& x, Loc loc = Loc::here()) const;
  INGOT_MODULE(SiLU)
};
using SiLU = Handle<SiLUImpl>;

struct GELUImpl : Module {
  // "none" (erf) or "tanh".
  explicit GELUImpl(std::string approximate = "none", Loc loc = Loc::here());
  Tensor forward(const Tensor& x, Loc loc = Loc::here()) const;
  std::string approximate;
  INGOT_MODULE(GELU)
};
struct GELU : Handle<GELUImpl> {
  GELU(std::string approximate = "none", Loc loc = Loc::here())
      : Handle(std::move(approximate), loc) {}
};

// Axes start..end become one; Flatten() keeps axis 0, the batch.
struct FlattenImpl : Module {
  explicit FlattenImpl(Int first = 1, Int last = -1) : start(first), end(last) {}
  Tensor forward(const Tensor& x, Loc loc = Loc::here()) const;
  int start, end;
  INGOT_MODULE(Flatten)
};
using Flatten = Handle<FlattenImpl>;

}  // namespace ingot::nn
