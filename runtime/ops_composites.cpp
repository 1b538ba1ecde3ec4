// Products and composites.
#include <ingot/kernels/core/check.h>
#include <ingot/kernels/ops/structured/composites.h>
#include <ingot/kernels/ops/structured/products.h>
#include <ingot/kernels/ops/structured/random.h>
#include <ingot/runtime/arguments.h>
#include <ingot/runtime/config.h>
#include <ingot/runtime/internal_ops.h>
#include <ingot/runtime/warning.h>

namespace ingot {

namespace {

template <class Row>
Tensor composite(std::initializer_list<const Tensor*> in, const Attrs& attrs, Loc loc) {
  return dispatch({structured_op<Row>, in.begin(), static_cast<int>(in.size()), attrs, loc});
}

template <class Row>
Tensor along_axis(const Tensor& x, int axis, std::initializer_list<const Tensor*> in, Loc loc) {
  Attrs attrs;
  attrs.a = axis_of(x, axis, structured_op<Row>.name, loc);
  return composite<Row>(in, attrs, loc);
}

const Tensor* optional(const Tensor& t) { return t.defined() ? &t : nullptr; }

structured::Reduction parse_reduction(std::string_view text, Loc loc) {
  if (text == "mean") return structured::Reduction::mean;
  if (text == "sum") return structured::Reduction::sum;
  INGOT_CHECK_AT("cross_entropy", loc, text == "none",
                 "reduction must be \"mean\", \"sum\" or \"none\", got \"{}\"", text);
  return structured::Reduction::none;
}

// What decides the bits of a product besides its operands is part of its structure: a recorded path
// is not replayed under another setting.
bool rounds_to_tf32(const Tensor& x) {
  return cuda::allow_tf32() && x.defined() && x.dtype() == DType::f32 && x.device().is_cuda();
}
constexpr Attrs kTf32Attrs = [] {
  Attrs attrs;
  attrs.a = structured::kTf32;
  return attrs;
}();
const Attrs& product_attrs(const Tensor& x) { return rounds_to_tf32(x) ? kTf32Attrs : kNoAttrs; }

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b, Loc loc) {
  return composite<structured::Matmul>({&a, &b}, product_attrs(a), loc);
}

Tensor addmm(const Tensor& input, const Tensor& a, const Tensor& b, Scalar beta, Scalar alpha,
             Loc loc) {
  for (Scalar s : {beta, alpha}) {
    if (s.above_i64() && a.defined()) check_fits("addmm", s, a.dtype(), loc);
  }
  Attrs attrs;
  attrs.add_scalar(beta.to_double());
  attrs.add_scalar(alpha.to_double());
  if (rounds_to_tf32(a)) attrs.a = structured::kTf32;
  return composite<structured::Addmm>({&input, &a, &b}, attrs, loc);
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, Loc loc) {
  return composite<structured::Linear>({&x, &weight, optional(bias)}, product_attrs(x), loc);
}

Tensor softmax(const Tensor& x, Int axis, Loc loc) {
  return along_axis<structured::Softmax>(x, axis, {&x}, loc);
}
Tensor log_softmax(const Tensor& x, Int axis, Loc loc) {
  return along_axis<structured::LogSoftmax>(x, axis, {&x}, loc);
}
Tensor softmax_backward(const Tensor& dy, const Tensor& y, int axis, Loc loc) {
  return along_axis<structured::SoftmaxBackward>(y, axis, {&dy, &y}, loc);
}
Tensor log_softmax_backward(const Tensor& dy, const Tensor& y, int axis, Loc loc) {
  return along_axis<structured::LogSoftmaxBackward>(y, axis, {&dy, &y}, loc);
}

Tensor layer_norm(const Tensor& x, Dims normalized, const Tensor& weight, const Tensor& bias,
                  Real eps, Loc loc) {
  int lead = given(x, "layer_norm", loc).dim() - normalized.size();
  bool fits = lead >= 0 && !normalized.empty();
  for (int i = 0; fits && i < normalized.size(); ++i) fits = x.sizes()[lead + i] == normalized[i];
  INGOT_CHECK_AT("layer_norm", loc, fits, "the trailing sizes of {} are not {}", describe(x.meta()),
                 to_string(normalized));
  Attrs attrs;
  attrs.c = normalized.size();
  attrs.add_scalar(double{eps});
  const Tensor* in[] = {&x, optional(weight), optional(bias)};
  Tensor out[3];
  as_op("layer_norm", [&] {
    dispatch({structured_op<structured::LayerNorm>, in, 3, attrs, loc}, out);
  });
  return out[0];
}

Tensor layer_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& mean,
                           const Tensor& rstd, const Tensor& weight, int trailing, Loc loc) {
  Attrs attrs;
  attrs.c = trailing;
  return composite<structured::LayerNormBackward>({&dy, &x, &mean, &rstd, optional(weight)}, attrs,
                                                  loc);
}

