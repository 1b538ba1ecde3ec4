// Layers with parameters (Linear, Embedding, LayerNorm) and Dropout.
// Owns: their shapes and initial values, drawn from the device's generator, so manual_seed() fixes
// them. Must not know: how the ops work, other modules.
#pragma once

#include <ingot/runtime/nn/handle.h>

namespace ingot::nn {

// y = x W^T + b; x [..., in], weight [out, in], bias [out] (undefined without one).
// Both start uniform in +-1/sqrt(in), PyTorch's default: torch.nn.init.kaiming_uniform_ with
// a = sqrt(5), which after K. He et al., "Delving deep into rectifiers", ICCV 2015, has the bound
// sqrt(6 / ((1 + a^2) in)).
struct LinearImpl : Module {
  LinearImpl(i64 in, i64 out, Flag with_bias = true, TensorOptions options = {},
             Loc loc = Loc::here());
  Tensor forward(const Tensor& x, Loc loc = Loc::here()) const;
  void reset_parameters(Loc loc = Loc::here());

  Tensor weight, bias;
  INGOT_MODULE(Linear, weight, bias)
};
struct Linear : Handle<LinearImpl> {
  Linear(std::nullptr_t) : Handle(nullptr) {}
  Linear(i64 in, i64 out, Flag bias = true, TensorOptions options = {}, Loc loc = Loc::here())
      : Handle(in, out, bias, options, loc) {}
};

// Row `index` of weight [count, dim] for each index; the rows start normal with mean 0, std 1.
// index i64 [...] gives [..., dim]; one outside [0, count), a negative one too, is an IndexError.
struct EmbeddingImpl : Module {
  EmbeddingImpl(i64 count, i64 dim, TensorOptions options = {}, Loc loc = Loc::here());
  Tensor forward(const Tensor& index, Loc loc = Loc::here()) const;
  void reset_parameters(Loc loc = Loc::here());

  Tensor weight;
  INGOT_MODULE(Embedding, weight)
};
struct Embedding : Handle<EmbeddingImpl> {
  Embedding(std::nullptr_t) : Handle(nullptr) {}
  Embedding(i64 count, i64 dim, TensorOptions options = {}, Loc loc = Loc::here())
      : Handle(count, dim, options, loc) {}
};

struct LayerNormOptions {
  double eps = 1e-5;
  bool elementwise_affine = true;  // false: no weight and bias
};

// (x - mean) / sqrt(var + eps) * weight + bias over the trailing axes `normalized_shape`, with the
// population variance. weight starts at 1, bias at 0 (J. L. Ba et al., "Layer normalization",
// 2016).
struct LayerNormImpl : Module {
  explicit LayerNormImpl(Dims normalized_shape, LayerNormOptions options = {},
                         TensorOptions tensor_options = {}, Loc loc = Loc::here());
  Tensor forward(const Tensor& x, Loc loc = Loc::here()) const;

  Dims normalized_shape;
  LayerNormOptions options;
  Tensor weight, bias;
  INGOT_MODULE(LayerNorm, weight, bias)
};
struct LayerNorm : Handle<LayerNormImpl> {
  LayerNorm(std::nullptr_t) : Handle(nullptr) {}
  // Of braces: norm({64}), which otherwise might also be a copy of a LayerNorm made of 64.
  LayerNorm(std::initializer_list<Dim> normalized_shape, LayerNormOptions options = {},
            TensorOptions tensor_options = {}, Loc loc = Loc::here())
      : LayerNorm(Dims(normalized_shape, loc), options, tensor_options, loc) {}
  LayerNorm(Dims normalized_shape, LayerNormOptions options = {}, TensorOptions tensor_options = {},
            Loc loc = Loc::here())
      : Handle(normalized_shape, options, tensor_options, loc) {}
};

// In training each element is 0 with probability p and else divided by 1 - p; in eval() x itself.
struct DropoutImpl : Module {
  explicit DropoutImpl(Real p = 0.5, Loc loc = Loc::here());
  Tensor forward(const Tensor& x, Loc loc = Loc::here()) const;

  double p;
  INGOT_MODULE(Dropout)
};
struct Dropout : Handle<DropoutImpl> {
  Dropout(std::nullptr_t) : Handle(nullptr) {}
  Dropout(Real p = 0.5, Loc loc = Loc::here()) : Handle(p, loc) {}
};

}  // namespace ingot::nn
