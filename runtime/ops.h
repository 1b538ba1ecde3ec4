// The ops as functions.
// Owns: the public op declarations. Tensors broadcast as in NumPy and promote as in PyTorch; a
// number operand never widens a tensor of its own category; the op's line is that of the call.
// Errors: ingot::Error with the op, the operands and the line. Must not know: kernels.
#pragma once

#include <string_view>

#include <ingot/runtime/literal.h>
#include <ingot/runtime/tensor.h>

namespace ingot {

// --- creation: sizes, then options {dtype, device, requires_grad} -------------------------------
Tensor empty(Dims sizes, TensorOptions options = {},
             Loc loc = Loc::here());  // zeros too: nothing depends on old bytes
Tensor zeros(Dims sizes, TensorOptions options = {}, Loc loc = Loc::here());
Tensor ones(Dims sizes, TensorOptions options = {}, Loc loc = Loc::here());
// Without a dtype: bool, i64 or f32, as the value's kind says. A number that an integer dtype
// cannot hold is an Error, here and where elements are set or bounded by one (fill_, x[i] = v,
// index_put_, where, clamp); -1 stands for 255 of u8. In arithmetic integers wrap, but a number of
// 2^63 or more is refused there too.
Tensor full(Dims sizes, Scalar value, TensorOptions options = {}, Loc loc = Loc::here());
Tensor zeros_like(const Tensor& x, TensorOptions options = {}, Loc loc = Loc::here());
Tensor ones_like(const Tensor& x, TensorOptions options = {}, Loc loc = Loc::here());
Tensor full_like(const Tensor& x, Scalar value, TensorOptions options = {}, Loc loc = Loc::here());
Tensor empty_like(const Tensor& x, TensorOptions options = {}, Loc loc = Loc::here());
// 0, 1, ... below end; i64 unless a bound is floating (then f32) or the options say otherwise.
Tensor arange(Scalar end, TensorOptions options = {}, Loc loc = Loc::here());
Tensor arange(Scalar start, Scalar end, Scalar step = 1, TensorOptions options = {},
              Loc loc = Loc::here());
Tensor eye(i64 n, TensorOptions options = {}, Loc loc = Loc::here());
// Random, from the device's generator (manual_seed; seed 0 when never seeded).
Tensor rand(Dims sizes, TensorOptions options = {}, Loc loc = Loc::here());   // [0, 1)
Tensor randn(Dims sizes, TensorOptions options = {}, Loc loc = Loc::here());  // mean 0, std 1
// Of the sizes of x; dtype and device too, unless the options say otherwise.
Tensor rand_like(const Tensor& x, TensorOptions options = {}, Loc loc = Loc::here());
Tensor randn_like(const Tensor& x, TensorOptions options = {}, Loc loc = Loc::here());
Tensor randint(i64 low, i64 high, Dims sizes, TensorOptions options = {}, Loc loc = Loc::here());
Tensor randperm(i64 n, TensorOptions options = {}, Loc loc = Loc::here());  // i64
// zeros(2, 3) is zeros({2, 3}): the error is one line.
template <Integer... I>
requires(sizeof...(I) > 1) Tensor zeros(I...)
= delete;
template <Integer... I>
requires(sizeof...(I) > 1) Tensor ones(I...)
= delete;
template <Integer... I>
requires(sizeof...(I) > 1) Tensor rand(I...)
= delete;
template <Integer... I>
requires(sizeof...(I) > 1) Tensor randn(I...)
= delete;
template <Integer... I>
requires(sizeof...(I) > 1) Tensor empty(I...)
= delete;

namespace detail {
Tensor from_numbers(const char* op, const std::vector<Scalar>& values, Dims sizes,
                    TensorOptions options, Loc loc);
}
// Of these values, f32 unless the options say otherwise: tensor({1, 2}) is [2], tensor({{1, 2}, {3,
// 4}}) [2, 2], tensor(3.0) has no dims. Lists of one depth have one length (Error else).
Tensor tensor(std::initializer_list<Literal> values, TensorOptions options = {},
              Loc loc = Loc::here());
Tensor tensor(Scalar value, TensorOptions options = {}, Loc loc = Loc::here());
// Of a list that has a name already; braces are never an L.
template <class L>
requires std::same_as<L, std::initializer_list<typename L::value_type>> Tensor
tensor(const L& values, TensorOptions options = {}, Loc loc = Loc::here()) {
  return detail::from_numbers("tensor", {values.begin(), values.end()},
                              static_cast<i64>(values.size()), options.dtype(options.dtype()), loc);
}
// A 0-d tensor; the dtype is that of full().
Tensor scalar_tensor(Scalar value, TensorOptions options = {}, Loc loc = Loc::here());
// Copies `values` (row-major). Without a dtype the element type's: f32 f64 i64 i32 u8 bool; other
// integers become i64, and long double f64.
template <Element T>
Tensor from_vector(const std::vector<T>& values, Dims sizes, TensorOptions options = {},
                   Loc loc = Loc::here());
template <Number T>
requires(!Element<T>) Tensor from_vector(const std::vector<T>& values, Dims sizes,
                                         TensorOptions options = {}, Loc loc = Loc::here()) {
  constexpr DType t = std::is_floating_point_v<T> ? DType::f64 : DType::i64;
  return detail::from_numbers("from_vector", {values.begin(), values.end()}, sizes,
                              options.has_dtype() ? options : options.dtype(t), loc);
}
// Borrows row-major bytes of the options' dtype; they must outlive the tensor. Without a device in
// the options they are the host's.
Tensor from_blob(void* data, Dims sizes, TensorOptions options = {}, Loc loc = Loc::here());

// --- elementwise, one operand --------------------------------------------------------------------
// Integers become f32 where the result is not an integer.
Tensor neg(const Tensor& x, Loc loc = Loc::here());         // -x
Tensor abs(const Tensor& x, Loc loc = Loc::here());         // |x|; the least integer stays
Tensor sign(const Tensor& x, Loc loc = Loc::here());        // -1, 0 or 1; 0 for NaN
Tensor exp(const Tensor& x, Loc loc = Loc::here());         // e^x
Tensor expm1(const Tensor& x, Loc loc = Loc::here());       // e^x - 1, exact near 0
Tensor log(const Tensor& x, Loc loc = Loc::here());         // natural logarithm
Tensor log1p(const Tensor& x, Loc loc = Loc::here());       // log(1 + x), exact near 0
Tensor sqrt(const Tensor& x, Loc loc = Loc::here());        // square root
Tensor rsqrt(const Tensor& x, Loc loc = Loc::here());       // 1 / sqrt(x)
Tensor square(const Tensor& x, Loc loc = Loc::here());      // x * x
Tensor reciprocal(const Tensor& x, Loc loc = Loc::here());  // 1 / x
Tensor tanh(const Tensor& x, Loc loc = Loc::here());        // hyperbolic tangent
Tensor sigmoid(const Tensor& x, Loc loc = Loc::here());     // 1 / (1 + e^-x)
Tensor erf(const Tensor& x, Loc loc = Loc::here());         // error function
Tensor relu(const Tensor& x, Loc loc = Loc::here());  // max(x, 0); NaN stays NaN, gradient 0 at 0
Tensor silu(const Tensor& x, Loc loc = Loc::here());  // x * sigmoid(x)
Tensor softplus(const Tensor& x, Loc loc = Loc::here());     // log(1 + e^x)
Tensor sin(const Tensor& x, Loc loc = Loc::here());          // sine, radians
Tensor cos(const Tensor& x, Loc loc = Loc::here());          // cosine, radians
Tensor floor(const Tensor& x, Loc loc = Loc::here());        // largest integer <= x
Tensor ceil(const Tensor& x, Loc loc = Loc::here());         // smallest integer >= x
Tensor trunc(const Tensor& x, Loc loc = Loc::here());        // toward zero
Tensor round(const Tensor& x, Loc loc = Loc::here());        // to the nearest integer, ties to even
Tensor logical_not(const Tensor& x, Loc loc = Loc::here());  // !x -> bool
Tensor isnan(const Tensor& x, Loc loc = Loc::here());        // x != x -> bool
// x * Phi(x); approximate "none" (erf) or "tanh".
Tensor gelu(const Tensor& x, std::string_view approximate = "none", Loc loc = Loc::here());

// --- elementwise, more operands ------------------------------------------------------------------
Tensor add(const Arg& a, const Arg& b);           // a + b
Tensor sub(const Arg& a, const Arg& b);           // a - b
Tensor mul(const Arg& a, const Arg& b);           // a * b
Tensor div(const Arg& a, const Arg& b);           // a / b; integers give f32
Tensor pow(const Arg& a, const Arg& b);           // a^b, C's special cases
Tensor maximum(const Arg& a, const Arg& b);       // the larger; NaN wins
Tensor minimum(const Arg& a, const Arg& b);       // the smaller; NaN wins
Tensor floor_divide(const Arg& a, const Arg& b);  // floor(a / b)
Tensor remainder(const Arg& a, const Arg& b);     // a - b * floor(a / b): the divisor's sign
Tensor fmod(const Arg& a, const Arg& b);          // a - b * trunc(a / b): the dividend's sign
Tensor eq(const Arg& a, const Arg& b);            // a == b -> bool
Tensor ne(const Arg& a, const Arg& b);            // a != b -> bool
Tensor lt(const Arg& a, const Arg& b);            // a < b -> bool
Tensor le(const Arg& a, const Arg& b);            // a <= b -> bool
Tensor gt(const Arg& a, const Arg& b);            // a > b -> bool
Tensor ge(const Arg& a, const Arg& b);            // a >= b -> bool
Tensor logical_and(const Arg& a, const Arg& b);   // a && b -> bool
Tensor logical_or(const Arg& a, const Arg& b);    // a || b -> bool
Tensor where(const Tensor& condition, const Arg& a, const Arg& b);  // condition is bool
Tensor clamp(const Tensor& x, std::optional<Scalar> min, std::optional<Scalar> max = {},
             Loc loc = Loc::here());
Tensor lerp(const Tensor& start, const Tensor& end, const Arg& weight);  // a + w * (b - a)
Tensor addcmul(const Tensor& x, const Tensor& t1, const Tensor& t2, Scalar value = 1,
               Loc loc = Loc::here());  // x + value * t1 * t2
Tensor addcdiv(const Tensor& x, const Tensor& t1, const Tensor& t2, Scalar value = 1,
               Loc loc = Loc::here());  // x + value * t1 / t2
Tensor operator+(const Arg& a, const Arg& b);
Tensor operator-(const Arg& a, const Arg& b);
Tensor operator*(const Arg& a, const Arg& b);
Tensor operator/(const Arg& a, const Arg& b);
Tensor operator%(const Arg& a, const Arg& b);  // remainder()
Tensor operator==(const Arg& a, const Arg& b);
Tensor operator!=(const Arg& a, const Arg& b);
Tensor operator<(const Arg& a, const Arg& b);
Tensor operator<=(const Arg& a, const Arg& b);
Tensor operator>(const Arg& a, const Arg& b);
Tensor operator>=(const Arg& a, const Arg& b);
Tensor operator&&(const Arg& a, const Arg& b);
Tensor operator||(const Arg& a, const Arg& b);
Tensor operator-(TensorAt x);
Tensor operator!(TensorAt x);

// --- views (no copy) and shapes
// -------------------------------------------------------------------
Tensor reshape(const Tensor& x, Dims sizes, Loc loc = Loc::here());  // one -1; copies if it must
Tensor view(const Tensor& x, Dims sizes, Loc loc = Loc::here());     // never copies
Tensor flatten(const Tensor& x, Int start = 0, Int end = -1, Loc loc = Loc::here());
Tensor permute(const Tensor& x, Dims axes, Loc loc = Loc::here());
Tensor transpose(const Tensor& x, Int a, Int b, Loc loc = Loc::here());
Tensor expand(const Tensor& x, Dims sizes, Loc loc = Loc::here());  // -1 keeps a size
Tensor squeeze(const Tensor& x, Loc loc = Loc::here());
Tensor squeeze(const Tensor& x, Int axis, Loc loc = Loc::here());
Tensor unsqueeze(const Tensor& x, Int axis, Loc loc = Loc::here());
Tensor slice(const Tensor& x, Int axis, std::optional<i64> start = {}, std::optional<i64> stop = {},
             i64 step = 1, Loc loc = Loc::here());
Tensor narrow(const Tensor& x, Int axis, i64 start, i64 length, Loc loc = Loc::here());
Tensor select(const Tensor& x, Int axis, i64 index, Loc loc = Loc::here());
Tensor detach(const Tensor& x, Loc loc = Loc::here());

// --- copies, joining, indexing
// --------------------------------------------------------------------
Tensor clone(const Tensor& x, Loc loc = Loc::here());  // keeps the stride order
Tensor contiguous(const Tensor& x, Loc loc = Loc::here());
Tensor cat(const std::vector<Tensor>& tensors, Int axis = 0, Loc loc = Loc::here());
Tensor stack(const std::vector<Tensor>& tensors, Int axis = 0, Loc loc = Loc::here());
Tensor flip(const Tensor& x, Dims axes, Loc loc = Loc::here());
// By index tensors, i64 or i32. An index outside of [0, size) is an IndexError: negative ones count
// from the end in x[t], index and index_put_ only.
Tensor index_select(const Tensor& x, Int axis, const Tensor& index, Loc loc = Loc::here());
Tensor index_add(const Tensor& x, Int axis, const Tensor& index, const Tensor& source,
                 Loc loc = Loc::here());
Tensor gather(const Tensor& x, Int axis, const Tensor& index, Loc loc = Loc::here());
Tensor scatter_add(const Tensor& x, Int axis, const Tensor& index, const Tensor& source,
                   Loc loc = Loc::here());
Tensor embedding(const Tensor& weight, const Tensor& index, Loc loc = Loc::here());
Tensor nonzero(const Tensor& x, Loc loc = Loc::here());  // i64 [count, dims]; reads x
Tensor masked_select(const Tensor& x, const Tensor& mask, Loc loc = Loc::here());
Tensor one_hot(const Tensor& index, i64 classes, Loc loc = Loc::here());  // i64 [..., classes]

// --- reductions: over all axes, or over the given ones (negative ones count from the back)
// --------
Tensor sum(const Tensor& x, Loc loc = Loc::here());  // integers and bool sum into i64
Tensor sum(const Tensor& x, Dims axes, Flag keepdim = false, Loc loc = Loc::here());
Tensor mean(const Tensor& x, Loc loc = Loc::here());  // floating dtypes only
Tensor mean(const Tensor& x, Dims axes, Flag keepdim = false, Loc loc = Loc::here());
Tensor prod(const Tensor& x, Loc loc = Loc::here());
Tensor prod(const Tensor& x, Dims axes, Flag keepdim = false, Loc loc = Loc::here());
Tensor amax(const Tensor& x, Dims axes = {}, Flag keepdim = false, Loc loc = Loc::here());
Tensor amin(const Tensor& x, Dims axes = {}, Flag keepdim = false, Loc loc = Loc::here());
Tensor max(const Tensor& x, Loc loc = Loc::here());
Tensor min(const Tensor& x, Loc loc = Loc::here());
ValuesIndices max(const Tensor& x, Int axis, Flag keepdim = false, Loc loc = Loc::here());
ValuesIndices min(const Tensor& x, Int axis, Flag keepdim = false, Loc loc = Loc::here());
Tensor argmax(const Tensor& x, Loc loc = Loc::here());  // i64, the first one in logical order
Tensor argmax(const Tensor& x, Int axis, Flag keepdim = false, Loc loc = Loc::here());
Tensor argmin(const Tensor& x, Loc loc = Loc::here());
Tensor argmin(const Tensor& x, Int axis, Flag keepdim = false, Loc loc = Loc::here());
Tensor any(const Tensor& x, Dims axes = {}, Flag keepdim = false, Loc loc = Loc::here());
Tensor all(const Tensor& x, Dims axes = {}, Flag keepdim = false, Loc loc = Loc::here());
Tensor var(const Tensor& x, Dims axes = {}, Int correction = 1, Flag keepdim = false,
           Loc loc = Loc::here());
// The k largest (or smallest) elements along an axis, in order, and their i64 indices. NaN counts
// as the largest; of equal elements the first comes first.
ValuesIndices topk(const Tensor& x, i64 k, Int axis = -1, Flag largest = true,
                   Loc loc = Loc::here());
// The standard deviation is a method, x.std(): a function of that name would hide namespace std.
Tensor logsumexp(const Tensor& x, Int axis, Flag keepdim = false, Loc loc = Loc::here());

// --- products
// -------------------------------------------------------------------------------------
Tensor matmul(const Tensor& a, const Tensor& b, Loc loc = Loc::here());  // 1-d, batches broadcast
Tensor addmm(const Tensor& input, const Tensor& a, const Tensor& b, Scalar beta = 1,
             Scalar alpha = 1, Loc loc = Loc::here());  // beta * input + alpha * a b
// x [..., in] times weight [out, in] transposed, plus bias [out] (undefined: none).
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
              Loc loc = Loc::here());