std::pair<Tensor, Tensor> layer_norm_backward_params(const Tensor& dy, const Tensor& x,
                                                     const Tensor& mean, const Tensor& rstd,
                                                     int trailing, Loc loc) {
  Attrs attrs;
  attrs.c = trailing;
  const Tensor* in[] = {&dy, &x, &mean, &rstd};
  Tensor out[2];
  dispatch({structured_op<structured::LayerNormBackwardParams>, in, 4, attrs, loc}, out);
  return {out[0], out[1]};
}

Tensor dropout(const Tensor& x, Real probability, Flag training, Loc loc) {
  const double p = probability;
  INGOT_CHECK_AT("dropout", loc, p >= 0 && p <= 1, "p must be in [0, 1], got {}", p);
  if (!training || p == 0) return given(x, "dropout", loc);
  Attrs attrs;
  attrs.add_scalar(p);
  attrs.add_scalar(p == 1 ? 0.0 : 1 / (1 - p));
  const Tensor* in[] = {&x};
  Tensor out[2];
  as_op("dropout", [&] { dispatch({structured_op<structured::Dropout>, in, 1, attrs, loc}, out); });
  return out[0];
}

Tensor cross_entropy(const Tensor& logits, const Tensor& target, CrossEntropyOptions options,
                     Loc loc) {
  INGOT_CHECK_AT("cross_entropy", loc, options.label_smoothing >= 0 && options.label_smoothing <= 1,
                 "label_smoothing must be in [0, 1], got {}", options.label_smoothing);
  (void)given(logits, "cross_entropy", loc), (void)given(target, "cross_entropy", loc);
  bool one = logits.dim() == 1 && target.dim() == 0;
  Tensor rows = one ? unsqueeze(logits, 0, loc) : logits;
  Tensor classes = one ? unsqueeze(target, 0, loc) : target;
  if (classes.dtype() == DType::i32 || classes.dtype() == DType::u8) {
    classes = classes.to(kInt64, loc);
  }
  Attrs attrs;
  attrs.a = static_cast<i64>(parse_reduction(options.reduction, loc));
  attrs.b = options.ignore_index;
  attrs.add_scalar(options.label_smoothing);
  const Tensor* in[] = {&rows, &classes, optional(options.weight)};
  Tensor out[3];
  dispatch({structured_op<structured::CrossEntropy>, in, 3, attrs, loc}, out);
  return one && options.reduction == "none" ? reshape(out[0], {}, loc) : out[0];
}

Tensor cross_entropy_backward(const Tensor& dy, const Tensor& logits, const Tensor& target,
                              const Tensor& weight, const Tensor& logsumexp,
                              const Tensor& total_weight, const Attrs& attrs, Loc loc) {
  return composite<structured::CrossEntropyBackward>(
      {&dy, &logits, &target, optional(weight), &logsumexp, &total_weight}, attrs, loc);
}

Tensor mse_loss(const Tensor& x, const Tensor& target, Loc loc) {
  const Tensor error = as_op("mse_loss", [&] { return sub(x, Arg(target, loc)); });
  if (!(x.sizes() == target.sizes())) [[unlikely]] {
    warn_once(
        "mse_loss", loc,
        fmt::format("the shapes {} and {} differ and are broadcast to {}; give both one "
                    "shape, or expand() the one that is meant to repeat",
                    to_string(x.sizes()), to_string(target.sizes()), to_string(error.sizes())));
  }
  return as_op("mse_loss", [&] { return mean(square(error, loc), loc); });
}

}  // namespace ingot
