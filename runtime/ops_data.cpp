// Creation, copies, casts and joining.
#include <cmath>

#include <ingot/kernels/core/check.h>
#include <ingot/kernels/ops/structured/data.h>
#include <ingot/kernels/ops/structured/random.h>
#include <ingot/runtime/arguments.h>
#include <ingot/runtime/internal_ops.h>

namespace ingot {

namespace {

// x, a leaf when the options ask for one.
Tensor with_grad(const char* op, Tensor x, const TensorOptions& options, Loc loc) {
  if (options.requires_grad_set()) as_op(op, [&] { x.requires_grad_(true, loc); });
  return x;
}

template <class Row>
Tensor create(const Attrs& attrs, const TensorOptions& options, Loc loc) {
  Tensor out = dispatch({structured_op<Row>, nullptr, 0, attrs, loc, options.device()});
  return with_grad(structured_op<Row>.name, std::move(out), options, loc);
}

TensorOptions like(const Tensor& x, const TensorOptions& o) {
  TensorOptions out(o.has_dtype() ? o.dtype() : x.dtype(),
                    o.has_device() ? o.device() : x.device());
  return out.requires_grad(o.requires_grad_set());
}

DType dtype_of(Scalar s) {
  return s.is_floating()                     ? DType::f32
         : s.kind() == Scalar::Kind::boolean ? DType::boolean
                                             : DType::i64;
}

template <class Row>
Tensor random(Dims sizes, const TensorOptions& options, Scalar a, Scalar b, Loc loc) {
  Attrs attrs;
  attrs.dims = sizes;
  attrs.a = static_cast<i64>(options.dtype());
  attrs.add_scalar(a);
  attrs.add_scalar(b);
  return create<Row>(attrs, options, loc);
}

// How many of start, start + step, ... lie before end; negative when the step leads away from it.
double count_integers(i64 start, i64 end, i64 step) {
  if (step > 0 ? end < start : end > start) return -1;
  const auto a = static_cast<std::uint64_t>(start), b = static_cast<std::uint64_t>(end);
  const std::uint64_t span = step > 0 ? b - a : a - b;
  const std::uint64_t stride =
      step > 0 ? static_cast<std::uint64_t>(step) : 0 - static_cast<std::uint64_t>(step);
  return static_cast<double>(span / stride + (span % stride != 0 ? 1 : 0));
}

template <class Row>
void write_random(const Tensor& t, double a, double b, Loc loc) {
  Attrs attrs;
  attrs.add_scalar(a);
  attrs.add_scalar(b);
  const Tensor* in[] = {&t};
  (void)dispatch({structured_op<Row>, in, 1, attrs, loc, kCPU, 0});
}

}  // namespace

Tensor full(Dims sizes, Scalar value, TensorOptions options, Loc loc) {
  Attrs attrs;
  attrs.dims = sizes;
  const DType t = options.has_dtype() ? options.dtype() : dtype_of(value);
  check_fits("full", value, t, loc);
  attrs.a = static_cast<i64>(t);
  attrs.add_scalar(value);
  return create<structured::Full>(attrs, options, loc);
}

namespace {

Tensor filled(const char* op, const Dims& sizes, Scalar value, const TensorOptions& options,
              Loc loc) {
  return as_op(op, [&] { return full(sizes, value, options, loc); });
}

Tensor filled_like(const char* op, const Tensor& x, Scalar value, const TensorOptions& options,
                   Loc loc) {
  (void)given(x, op, loc);
  return filled(op, x.sizes(), value, like(x, options), loc);
}

}  // namespace

Tensor empty(Dims sizes, TensorOptions options, Loc loc) {
  return filled("empty", sizes, 0.0, options.dtype(options.dtype()), loc);
}
Tensor zeros(Dims sizes, TensorOptions options, Loc loc) {
  return filled("zeros", sizes, 0.0, options.dtype(options.dtype()), loc);
}
Tensor ones(Dims sizes, TensorOptions options, Loc loc) {
  return filled("ones", sizes, 1.0, options.dtype(options.dtype()), loc);
}

Tensor zeros_like(const Tensor& x, TensorOptions options, Loc loc) {
  return filled_like("zeros_like", x, 0.0, options, loc);
}
Tensor ones_like(const Tensor& x, TensorOptions options, Loc loc) {
  return filled_like("ones_like", x, 1.0, options, loc);
}
Tensor full_like(const Tensor& x, Scalar value, TensorOptions options, Loc loc) {
  return filled_like("full_like", x, value, options, loc);
}
Tensor empty_like(const Tensor& x, TensorOptions options, Loc loc) {
  return filled_like("empty_like", x, 0.0, options, loc);
}
Tensor scalar_tensor(Scalar value, TensorOptions options, Loc loc) {
  return filled("scalar_tensor", {}, value, options, loc);
}

Tensor zeros_meta(const Tensor& dy, const Meta& m, Loc loc) {
  return zeros(m.sizes, TensorOptions(dy.dtype(), dy.device()), loc);
}

Tensor zeros_geometry(const Tensor& dy, const Meta& m, Loc loc) {
  Tensor flat = zeros(extent(m), TensorOptions(dy.dtype(), dy.device()), loc);
  return as_strided(flat, m.sizes, m.strides, 0, loc);
}

Tensor arange(Scalar start, Scalar end, Scalar step, TensorOptions options, Loc loc) {
  double elements = 0;
  bool floating = start.is_floating() || end.is_floating() || step.is_floating();
  for (Scalar s : {start, end, step}) {
    if (!s.above_i64()) continue;
    check_fits("arange", s, options.has_dtype() || floating ? options.dtype() : DType::i64, loc);
    floating = true;
  }
  INGOT_CHECK_AT("arange", loc, step.to_double() != 0, "the step is 0");
  if (floating) {
    elements = std::ceil((end.to_double() - start.to_double()) / step.to_double());
  } else {
    elements = count_integers(start.to_int(), end.to_int(), step.to_int());
  }
  INGOT_CHECK_AT("arange", loc, elements >= 0, "bounds {} and {} do not fit the step {}",
                 start.str(), end.str(), step.str());
  INGOT_CHECK_AT("arange", loc, elements < 0x1p62,
                 "from {} to {} by {} is more than can be counted", start.str(), end.str(),
                 step.str());
  Attrs attrs;
  attrs.dims = {static_cast<i64>(elements)};
  attrs.a = static_cast<i64>(options.has_dtype() ? options.dtype()
                             : floating          ? DType::f32
                                                 : DType::i64);
  attrs.add_scalar(start);
  attrs.add_scalar(step);
  return create<structured::Arange>(attrs, options, loc);
}

Tensor arange(Scalar end, TensorOptions options, Loc loc) {
  return arange(end.is_floating() ? Scalar(0.0) : Scalar(0), end, 1, options, loc);
}

Tensor eye(i64 n, TensorOptions options, Loc loc) {
  INGOT_CHECK_AT("eye", loc, n >= 0, "{} is negative", n);
  Tensor out = as_op("eye", [&] {
    const Tensor i = arange(n, {kInt64, options.device()}, loc);
    const Tensor hit = eq(unsqueeze(i, 0, loc), Arg(unsqueeze(i, 1, loc), loc));
    return hit.to(options.dtype(), loc);
  });
  return with_grad("eye", std::move(out), options, loc);
}

Tensor rand(Dims sizes, TensorOptions options, Loc loc) {
  return random<structured::Rand>(sizes, options, 0.0, 1.0, loc);
}
Tensor randn(Dims sizes, TensorOptions options, Loc loc) {
  return random<structured::Randn>(sizes, options, 0.0, 1.0, loc);
}
Tensor rand_like(const Tensor& x, TensorOptions options, Loc loc) {
  (void)given(x, "rand_like", loc);
  return as_op("rand_like", [&] { return rand(x.sizes(), like(x, options), loc); });
}
Tensor randn_like(const Tensor& x, TensorOptions options, Loc loc) {
  (void)given(x, "randn_like", loc);
  return as_op("randn_like", [&] { return randn(x.sizes(), like(x, options), loc); });
}
Tensor randint(i64 low, i64 high, Dims sizes, TensorOptions options, Loc loc) {
  INGOT_CHECK_AT("randint", loc, low < high, "no integers in [{}, {})", low, high);
  DType t = options.has_dtype() ? options.dtype() : DType::i64;
  return random<structured::Randint>(sizes, options.dtype(t), low, high, loc);
}

Tensor randperm(i64 n, TensorOptions options, Loc loc) {
  INGOT_CHECK_AT("randperm", loc, n >= 0, "{} is negative", n);
  Tensor out = as_op("randperm", [&] {
    // The order of random keys; equal ones (hardly ever) keep theirs.
    const Tensor keys = rand({n}, TensorOptions(kDouble, options.device()), loc);
    const Tensor order = topk(keys, n, 0, false, loc).indices;
    return options.has_dtype() ? order.to(options.dtype(), loc) : order;
  });
  return with_grad("randperm", std::move(out), options, loc);
}

Tensor& Tensor::uniform_(Real low, Real high, Loc loc) & {
  write_random<structured::UniformFill>(*this, low, high, loc);
  return *this;
}
Tensor& Tensor::normal_(Real mean, Real std, Loc loc) & {
  write_random<structured::NormalFill>(*this, mean, std, loc);
  return *this;
}

Tensor Tensor::to(TensorOptions options, Loc loc) const {
  (void)given(*this, "to", loc);
  DType t = options.has_dtype() ? options.dtype() : dtype();
  Device d = options.has_device() ? options.device() : device();
  if (t == dtype() && d == device()) return *this;
  Attrs attrs;
  attrs.a = static_cast<i64>(t);
  attrs.b = static_cast<i64>(d.type());
  attrs.c = d.index();
  const Tensor* in[] = {this};
  return as_op("to", [&] {
    return dispatch({structured_op<structured::ToCopy>, in, 1, attrs, loc});
  });
}

Tensor Tensor::cpu(Loc loc) const {
  return as_op("cpu", [&] { return to(TensorOptions(kCPU), loc); });
}
Tensor Tensor::cuda(Int index, Loc loc) const {
  return as_op("cuda", [&] { return to(TensorOptions(Device(kCUDA, index, loc)), loc); });
}

Tensor to_meta(const Tensor& x, const Meta& m, Loc loc) {
  return x.to(TensorOptions(m.dtype, m.device), loc);
}

Tensor clone(const Tensor& x, Loc loc) {
  const Tensor* in[] = {&x};
  return dispatch({structured_op<structured::Clone>, in, 1, Attrs{}, loc});
}

Tensor contiguous(const Tensor& x, Loc loc) {
  if (given(x, "contiguous", loc).is_contiguous()) return x;
  Attrs attrs;
  attrs.a = 1;
  const Tensor* in[] = {&x};
  return dispatch({structured_op<structured::Clone>, in, 1, attrs, loc});
}

Tensor& Tensor::copy_(const Tensor& source, Loc loc) & {
  const Tensor* in[] = {this, &source};
  (void)dispatch({structured_op<structured::Copy>, in, 2, Attrs{}, loc, kCPU, 0});
  return *this;
}

Tensor& Tensor::fill_(Scalar value, Loc loc) & {
  if (defined()) check_fits("fill_", value, dtype(), loc);
  Attrs attrs;
  attrs.add_scalar(value);
  const Tensor* in[] = {this};
  (void)dispatch({structured_op<structured::Fill>, in, 1, attrs, loc, kCPU, 0});
  return *this;
}

Tensor& Tensor::zero_(Loc loc) & {
  return as_op("zero_", [&]() -> Tensor& { return fill_(0, loc); });
}

void Tensor::operator=(const Arg& value) && {
  if (value.tensor != nullptr) {
    copy_(*value.tensor, value.loc);
  } else {
    fill_(value.scalar, value.loc);
  }
}

Tensor cat(const std::vector<Tensor>& tensors, Int axis, Loc loc) {
  INGOT_CHECK_AT("cat", loc, !tensors.empty(), "no tensors given");
  for (const Tensor& t : tensors) (void)given(t, "cat", loc);
  DType dtype = tensors[0].dtype();
  for (const Tensor& t : tensors) dtype = promote(dtype, t.dtype());
  std::vector<Tensor> casts;
  std::vector<const Tensor*> in;
  for (const Tensor& t : tensors) casts.push_back(t.to(TensorOptions(dtype), loc));
  for (const Tensor& t : casts) in.push_back(&t);
  INGOT_CHECK_AT("cat", loc, tensors[0].dim() > 0, "0-d tensors cannot be joined; use stack");
  Attrs attrs;
  attrs.a = axis_of(tensors[0], axis, "cat", loc);
  return dispatch(
      {structured_op<structured::Cat>, in.data(), static_cast<int>(in.size()), attrs, loc});
}

Tensor stack(const std::vector<Tensor>& tensors, Int axis, Loc loc) {
  INGOT_CHECK_AT("stack", loc, !tensors.empty(), "no tensors given");
  std::vector<Tensor> rows;
  for (const Tensor& t : tensors) (void)given(t, "stack", loc);
  return as_op("stack", [&] {
    for (const Tensor& t : tensors) rows.push_back(unsqueeze(t, axis, loc));
    return cat(rows, axis < 0 ? axis + rows[0].dim() : int{axis}, loc);
  });
}

Tensor flip(const Tensor& x, Dims axes, Loc loc) {
  Attrs attrs;
  for (i64 a : axes) {
    const i64 axis = axis_of(x, a, "flip", loc);
    for (i64 seen : attrs.dims) {
      INGOT_CHECK_AT("flip", loc, axis != seen, "dim {} appears twice in {}", a, to_string(axes));
    }
    attrs.dims.push_back(axis);
  }
  const Tensor* in[] = {&x};
  return dispatch({structured_op<structured::Flip>, in, 1, attrs, loc});
}

Tensor slice_backward(const Tensor& dy, const Dims& sizes, int axis, i64 start, i64 step, Loc loc) {
  Attrs attrs;
  attrs.dims = sizes;
  attrs.a = axis;
  attrs.b = step;
  attrs.add_scalar(start);
  const Tensor* in[] = {&dy};
  return dispatch({structured_op<structured::SliceBackward>, in, 1, attrs, loc});
}

}  // namespace ingot
