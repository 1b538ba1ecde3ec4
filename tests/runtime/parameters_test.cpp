// A bool is no number, an int no flag: what mixes them up does not compile.
#include <type_traits>

#include <ingot/runtime/nn/nn.h>

#include "support/tensor_checks.h"

namespace ingot {
namespace {

using namespace testing_support;

// Bools and ints where the other is meant.
template <class... A>
constexpr bool kDropout = requires(const Tensor& x, A... a) {
  dropout(x, a...);
};
static_assert(kDropout<double, bool> && kDropout<float> && kDropout<int, bool>);
static_assert(!kDropout<bool> && !kDropout<bool, bool> && !kDropout<double, int>);
static_assert(!std::is_constructible_v<nn::Dropout, bool>);
static_assert(std::is_constructible_v<nn::Dropout, double>);

#define INGOT_FOR_REDUCTIONS(f) \
  f(sum);                       \
  f(mean);                      \
  f(prod);                      \
  f(amax);                      \
  f(amin);                      \
  f(max);                       \
  f(min);                       \
  f(argmax);                    \
  f(argmin);                    \
  f(any);                       \
  f(all);                       \
  f(logsumexp)
// Requirements that may fail need a template around them.
template <class T>
struct Reductions {
#define INGOT_TAKES(name)                                                \
  template <class... A>                                                  \
  static constexpr bool name##_method = requires(const T& x, A... a) {   \
    x.name(a...);                                                        \
  };                                                                     \
  template <class... A>                                                  \
  static constexpr bool name##_function = requires(const T& x, A... a) { \
    ingot::name(x, a...);                                                \
  };                                                                     \
  static_assert(name##_method<int, bool> && name##_function<i64, bool>); \
  static_assert(!name##_method<int, int> && !name##_function<int, int>); \
  static_assert(!name##_method<bool> && !name##_function<bool>);         \
  static_assert(!name##_method<int, double> && !name##_function<bool, bool>)
  INGOT_FOR_REDUCTIONS(INGOT_TAKES);
#undef INGOT_TAKES
};
template struct Reductions<Tensor>;
#undef INGOT_FOR_REDUCTIONS

template <class T, class... A>
constexpr bool kVar = requires(const T& x, A... a) {
  x.var(a...), x.std(a...), var(x, a...);
};
static_assert(kVar<Tensor, int, int, bool> && kVar<Tensor, Dims>);
static_assert(!kVar<Tensor, int, bool> && !kVar<Tensor, int, int, int>);
template <class T, class... A>
constexpr bool kTopk = requires(const T& x, A... a) {
  x.topk(a...), topk(x, a...);
};
static_assert(kTopk<Tensor, int, int, bool> && !kTopk<Tensor, int, bool> &&
              !kTopk<Tensor, int, int, int>);
template <class T, class... A>
constexpr bool kSoftmax = requires(const T& x, A... a) {
  x.softmax(a...), softmax(x, a...);
};
static_assert(kSoftmax<Tensor, i64> && !kSoftmax<Tensor, bool>);
template <class T, class... A>
constexpr bool kAllclose = requires(const T& x, A... a) {
  allclose(x, x, a...);
};
static_assert(kAllclose<Tensor, double, double, bool> && kAllclose<Tensor, int>);
static_assert(!kAllclose<Tensor, bool> && !kAllclose<Tensor, double, bool> &&
              !kAllclose<Tensor, double, double, int>);
template <class T, class... A>
constexpr bool kUniform = requires(T& x, A... a) {
  x.uniform_(a...), x.normal_(a...);
};
static_assert(kUniform<Tensor, int, double> && !kUniform<Tensor, bool>);
template <class T, class... A>
constexpr bool kLayerNorm = requires(const T& x, A... a) {
  layer_norm(x, {2}, x, x, a...);
};
static_assert(kLayerNorm<Tensor, double> && !kLayerNorm<Tensor, bool>);
template <class T, class F>
constexpr bool kCopies = requires(T& x, F f) {
  x.to(kCPU, f), x.copy_(x, f);
};
static_assert(kCopies<Tensor, bool> && !kCopies<Tensor, int>);
static_assert(std::is_constructible_v<nn::Linear, int, int, bool>);
static_assert(!std::is_constructible_v<nn::Linear, int, int, int>);
static_assert(std::is_convertible_v<std::vector<bool>::reference, Flag>);
static_assert(std::is_convertible_v<std::true_type, Flag>);
static_assert(!std::is_convertible_v<const char*, Flag> && !std::is_convertible_v<Tensor, Flag>);

// An axis beyond int's range is no other axis.
TEST(Parameters, AxesDoNotWrap) {
  const Tensor x = ones({2, 2});
  EXPECT_TRUE(contains(error_of([&] { (void)softmax(x, i64{1} << 32); }), "softmax: "));
  EXPECT_TRUE(contains(error_of([&] { (void)x[18446744073709551615ull]; }), "out of range"));
  EXPECT_TRUE(contains(error_of([&] { (void)zeros({18446744073709551615ull}); }), "zeros: "));
  EXPECT_NE(error_of([&] { (void)x.reshape({18446744073709551615ull}); }), "");
}

}  // namespace
}  // namespace ingot
