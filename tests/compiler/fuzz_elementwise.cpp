// Statements of random programs: elementwise ops and casts.
#include <array>
#include <span>

#include "compiler/fuzz_run.h"

namespace ingot::fuzz {

namespace {

// Rows of a user's own.
INGOT_ROW(FuzzBend, {
  static constexpr const char* name = "fuzz_bend";
  template <class S>
  static S value(S x) {
    return (x + sqrt(x * x + S(4))) * S(0.5);
  }
  template <class S>
  static S grad(S x, S, S dy) {
    return dy * (S(1) + x / sqrt(x * x + S(4))) * S(0.5);
  }
});
INGOT_ROW(FuzzMix, {
  static constexpr const char* name = "fuzz_mix";
  template <class S>
  static S value(S a, S b) {
    return select(a > b, a - b * S(0.25), tanh(b) * a);
  }
  template <class S>
  static S grad_a(S a, S b, S, S dy) {
    return select(a > b, dy, dy * tanh(b));
  }
  template <class S>
  static S grad_b(S a, S b, S, S dy) {
    const S t = tanh(b);
    return select(a > b, dy * S(-0.25), dy * a * (S(1) - t * t));
  }
});

struct Unary {
  const char* name;
  Tensor (*apply)(const Tensor&);
};
#define FUZZ_UNARY(op)                         \
  {                                            \
#op, [](const Tensor& x) { return op(x); } \
  }
const Unary kFloatingUnary[] = {FUZZ_UNARY(expm1),
                                FUZZ_UNARY(log),
                                FUZZ_UNARY(log1p),
                                FUZZ_UNARY(sqrt),
                                FUZZ_UNARY(rsqrt),
                                FUZZ_UNARY(reciprocal),
                                FUZZ_UNARY(tanh),
                                FUZZ_UNARY(tanh),
                                FUZZ_UNARY(sigmoid),
                                FUZZ_UNARY(sigmoid),
                                FUZZ_UNARY(erf),
                                FUZZ_UNARY(relu),
                                FUZZ_UNARY(relu),
                                FUZZ_UNARY(silu),
                                FUZZ_UNARY(softplus),
                                FUZZ_UNARY(sin),
                                FUZZ_UNARY(cos),
                                FUZZ_UNARY(floor),
                                FUZZ_UNARY(ceil),
                                FUZZ_UNARY(trunc),
                                FUZZ_UNARY(round),
                                FUZZ_UNARY(isnan),
                                FUZZ_UNARY(gelu),
                                {"gelu tanh", [](const Tensor& x) { return gelu(x, "tanh"); }},
                                {"exp", [](const Tensor& x) { return exp(clamp(x, -4, 4)); }},
                                {"fuzz_bend", [](const Tensor& x) { return op<FuzzBend>(x); }}};
const Unary kAnyUnary[] = {FUZZ_UNARY(neg),    FUZZ_UNARY(abs),  FUZZ_UNARY(sign),
                           FUZZ_UNARY(square), FUZZ_UNARY(tanh), FUZZ_UNARY(logical_not),
                           FUZZ_UNARY(clone),  FUZZ_UNARY(relu), FUZZ_UNARY(contiguous)};
#undef FUZZ_UNARY

struct Binary {
  const char* name;
  Tensor (*apply)(const Tensor&, const Tensor&);
};
#define FUZZ_BINARY(op)                                            \
  {                                                                \
#op, [](const Tensor& x, const Tensor& y) { return op(x, y); } \
  }
const Binary kBinary[] = {
    FUZZ_BINARY(add),
    FUZZ_BINARY(add),
    FUZZ_BINARY(sub),
    FUZZ_BINARY(mul),
    FUZZ_BINARY(mul),
    FUZZ_BINARY(div),
    FUZZ_BINARY(maximum),
    FUZZ_BINARY(minimum),
    FUZZ_BINARY(floor_divide),
    FUZZ_BINARY(remainder),
    FUZZ_BINARY(fmod),
    FUZZ_BINARY(eq),
    FUZZ_BINARY(ne),
    FUZZ_BINARY(lt),
    FUZZ_BINARY(le),
    FUZZ_BINARY(gt),
    FUZZ_BINARY(ge),
    FUZZ_BINARY(logical_and),
    FUZZ_BINARY(logical_or),
    FUZZ_BINARY(op<FuzzMix>),
    {"pow", [](const Tensor& x, const Tensor& y) { return pow(abs(x.to(kFloat32)), y); }},
    {"where gt", [](const Tensor& x, const Tensor& y) { return where(gt(x, y), x, y); }},
    {"where", [](const Tensor& x, const Tensor& y) { return where(x.to(kBool), y, 0.5); }},
    {"where scalar", [](const Tensor& x, const Tensor& y) { return where(lt(x, y), 1, y); }},
    {"lerp", [](const Tensor& x, const Tensor& y) { return lerp(x, y.to(x.dtype()), 0.25); }},
    {"addcdiv", [](const Tensor& x, const Tensor& y) { return addcdiv(x, y, abs(y) + 1, 0.5); }},
    {"mask", [](const Tensor& x, const Tensor& y) { return x * logical_and(gt(x, -1), lt(y, 1)); }},
};
#undef FUZZ_BINARY

}  // namespace

void Run::unary() {
  const bool of_any = features_.dtypes && shape_.chance(25);
  const Tensor x = of_any ? any() : floating();
  const auto table = of_any ? std::span<const Unary>(kAnyUnary) : std::span(kFloatingUnary);
  const Unary& u = table[static_cast<std::size_t>(choose(static_cast<int>(table.size())))];
  name(std::string(" ") + u.name);
  push(u.apply(x));
}

void Run::binary() {
  const Binary& b = kBinary[choose(static_cast<int>(std::size(kBinary)))];
  name(b.name);
  Tensor x = any();
  Tensor y = partner(x);
  if (!features_.dtypes || shape_.chance(50)) {
    x = x.to(kFloat32);
    y = y.to(kFloat32);
  }
  push(b.apply(x, y));
}

void Run::with_scalar() {
  const Tensor x = features_.dtypes && shape_.chance(30) ? any() : floating();
  const double s = scalar();
  // The kind of a number is structural: restless programs change it.
  const int kind = restless_ ? value_.below(3) : choose(3);
  const Scalar number = kind == 0 ? Scalar(s) : kind == 1 ? Scalar(whole()) : Scalar(s > 0);
  switch (choose(9)) {
    case 0:
      name(" mul number");
      return push(x * number);
    case 1:
      name(" number sub");
      return push(s - x);
    case 2:
      name(" add number");
      return push(x + number);
    case 3:
      name(" clamp");
      return push(clamp(x.to(kFloat32), s, s + 1));
    case 4:
      name(" clamp from below");
      return push(clamp(x.to(kFloat32), s));
    case 5:
      name(" div number");
      return push(x / (s + 3));
    case 6:
      name(" gt number");
      return push(x > number);
    case 7:
      name(" pow number");
      return push(pow(x.to(kFloat32), whole()));
    default:
      name(" addcmul");
      return push(addcmul(x, x, x, s));
  }
}

void Run::cast() {
  constexpr std::array<DType, 9> kTo = {kFloat32, kFloat32, kFloat64, kFloat16, kBFloat16,
                                        kInt64,   kInt32,   kUInt8,   kBool};
  const Tensor& x = any();
  push(x.to(kTo[static_cast<std::size_t>(choose(9))]));
}

}  // namespace ingot::fuzz