// --- composites
// -----------------------------------------------------------------------------------
Tensor softmax(const Tensor& x, Int axis, Loc loc = Loc::here());
Tensor log_softmax(const Tensor& x, Int axis, Loc loc = Loc::here());
// Over the trailing axes `normalized`; weight and bias have that shape or are undefined.
Tensor layer_norm(const Tensor& x, Dims normalized, const Tensor& weight = {},
                  const Tensor& bias = {}, Real eps = 1e-5, Loc loc = Loc::here());
Tensor dropout(const Tensor& x, Real p = 0.5, Flag training = true, Loc loc = Loc::here());
struct CrossEntropyOptions {
  Tensor weight = {};
  std::string_view reduction = "mean";  // "none", "sum"
  i64 ignore_index = -100;
  double label_smoothing = 0;
};
// logits [rows, classes], or [classes] with a 0-d target; target i64 class numbers.
Tensor cross_entropy(const Tensor& logits, const Tensor& target, CrossEntropyOptions options = {},
                     Loc loc = Loc::here());
// The mean of (x - target)^2. Shapes that differ broadcast, which is hardly ever meant: a warning
// on stderr names them, once for each line.
Tensor mse_loss(const Tensor& x, const Tensor& target, Loc loc = Loc::here());

// --- comparing values (these read their operands)
// -------------------------------------------------
bool equal(const Tensor& a, const Tensor& b, Loc loc = Loc::here());  // shape, dtype, values
bool allclose(const Tensor& a, const Tensor& b, Real rtol = 1e-5, Real atol = 1e-8,
              Flag equal_nan = false, Loc loc = Loc::here());

}  // namespace ingot
