// Tensor's options, handles and methods.
#include <atomic>
#include <ostream>

#include <ingot/kernels/core/check.h>
#include <ingot/kernels/core/check_at.h>
#include <ingot/runtime/arguments.h>
#include <ingot/runtime/autograd.h>
#include <ingot/runtime/env.h>
#include <ingot/runtime/internal_ops.h>
#include <ingot/runtime/node.h>
#include <ingot/runtime/ops.h>

namespace ingot {

namespace {
std::atomic<bool> g_default_device_set{false};
std::atomic<Device> g_default_device{Device()};
}  // namespace

TensorOptions TensorOptions::dtype(DType t) const {
  TensorOptions o = *this;
  o.dtype_ = t;
  return o;
}
TensorOptions TensorOptions::device(Device d) const {
  TensorOptions o = *this;
  o.device_ = d;
  return o;
}
TensorOptions TensorOptions::requires_grad(bool on) const {
  TensorOptions o = *this;
  o.requires_grad_ = on;
  return o;
}
Device TensorOptions::device() const { return device_.value_or(default_device()); }

std::ostream& operator<<(std::ostream& out, const TensorOptions& o) {
  return out << o.dtype() << " on " << o.device() << (o.requires_grad_ ? ", requires_grad" : "");
}

TensorOptions dtype(DType t) { return TensorOptions(t); }
TensorOptions device(Device d) { return TensorOptions(d); }
TensorOptions requires_grad(bool on) { return TensorOptions().requires_grad(on); }
void set_default_device(Device d) {
  g_default_device.store(d);
  g_default_device_set.store(true, std::memory_order_release);
}
Device default_device() {
  if (g_default_device_set.load(std::memory_order_acquire)) return g_default_device.load();
  return env().device;
}

void Tensor::undefined() {
  throw Error("an undefined Tensor (default constructed, or moved from) was used");
}

i64 Tensor::size(Int axis, Loc loc) const {
  const int d = axis;
  INGOT_CHECK_AT_AS(IndexError, "size", loc, given(*this, "size", loc).dim() > 0,
                    "a 0-d tensor has no dims");
  INGOT_CHECK_AT_AS(IndexError, "size", loc, d >= -dim() && d < dim(),
                    "dim {} is out of range for {}", d, describe(meta()));
  return sizes()[d < 0 ? d + dim() : d];
}

bool Tensor::is_leaf() const {
  const TensorImpl& x = get();
  return x.autograd == nullptr || !x.autograd->grad_fn;
}

void Tensor::backward(const Tensor& gradient, bool retain_graph, Loc loc) const {
  run_backward(*this, gradient, retain_graph, loc);
}

const Tensor& Tensor::grad() const& {
  static const Tensor none;
  const AutogradMeta* a = get().autograd;
  if (a == nullptr) return none;
  return a->retained ? *a->retained : a->grad;
}

Tensor& Tensor::mutable_grad() & {
  AutogradMeta& a = autograd_meta(get());
  return a.retained ? *a.retained : a.grad;
}

Tensor& Tensor::requires_grad_(Flag on, Loc loc) & {
  TensorImpl& x = given(*this, "requires_grad_", loc).get();
  INGOT_CHECK_AT("requires_grad_", loc, !on || ingot::is_floating_point(dtype()),
                 "{} has no gradients", describe(meta()));
  INGOT_CHECK_AT("requires_grad_", loc, on || is_leaf(),
                 "only a leaf can stop requiring grad; use detach()");
  if (x.requires_grad != on) x.stamp = next_stamp();
  x.requires_grad = on;
  autograd_meta(x).chosen = true;
  return *this;
}

void Tensor::register_hook(std::function<Tensor(const Tensor&)> hook, Loc loc) {
  INGOT_CHECK_AT("register_hook", loc, hook != nullptr, "the hook is an empty function");
  (void)gradient_edge(given(*this, "register_hook", loc));  // a view's may come from its base
  INGOT_CHECK_AT("register_hook", loc, requires_grad(), "{} does not require grad",
                 describe(meta()));
  GradientHooks& hooks = gradient_hooks(*this);
  hooks.add(get().autograd->output, std::move(hook));
}

void Tensor::retain_grad(Loc loc) {
  (void)gradient_edge(given(*this, "retain_grad", loc));
  INGOT_CHECK_AT("retain_grad", loc, requires_grad(), "{} does not require grad", describe(meta()));
  if (is_leaf()) return;
  GradientHooks& hooks = gradient_hooks(*this);
  AutogradMeta& a = *get().autograd;
  if (a.retained) return;
  // The node must not own the tensor that owns it: both share the slot.
  a.retained = std::make_shared<Tensor>();
  hooks.retain(a.output, a.retained);
}

Tensor Tensor::neg(Loc loc) const { return ingot::neg(*this, loc); }
Tensor Tensor::abs(Loc loc) const { return ingot::abs(*this, loc); }
Tensor Tensor::sign(Loc loc) const { return ingot::sign(*this, loc); }
Tensor Tensor::exp(Loc loc) const { return ingot::exp(*this, loc); }
Tensor Tensor::expm1(Loc loc) const { return ingot::expm1(*this, loc); }
Tensor Tensor::log(Loc loc) const { return ingot::log(*this, loc); }
Tensor Tensor::log1p(Loc loc) const { return ingot::log1p(*this, loc); }
Tensor Tensor::sqrt(Loc loc) const { return ingot::sqrt(*this, loc); }
Tensor Tensor::rsqrt(Loc loc) const { return ingot::rsqrt(*this, loc); }
Tensor Tensor::square(Loc loc) const { return ingot::square(*this, loc); }
Tensor Tensor::reciprocal(Loc loc) const { return ingot::reciprocal(*this, loc); }
Tensor Tensor::tanh(Loc loc) const { return ingot::tanh(*this, loc); }
Tensor Tensor::sigmoid(Loc loc) const { return ingot::sigmoid(*this, loc); }
Tensor Tensor::erf(Loc loc) const { return ingot::erf(*this, loc); }
Tensor Tensor::relu(Loc loc) const { return ingot::relu(*this, loc); }
Tensor Tensor::silu(Loc loc) const { return ingot::silu(*this, loc); }
Tensor Tensor::softplus(Loc loc) const { return ingot::softplus(*this, loc); }
Tensor Tensor::sin(Loc loc) const { return ingot::sin(*this, loc); }
Tensor Tensor::cos(Loc loc) const { return ingot::cos(*this, loc); }
Tensor Tensor::floor(Loc loc) const { return ingot::floor(*this, loc); }
Tensor Tensor::ceil(Loc loc) const { return ingot::ceil(*this, loc); }
Tensor Tensor::trunc(Loc loc) const { return ingot::trunc(*this, loc); }
Tensor Tensor::round(Loc loc) const { return ingot::round(*this, loc); }
Tensor Tensor::logical_not(Loc loc) const { return ingot::logical_not(*this, loc); }
Tensor Tensor::isnan(Loc loc) const { return ingot::isnan(*this, loc); }
Tensor Tensor::add(const Arg& other) const { return ingot::add(*this, other); }
Tensor Tensor::sub(const Arg& other) const { return ingot::sub(*this, other); }
Tensor Tensor::mul(const Arg& other) const { return ingot::mul(*this, other); }
Tensor Tensor::div(const Arg& other) const { return ingot::div(*this, other); }
Tensor Tensor::pow(const Arg& other) const { return ingot::pow(*this, other); }
Tensor Tensor::maximum(const Arg& other) const { return ingot::maximum(*this, other); }
Tensor Tensor::minimum(const Arg& other) const { return ingot::minimum(*this, other); }
Tensor Tensor::floor_divide(const Arg& other) const { return ingot::floor_divide(*this, other); }
Tensor Tensor::remainder(const Arg& other) const { return ingot::remainder(*this, other); }
Tensor Tensor::fmod(const Arg& other) const { return ingot::fmod(*this, other); }
Tensor Tensor::eq(const Arg& other) const { return ingot::eq(*this, other); }
Tensor Tensor::ne(const Arg& other) const { return ingot::ne(*this, other); }
Tensor Tensor::lt(const Arg& other) const { return ingot::lt(*this, other); }
Tensor Tensor::le(const Arg& other) const { return ingot::le(*this, other); }
Tensor Tensor::gt(const Arg& other) const { return ingot::gt(*this, other); }
Tensor Tensor::ge(const Arg& other) const { return ingot::ge(*this, other); }
Tensor Tensor::logical_and(const Arg& other) const { return ingot::logical_and(*this, other); }
Tensor Tensor::logical_or(const Arg& other) const { return ingot::logical_or(*this, other); }
Tensor Tensor::clamp(std::optional<Scalar> low, std::optional<Scalar> high, Loc loc) const {
  return ingot::clamp(*this, low, high, loc);
}
Tensor Tensor::lerp(const Tensor& end, const Arg& weight) const {
  return ingot::lerp(*this, end, weight);
}
Tensor Tensor::addcmul(const Tensor& t1, const Tensor& t2, Scalar value, Loc loc) const {
  return ingot::addcmul(*this, t1, t2, value, loc);
}
Tensor Tensor::addcdiv(const Tensor& t1, const Tensor& t2, Scalar value, Loc loc) const {
  return ingot::addcdiv(*this, t1, t2, value, loc);
}
Tensor Tensor::clone(Loc loc) const { return ingot::clone(*this, loc); }
Tensor Tensor::contiguous(Loc loc) const { return ingot::contiguous(*this, loc); }
Tensor Tensor::detach(Loc loc) const { return ingot::detach(*this, loc); }
Tensor Tensor::reshape(Dims s, Loc loc) const { return ingot::reshape(*this, s, loc); }
Tensor Tensor::view(Dims s, Loc loc) const { return ingot::view(*this, s, loc); }
Tensor Tensor::flatten(Int start, Int end, Loc loc) const {
  return ingot::flatten(*this, start, end, loc);
}
Tensor Tensor::permute(Dims axes, Loc loc) const { return ingot::permute(*this, axes, loc); }
Tensor Tensor::transpose(Int a, Int b, Loc loc) const { return ingot::transpose(*this, a, b, loc); }
Tensor Tensor::expand(Dims s, Loc loc) const { return ingot::expand(*this, s, loc); }
Tensor Tensor::squeeze(Loc loc) const { return ingot::squeeze(*this, loc); }
Tensor Tensor::squeeze(Int axis, Loc loc) const { return ingot::squeeze(*this, axis, loc); }
Tensor Tensor::unsqueeze(Int axis, Loc loc) const { return ingot::unsqueeze(*this, axis, loc); }
Tensor Tensor::slice(Int axis, std::optional<i64> start, std::optional<i64> stop, i64 step,
                     Loc loc) const {
  return ingot::slice(*this, axis, start, stop, step, loc);
}
Tensor Tensor::narrow(Int axis, i64 start, i64 length, Loc loc) const {
  return ingot::narrow(*this, axis, start, length, loc);
}
Tensor Tensor::select(Int axis, i64 i, Loc loc) const { return ingot::select(*this, axis, i, loc); }
Tensor Tensor::flip(Dims axes, Loc loc) const { return ingot::flip(*this, axes, loc); }
Tensor Tensor::index_select(Int axis, const Tensor& i, Loc loc) const {
  return ingot::index_select(*this, axis, i, loc);
}
Tensor Tensor::gather(Int axis, const Tensor& i, Loc loc) const {
  return ingot::gather(*this, axis, i, loc);
}
Tensor Tensor::matmul(const Tensor& other, Loc loc) const {
  return ingot::matmul(*this, other, loc);
}
Tensor Tensor::softmax(Int axis, Loc loc) const { return ingot::softmax(*this, axis, loc); }
Tensor Tensor::log_softmax(Int axis, Loc loc) const { return ingot::log_softmax(*this, axis, loc); }
Tensor Tensor::logsumexp(Int axis, Flag keepdim, Loc loc) const {
  return ingot::logsumexp(*this, axis, keepdim, loc);
}

#define INGOT_REDUCE_ALL(name) \
  Tensor Tensor::name(Loc loc) const { return ingot::name(*this, loc); }
INGOT_REDUCE_ALL(sum)
INGOT_REDUCE_ALL(mean)
INGOT_REDUCE_ALL(prod)
INGOT_REDUCE_ALL(max)
INGOT_REDUCE_ALL(min)
INGOT_REDUCE_ALL(argmax)
INGOT_REDUCE_ALL(argmin)
#undef INGOT_REDUCE_ALL

#define INGOT_REDUCE_AXES(name)                                 \
  Tensor Tensor::name(Dims axes, Flag keepdim, Loc loc) const { \
    return ingot::name(*this, axes, keepdim, loc);              \
  }
INGOT_REDUCE_AXES(sum)
INGOT_REDUCE_AXES(mean)
INGOT_REDUCE_AXES(prod)
INGOT_REDUCE_AXES(amax)
INGOT_REDUCE_AXES(amin)
INGOT_REDUCE_AXES(any)
INGOT_REDUCE_AXES(all)
#undef INGOT_REDUCE_AXES

ValuesIndices Tensor::max(Int axis, Flag keepdim, Loc loc) const {
  return ingot::max(*this, axis, keepdim, loc);
}
ValuesIndices Tensor::min(Int axis, Flag keepdim, Loc loc) const {
  return ingot::min(*this, axis, keepdim, loc);
}
ValuesIndices Tensor::topk(i64 k, Int axis, Flag largest, Loc loc) const {
  return ingot::topk(*this, k, axis, largest, loc);
}
Tensor Tensor::argmax(Int axis, Flag keepdim, Loc loc) const {
  return ingot::argmax(*this, axis, keepdim, loc);
}
Tensor Tensor::argmin(Int axis, Flag keepdim, Loc loc) const {
  return ingot::argmin(*this, axis, keepdim, loc);
}
Tensor Tensor::var(Dims axes, Int correction, Flag keepdim, Loc loc) const {
  return ingot::var(*this, axes, correction, keepdim, loc);
}
Tensor Tensor::std(Dims axes, Int correction, Flag keepdim, Loc loc) const {
  return as_op("std",
               [&] { return std_of_var(ingot::var(*this, axes, correction, keepdim, loc), loc); });
}

}  // namespace ingot
