// Elementwise ops: from arguments to one dispatch, with promotion and casts before it.
#include <ingot/kernels/core/check.h>
#include <ingot/kernels/ops/elementwise.h>
#include <ingot/kernels/ops/user_row.h>
#include <ingot/runtime/arguments.h>
#include <ingot/runtime/call_row.h>
#include <ingot/runtime/internal_ops.h>

namespace ingot {

namespace {

struct Operand {
  const Tensor* tensor = nullptr;  // null: the scalar
  Scalar scalar;
};

Operand operand(const char* op, const Arg& a) {
  if (a.tensor != nullptr) (void)given(*a.tensor, op, a.loc);
  return {a.tensor, a.scalar};
}

DType scalar_dtype(Scalar s) {
  switch (s.kind()) {
    case Scalar::Kind::boolean:
      return DType::boolean;
    case Scalar::Kind::integer:
      return DType::i64;
    case Scalar::Kind::floating:
      break;
  }
  return DType::f32;
}

// PyTorch's result_type: tensors with dims decide; 0-d tensors, then numbers, only when their
// category (bool, integer, floating) is higher.
DType result_type(const Operand* operands, int n) {
  // Floating tensors of one dtype beside numbers: nothing to decide.
  const Tensor* first = nullptr;
  bool plain = true;
  for (int i = 0; i < n; ++i) {
    const Tensor* t = operands[i].tensor;
    if (t == nullptr) continue;
    if (first == nullptr) first = t;
    plain &= t->dtype() == first->dtype();
  }
  if (plain && first != nullptr && first->is_floating_point()) return first->dtype();
  std::optional<DType> by_rank[3];
  for (int i = 0; i < n; ++i) {
    const Tensor* t = operands[i].tensor;
    int rank = t == nullptr ? 2 : t->dim() == 0 ? 1 : 0;
    DType d = t == nullptr ? scalar_dtype(operands[i].scalar) : t->dtype();
    by_rank[rank] = by_rank[rank] ? promote(*by_rank[rank], d) : d;
  }
  std::optional<DType> result;
  for (const std::optional<DType>& d : by_rank) {
    if (!d) continue;
    if (!result || category(*d) > category(*result)) result = result ? promote(*result, *d) : d;
  }
  return *result;
}

const Tensor* cast(const Tensor& t, DType dtype, Tensor* storage, Loc loc) {
  if (t.dtype() == dtype) return &t;
  *storage = t.to(TensorOptions(dtype), loc);
  return storage;
}

// Casts the operands to `dtype` and dispatches. mask: the condition of where(), kept as it is.
Tensor run(const OpInfo& op, const Tensor* mask, const Operand* operands, int n, DType dtype,
           int writes, Loc loc) {
  const Tensor* in[kMaxRowInputs];
  Tensor casts[kMaxRowInputs];
  Attrs attrs;
  int count = 0;
  bool any_tensor = false;
  if (mask != nullptr) in[count++] = mask;
  for (int i = 0; i < n; ++i) {
    // Integers wrap in arithmetic; what is no i64 has no value to wrap.
    if (operands[i].scalar.above_i64()) [[unlikely]]
      check_fits(op.name, operands[i].scalar, dtype, loc);
    if (operands[i].tensor != nullptr) {
      in[count] = cast(*operands[i].tensor, dtype, &casts[count], loc);
      any_tensor = true;
    } else if (i + 1 == n && !any_tensor) {
      // There is no other operand to say where, unless the mask does.
      const Device device = mask != nullptr ? mask->device() : default_device();
      casts[count] = scalar_tensor(operands[i].scalar, TensorOptions(dtype, device), loc);
      in[count] = &casts[count];
    } else {
      in[count] = nullptr;
      attrs.add_scalar(operands[i].scalar);
    }
    ++count;
  }
  return dispatch({op, in, count, attrs, loc, kCPU, writes});
}

// The numbers among the operands are values of `dtype`.
template <int N>
void check_numbers(const char* op, const Operand (&operands)[N], DType dtype, Loc loc) {
  for (const Operand& o : operands) {
    if (o.tensor == nullptr) check_fits(op, o.scalar, dtype, loc);
  }
}

template <int N>
Tensor elementwise(const OpInfo& op, const Operand (&operands)[N], Loc loc) {
  DType dtype = result_type(operands, N);
  if (op.needs_floating && !is_floating_point(dtype)) dtype = DType::f32;
  return run(op, nullptr, operands, N, dtype, -1, loc);
}

// `called` is the op's name with its underscore.
template <int N>
Tensor& elementwise_(const char* called, const OpInfo& op, Tensor& self,
                     const Operand (&operands)[N], Loc loc) {
  DType dtype = result_type(operands, N);
  if (op.needs_floating && !is_floating_point(dtype)) dtype = DType::f32;
  INGOT_CHECK_AT(called, loc, category(dtype) <= category(self.dtype()),
                 "the result is {}, which {} cannot hold", name(dtype), describe(self.meta()));
  as_op(called, [&] { (void)run(op, nullptr, operands, N, self.dtype(), 0, loc); });
  return self;
}

// Most calls: one dtype that the row computes in, nothing to convert.
Tensor unary(const OpInfo& op, const Tensor& x, Loc loc) {
  if (is_floating_point(given(x, op.name, loc).meta().dtype)) [[likely]] {
    const Tensor* in[] = {&x};
    return dispatch({op, in, 1, kNoAttrs, loc});
  }
  Operand operands[] = {{&x, {}}};
  return elementwise(op, operands, loc);
}

Tensor binary(const OpInfo& op, const Arg& a, const Arg& b) {
  // The operand that was converted last stands on the line of the call.
  const Loc loc = b.loc;
  if (a.tensor != nullptr && b.tensor != nullptr) [[likely]] {
    const DType t = given(*a.tensor, op.name, loc).meta().dtype;
    if (t == given(*b.tensor, op.name, loc).meta().dtype && is_floating_point(t)) [[likely]] {
      const Tensor* in[] = {a.tensor, b.tensor};
      return dispatch({op, in, 2, kNoAttrs, loc});
    }
  } else if (a.tensor != nullptr || b.tensor != nullptr) {
    const Tensor& x = a.tensor != nullptr ? *a.tensor : *b.tensor;
    if (is_floating_point(given(x, op.name, loc).meta().dtype)) [[likely]] {
      const Tensor* in[] = {a.tensor, b.tensor};
      Attrs attrs;
      attrs.add_scalar(a.tensor != nullptr ? b.scalar : a.scalar);
      return dispatch({op, in, 2, attrs, loc});
    }
  }
  Operand operands[] = {operand(op.name, a), operand(op.name, b)};
  return elementwise(op, operands, loc);
}

template <class Row>
Tensor unary(const Tensor& x, Loc loc) {
  return unary(elementwise_op<Row>, x, loc);
}

template <class Row>
Tensor& unary_(const char* called, Tensor& x, Loc loc) {
  (void)given(x, called, loc);
  Operand operands[] = {{&x, {}}};
  return elementwise_(called, elementwise_op<Row>, x, operands, loc);
}

template <class Row>
Tensor binary(const Arg& a, const Arg& b) {
  return binary(elementwise_op<Row>, a, b);
}

template <class Row>
Tensor& binary_(const char* called, Tensor& x, const Arg& other) {
  (void)given(x, called, other.loc);
  Operand operands[] = {{&x, {}}, operand(called, other)};
  return elementwise_(called, elementwise_op<Row>, x, operands, other.loc);
}

}  // namespace

Tensor call_row(const OpInfo& op, const Arg* const* args, int n) {
  Operand operands[kMaxRowInputs];
  for (int i = 0; i < n; ++i) operands[i] = operand(op.name, *args[i]);
  const Loc loc = args[n - 1]->loc;
  const Tensor* mask = nullptr;
  const Operand* values = operands;
  if (op.user->condition_first) {
    mask = operands[0].tensor;
    if (mask == nullptr || mask->dtype() != DType::boolean) {
      detail::fail_at<Error>(op.name, loc, "the first operand must be a bool tensor");
    }
    ++values;
    --n;
  }
  DType dtype = result_type(values, n);
  if (op.needs_floating && !is_floating_point(dtype)) dtype = DType::f32;
  return run(op, mask, values, n, dtype, -1, loc);
}

#define INGOT_UNARY(function, Row) \
  Tensor function(const Tensor& x, Loc loc) { return unary<rows::Row>(x, loc); }
INGOT_UNARY(neg, Neg)
INGOT_UNARY(abs, Abs)
INGOT_UNARY(sign, Sign)
INGOT_UNARY(exp, Exp)
INGOT_UNARY(expm1, Expm1)
INGOT_UNARY(log, Log)
INGOT_UNARY(log1p, Log1p)
INGOT_UNARY(sqrt, Sqrt)
INGOT_UNARY(std_of_var, Std)
INGOT_UNARY(rsqrt, Rsqrt)
INGOT_UNARY(square, Square)
INGOT_UNARY(reciprocal, Reciprocal)
INGOT_UNARY(tanh, Tanh)
INGOT_UNARY(sigmoid, Sigmoid)
INGOT_UNARY(erf, Erf)
INGOT_UNARY(relu, Relu)
INGOT_UNARY(silu, Silu)
INGOT_UNARY(softplus, Softplus)
INGOT_UNARY(sin, Sin)
INGOT_UNARY(cos, Cos)
INGOT_UNARY(floor, Floor)
INGOT_UNARY(ceil, Ceil)
INGOT_UNARY(trunc, Trunc)
INGOT_UNARY(round, Round)
INGOT_UNARY(logical_not, LogicalNot)
INGOT_UNARY(isnan, IsNan)
#undef INGOT_UNARY

#define INGOT_UNARY_WRITES(function, Row) \
  Tensor& Tensor::function(Loc loc)& { return unary_<rows::Row>(#function, *this, loc); }
INGOT_UNARY_WRITES(neg_, Neg)
INGOT_UNARY_WRITES(abs_, Abs)
INGOT_UNARY_WRITES(exp_, Exp)
INGOT_UNARY_WRITES(log_, Log)
INGOT_UNARY_WRITES(sqrt_, Sqrt)
INGOT_UNARY_WRITES(rsqrt_, Rsqrt)
INGOT_UNARY_WRITES(square_, Square)
INGOT_UNARY_WRITES(reciprocal_, Reciprocal)
INGOT_UNARY_WRITES(tanh_, Tanh)
INGOT_UNARY_WRITES(sigmoid_, Sigmoid)
INGOT_UNARY_WRITES(relu_, Relu)
INGOT_UNARY_WRITES(floor_, Floor)
INGOT_UNARY_WRITES(ceil_, Ceil)
INGOT_UNARY_WRITES(round_, Round)
#undef INGOT_UNARY_WRITES

#define INGOT_BINARY(function, Row) \
  Tensor function(const Arg& a, const Arg& b) { return binary<rows::Row>(a, b); }
INGOT_BINARY(add, Add)
INGOT_BINARY(sub, Sub)
INGOT_BINARY(mul, Mul)
INGOT_BINARY(div, Div)
INGOT_BINARY(pow, Pow)
INGOT_BINARY(maximum, Maximum)
INGOT_BINARY(minimum, Minimum)
INGOT_BINARY(floor_divide, FloorDivide)
INGOT_BINARY(remainder, Remainder)
INGOT_BINARY(fmod, Fmod)
INGOT_BINARY(eq, Eq)
INGOT_BINARY(ne, Ne)
INGOT_BINARY(lt, Lt)
INGOT_BINARY(le, Le)
INGOT_BINARY(gt, Gt)
INGOT_BINARY(ge, Ge)
INGOT_BINARY(logical_and, LogicalAnd)
INGOT_BINARY(logical_or, LogicalOr)
INGOT_BINARY(operator+, Add)
INGOT_BINARY(operator-, Sub)
INGOT_BINARY(operator*, Mul)
INGOT_BINARY(operator/, Div)
INGOT_BINARY(operator%, Remainder)
INGOT_BINARY(operator==, Eq)
INGOT_BINARY(operator!=, Ne)
INGOT_BINARY(operator<, Lt)
INGOT_BINARY(operator<=, Le)
INGOT_BINARY(operator>, Gt)
INGOT_BINARY(operator>=, Ge)
INGOT_BINARY(operator&&, LogicalAnd)
INGOT_BINARY(operator||, LogicalOr)
#undef INGOT_BINARY

#define INGOT_BINARY_WRITES(function, Row)              \
  Tensor& Tensor::function(const Arg& other)& {         \
    return binary_<rows::Row>(#function, *this, other); \
  }
INGOT_BINARY_WRITES(add_, Add)
INGOT_BINARY_WRITES(sub_, Sub)
INGOT_BINARY_WRITES(mul_, Mul)
INGOT_BINARY_WRITES(div_, Div)
INGOT_BINARY_WRITES(pow_, Pow)
#undef INGOT_BINARY_WRITES

Tensor operator-(TensorAt x) { return neg(x.tensor, x.loc); }
Tensor operator!(TensorAt x) { return logical_not(x.tensor, x.loc); }

Tensor gelu(const Tensor& x, std::string_view approximate, Loc loc) {
  if (approximate == "tanh") return unary<rows::GeluTanh>(x, loc);
  INGOT_CHECK_AT("gelu", loc, approximate == "none",
                 "approximate must be \"none\" or \"tanh\", got \"{}\"", approximate);
  return unary<rows::Gelu>(x, loc);
}

Tensor where(const Tensor& condition, const Arg& a, const Arg& b) {
  INGOT_CHECK_AT("where", b.loc, given(condition, "where", b.loc).dtype() == DType::boolean,
                 "the condition must be bool, got {}", describe(condition.meta()));
  Operand operands[] = {operand("where", a), operand("where", b)};
  const DType t = result_type(operands, 2);
  check_numbers("where", operands, t, b.loc);
  return run(elementwise_op<rows::Where>, &condition, operands, 2, t, -1, b.loc);
}

Tensor clamp(const Tensor& x, std::optional<Scalar> min, std::optional<Scalar> max, Loc loc) {
  (void)given(x, "clamp", loc);
  if (min && max) {
    Operand operands[] = {{&x, {}}, {nullptr, *min}, {nullptr, *max}};
    check_numbers("clamp", operands, result_type(operands, 3), loc);
    return elementwise(elementwise_op<rows::Clamp>, operands, loc);
  }
  INGOT_CHECK_AT("clamp", loc, min || max, "neither min nor max is given");
  Operand operands[] = {{&x, {}}, {nullptr, min ? *min : *max}};
  check_numbers("clamp", operands, result_type(operands, 2), loc);
  return elementwise(min ? elementwise_op<rows::ClampMin> : elementwise_op<rows::ClampMax>,
                     operands, loc);
}

Tensor& Tensor::clamp_(std::optional<Scalar> min, std::optional<Scalar> max, Loc loc) & {
  (void)given(*this, "clamp_", loc);
  if (min && max) {
    Operand operands[] = {{this, {}}, {nullptr, *min}, {nullptr, *max}};
    check_numbers("clamp_", operands, result_type(operands, 3), loc);
    return elementwise_("clamp_", elementwise_op<rows::Clamp>, *this, operands, loc);
  }
  INGOT_CHECK_AT("clamp_", loc, min || max, "neither min nor max is given");
  Operand operands[] = {{this, {}}, {nullptr, min ? *min : *max}};
  check_numbers("clamp_", operands, result_type(operands, 2), loc);
  return elementwise_("clamp_",
                      min ? elementwise_op<rows::ClampMin> : elementwise_op<rows::ClampMax>, *this,
                      operands, loc);
}

Tensor lerp(const Tensor& start, const Tensor& end, const Arg& weight) {
  Operand operands[] = {operand("lerp", {start, weight.loc}), operand("lerp", {end, weight.loc}),
                        operand("lerp", weight)};
  return elementwise(elementwise_op<rows::Lerp>, operands, weight.loc);
}

Tensor& Tensor::lerp_(const Tensor& end, const Arg& weight) & {
  Operand operands[] = {operand("lerp_", {*this, weight.loc}), operand("lerp_", {end, weight.loc}),
                        operand("lerp_", weight)};
  return elementwise_("lerp_", elementwise_op<rows::Lerp>, *this, operands, weight.loc);
}

// The rows take the scalar last.
Tensor addcmul(const Tensor& x, const Tensor& t1, const Tensor& t2, Scalar value, Loc loc) {
  Operand operands[] = {operand("addcmul", {x, loc}),
                        operand("addcmul", {t1, loc}),
                        operand("addcmul", {t2, loc}),
                        {nullptr, value}};
  return elementwise(elementwise_op<rows::Addcmul>, operands, loc);
}

Tensor& Tensor::addcmul_(const Tensor& t1, const Tensor& t2, Scalar value, Loc loc) & {
  Operand operands[] = {operand("addcmul_", {*this, loc}),
                        operand("addcmul_", {t1, loc}),
                        operand("addcmul_", {t2, loc}),
                        {nullptr, value}};
  return elementwise_("addcmul_", elementwise_op<rows::Addcmul>, *this, operands, loc);
}

Tensor addcdiv(const Tensor& x, const Tensor& t1, const Tensor& t2, Scalar value, Loc loc) {
  Operand operands[] = {operand("addcdiv", {x, loc}),
                        operand("addcdiv", {t1, loc}),
                        operand("addcdiv", {t2, loc}),
                        {nullptr, value}};
  return elementwise(elementwise_op<rows::Addcdiv>, operands, loc);
}

Tensor& Tensor::addcdiv_(const Tensor& t1, const Tensor& t2, Scalar value, Loc loc) & {
  Operand operands[] = {operand("addcdiv_", {*this, loc}),
                        operand("addcdiv_", {t1, loc}),
                        operand("addcdiv_", {t2, loc}),
                        {nullptr, value}};
  return elementwise_("addcdiv_", elementwise_op<rows::Addcdiv>, *this, operands, loc);
}

}  // namespace ingot
