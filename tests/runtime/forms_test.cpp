// The forms that a user tries first: what is printed, what stands in brackets, literals, calls.
#include <sstream>

#include <ingot/runtime/nn/nn.h>

#include "support/tensor_checks.h"

namespace ingot {
namespace {

using namespace testing_support;

template <class... T>
std::string printed(const T&... values) {
  std::ostringstream out;
  ((out << values << '|'), ...);
  return out.str();
}

TEST(Forms, ValuesArePrinted) {
  const Tensor x = ones({2, 3});
  EXPECT_EQ(printed(x.sizes(), x.strides(), Dims()), "[2, 3]|[3, 1]|[]|");
  EXPECT_EQ(printed(x.dtype(), kBool, x.device(), Device("cuda:1"), kCUDA),
            "f32|bool|cpu|cuda:1|cuda|");
  EXPECT_EQ(printed(Scalar(true), Scalar(3), Scalar(2.5), Scalar(18446744073709551615ull)),
            "true|3|2.5|18446744073709551615|");
  EXPECT_EQ(printed(x.options(), Slice(0, 2), All, Slice({}, -1, 2)), "f32 on cpu|0:2|:|:-1:2|");
  EXPECT_EQ(printed(tensor(3.0)), to_string(scalar_tensor(3.0)) + "|");
  EXPECT_TRUE(contains(printed(x.max(0)), "values "));
}

TEST(Forms, BracketsTakeWhateverNumPysTake) {
  Tensor x = iota({3, 4});
  const Tensor& fixed = x;
  const Tensor i = tensor({2, 0}, kInt64), mask = x[0] > 1;
  EXPECT_TRUE(has_values(x[Slice(0, 1)], {0, 1, 2, 3}));
  EXPECT_EQ(x[None].sizes(), Dims({1, 3, 4}));
  EXPECT_EQ(x[Ellipsis].sizes(), Dims({3, 4}));
  EXPECT_TRUE(has_values(x[{All, i}], {2, 0, 6, 4, 10, 8}));
  EXPECT_TRUE(has_values(fixed[{All, i}], {2, 0, 6, 4, 10, 8}));
  EXPECT_TRUE(has_values(fixed[{1, i}], {6, 4}));
  EXPECT_TRUE(has_values(x[{i, mask}], {10, 3}));
  EXPECT_TRUE(has_values(x[{0, 1}], {1}));
  EXPECT_TRUE(has_values(x % 3, {0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2}));
  EXPECT_TRUE(has_values(-7 % tensor({3.0}), {2}));
  const std::string error = error_of([&] { (void)x[{All, i + 4}]; });
  EXPECT_TRUE(contains(error, "out of range") && contains(error, "forms_test.cpp:")) << error;
}

TEST(Forms, AssignmentWritesThroughMasksAndIndices) {
  Tensor x = iota({2, 3});
  const Tensor i = tensor({1, 1}, kInt64);
  x[x > 3] = 1;
  EXPECT_TRUE(has_values(x, {0, 1, 2, 3, 1, 1}));
  x[x == 1] += 10;
  EXPECT_TRUE(has_values(x, {0, 11, 2, 3, 11, 11}));
  x[i] = tensor({{7, 8, 9}, {4, 5, 6}});  // of equal ones the last wins
  EXPECT_TRUE(has_values(x, {0, 11, 2, 4, 5, 6}));
  x[i] *= 2;  // once
  EXPECT_TRUE(has_values(x, {0, 11, 2, 8, 10, 12}));
  x[{All, i}] -= 1;
  EXPECT_TRUE(has_values(x, {0, 10, 2, 8, 9, 12}));
  x[0][x[0] > 5] /= 2;  // of a view
  EXPECT_TRUE(has_values(x, {0, 5, 2, 8, 9, 12}));
  x[{0, i}] = x[{1, i}];
  EXPECT_TRUE(has_values(x, {0, 9, 2, 8, 9, 12}));
  Tensor copy = x[i], named = ones({4});
  auto kept = x[i];
  copy += 1, kept += 1, kept = named;
  EXPECT_EQ(kept.sizes(), Dims({4}));
  EXPECT_TRUE(has_values(x, {0, 9, 2, 8, 9, 12}));
  const std::string error = error_of([&] { x[x > 0] = ones({2}); });
  EXPECT_TRUE(contains(error, "index_put_: ") && contains(error, "forms_test.cpp:")) << error;
}
// A copy is changed by nothing else, and a const tensor by nothing.
template <class T, class I>
constexpr bool kChangesCopy = requires(T& x, const I& i) {
  x[i].add_(1);
};
static_assert(kChangesCopy<Tensor, int> && !kChangesCopy<Tensor, Tensor>);
template <class T, class I>
constexpr bool kAssigns = requires(T& x, const I& i) {
  x[i] = 1;
};
static_assert(kAssigns<Tensor, Tensor> && kAssigns<const Tensor, int>);
static_assert(!kAssigns<const Tensor, Tensor>);

TEST(Forms, AssignmentsThroughMasksHaveGradients) {
  const Tensor w = iota({4}).requires_grad_(), v = tensor({10.0, 20.0}).requires_grad_();
  Tensor x = w * 2;
  x[w > 1] = v * 3;
  x.sum().backward();
  EXPECT_TRUE(has_values(w.grad(), {2, 2, 0, 0}));
  EXPECT_TRUE(has_values(v.grad(), {3, 3}));
}

TEST(Forms, LiteralsNest) {
  const int n = 3;
  EXPECT_EQ(tensor({n, 2}).sizes(), Dims({2}));
  EXPECT_EQ(tensor({}).sizes(), Dims({0}));
  EXPECT_EQ(tensor({7}).sizes(), Dims({1}));
  EXPECT_EQ(tensor(7).sizes(), Dims());
  EXPECT_TRUE(has_values(tensor({{1, 2}, {3, 4}}), {1, 2, 3, 4}));
  EXPECT_EQ(tensor({{1, 2}, {3, 4}}).sizes(), Dims({2, 2}));
  EXPECT_EQ(tensor({{{1}, {2}, {n}}}).sizes(), Dims({1, 3, 1}));
  EXPECT_EQ(tensor({{{{1, 2.5f}}, {{2, 3}}}}).sizes(), Dims({1, 2, 1, 2}));
  EXPECT_EQ(tensor({{}, {}}).sizes(), Dims({2, 0}));
  EXPECT_EQ(tensor({{true, false}}, kBool).dtype(), kBool);
  EXPECT_EQ(tensor({9007199254740993}, kInt64).item<i64>(), 9007199254740993);
  EXPECT_TRUE(has_values(tensor({-1, 2}, kUInt8), {255, 2}));
  for (const std::string& error : {error_of([] {
                                     (void)tensor({{1, 2}, {3}});
                                   }),
                                   error_of([] {
                                     (void)tensor({{1}, 2});
                                   }),
                                   error_of([] {
                                     (void)tensor({1, {2}});
                                   }),
                                   error_of([] {
                                     (void)tensor({{{1}}, {2}});
                                   }),
                                   error_of([] {
                                     (void)tensor({{{1}, {2}}, {{}, {}}});
                                   })}) {
    EXPECT_TRUE(contains(error, "tensor: the lists are ragged: ")) << error;
    EXPECT_TRUE(contains(error, "; at forms_test.cpp:")) << error;
  }
}

TEST(Forms, ItemNeedsNoType) {
  EXPECT_EQ(tensor(2.5).item(), 2.5);
  static_assert(std::is_same_v<decltype(tensor(1).item()), double>);
}

struct Net : nn::Module {
  i64 width = 4;
  nn::LayerNorm one, two;
  nn::Linear fc{4, 2};
  explicit Net(i64 d) : width(d), one({d}), two({2, d}) {}
  Tensor forward(const Tensor& x) { return fc(one(x)); }
  INGOT_MODULE(Net, one, two, fc)
};

TEST(Forms, ModulesAreCalled) {
  Net net(4);
  const Tensor x = iota({3, 4});
  EXPECT_TRUE(equal(net(x), net.forward(x)));
  EXPECT_EQ(net.two->normalized_shape, Dims({2, 4}));
  const nn::LayerNorm a({4}), b{4}, c{{4}}, d(4), e({4}, {.eps = 1e-3}), f(a);
  EXPECT_EQ(e->options.eps, 1e-3);
  EXPECT_EQ(f.ptr(), a.ptr());
  // A class inside of a function.
  struct Pair : nn::Module {
    Tensor forward(const Tensor& left, const Tensor& right) { return left + right; }
    INGOT_MODULE(Pair)
  };
  Pair pair;
  EXPECT_TRUE(has_values(pair(ones({1}), ones({1})), {2}));
}

// A call of the class's own is taken, whether it is const or not.
struct OwnConst : nn::Module {
  Tensor operator()(const Tensor& x, const Tensor& y) const { return x - y; }
  Tensor operator()(const Tensor& x) const { return x * 3; }
  INGOT_MODULE(OwnConst)
};
struct OwnMutable : nn::Module {
  Tensor operator()(Tensor x) { return x * 5; }
  Tensor forward(const Tensor& x) { return x; }
  INGOT_MODULE(OwnMutable)
};

TEST(Forms, AModulesOwnCallWins) {
  OwnConst a;
  const OwnConst b;
  OwnMutable c;
  EXPECT_TRUE(has_values(a(ones({1}), ones({1})), {0}));
  EXPECT_TRUE(has_values(a(ones({1})), {3}));
  EXPECT_TRUE(has_values(b(ones({1})), {3}));
  EXPECT_TRUE(has_values(c(ones({1})), {5}));
}

}  // namespace
}  // namespace ingot
