// Reductions: identities, infinities, cancellation, accumulators.
#include <ingot/kernels/cpu/threads.h>

#include "cases/both_modes.h"

namespace ingot {
namespace {

using namespace testing_support;

// A generated kernel that steps over NaN.
TEST(Reduce, Rd01TheFirstNaNWins) {
  Tensor x = tensor({2, kNaN, 9, kNaN});
  auto both = [](auto f, const Tensor& t) {
    return in_both_modes([f](const Tensor& v) { return f(v * 1.0); }, t);
  };
  EXPECT_TRUE(has_values(both([](const Tensor& t) { return argmax(t); }, x), {1}));
  EXPECT_TRUE(has_values(both([](const Tensor& t) { return argmin(t); }, x), {1}));
  EXPECT_TRUE(has_values(both([](const Tensor& t) { return max(t); }, x), {kNaN}));
  EXPECT_TRUE(has_values(both([](const Tensor& t) { return min(t); }, x), {kNaN}));
  Tensor row = arange(100000, kFloat);
  row[70001] = kNaN;
  EXPECT_TRUE(has_values(both([](const Tensor& t) { return argmax(t); }, row), {70001}));
  EXPECT_TRUE(has_values(both([](const Tensor& t) { return argmin(t); }, row), {70001}));
  Tensor logs = both([](const Tensor& t) { return argmax(log1p(t)); }, tensor({-3, 100}));
  EXPECT_TRUE(has_values(logs, {0}));
}

// What a reduction over nothing gives.
TEST(Reduce, Rd03EmptyAxesGiveTheIdentity) {
  Tensor x = zeros({3, 0});
  auto over = [&](auto f, Dims axes, bool keepdim) {
    return in_both_modes([=](const Tensor& t) { return f(t, axes, keepdim); }, x);
  };
  auto sums = [](const Tensor& t, Dims axes, bool keep) { return sum(t, axes, keep); };
  auto products = [](const Tensor& t, Dims axes, bool keep) { return prod(t, axes, keep); };
  auto means = [](const Tensor& t, Dims axes, bool keep) { return mean(t, axes, keep); };
  auto anys = [](const Tensor& t, Dims axes, bool keep) { return any(t, axes, keep); };
  auto alls = [](const Tensor& t, Dims axes, bool keep) { return all(t, axes, keep); };
  EXPECT_TRUE(has_values(over(sums, {1}, false), {0, 0, 0}));
  EXPECT_TRUE(has_values(over(products, {1}, false), {1, 1, 1}));
  EXPECT_TRUE(has_values(over(means, {1}, false), {kNaN, kNaN, kNaN}));
  EXPECT_TRUE(has_values(over(anys, {1}, false), {0, 0, 0}));
  EXPECT_TRUE(has_values(over(alls, {1}, false), {1, 1, 1}));
  EXPECT_EQ(over(sums, {1}, true).sizes(), (Dims{3, 1}));
  EXPECT_EQ(over(sums, {0}, false).sizes(), Dims{0});
  EXPECT_EQ(over(means, {0}, true).sizes(), (Dims{1, 0}));
  EXPECT_TRUE(has_values(in_both_modes([](const Tensor& t) { return t.sum(); }, x), {0}));
  EXPECT_TRUE(has_values(in_both_modes([](const Tensor& t) { return t.prod(); }, x), {1}));

  EXPECT_NE(same_outcome([](const Tensor& t) { return amax(t, {1}); }, x).error, "");
  EXPECT_NE(same_outcome([](const Tensor& t) { return argmax(t, 1); }, x).error, "");
  EXPECT_NE(same_outcome([](const Tensor& t) { return argmax(t); }, x).error, "");
  Outcome none = same_outcome([](const Tensor& t) { return amax(t, {0}); }, x);
  EXPECT_EQ(none.error, "");
  EXPECT_EQ(none.value.sizes(), Dims{0});

  auto soft = [](const Tensor& t) { return softmax(t, -1); };
  EXPECT_EQ(in_both_modes(soft, zeros({2, 0})).sizes(), (Dims{2, 0}));
  EXPECT_EQ(in_both_modes(soft, zeros({0, 5})).sizes(), (Dims{0, 5}));
}

// A tensor without axes has axis 0 and -1 for reductions, and no axis 1.
TEST(Reduce, Rd04ZeroDimTensorsReduce) {
  Tensor x = full({}, 5.0);
  const std::vector<std::pair<std::function<Tensor(const Tensor&)>, double>> cases = {
      {[](const Tensor& t) { return mean(t, {0}); }, 5},
      {[](const Tensor& t) { return sum(t, {-1}); }, 5},
      {[](const Tensor& t) { return max(t, 0).values; }, 5},
      {[](const Tensor& t) { return argmax(t, 0); }, 0},
      {[](const Tensor& t) { return softmax(t, 0); }, 1},
      {[](const Tensor& t) { return sum(t, {0}, true); }, 5},
      {[](const Tensor& t) { return argmax(t, -1, true); }, 0},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(i);
    Outcome y = same_outcome(cases[i].first, x);
    ASSERT_EQ(y.error, "");
    EXPECT_EQ(y.value.dim(), 0);
    EXPECT_TRUE(has_values(y.value, {cases[i].second}));
  }
  EXPECT_NE(same_outcome([](const Tensor& t) { return sum(t, {1}); }, x).error, "");
  EXPECT_NE(same_outcome([](const Tensor& t) { return softmax(t, 1); }, x).error, "");
}

// Rows of infinities or NaN that come out as a plausible distribution.
TEST(Reduce, Rd05SoftmaxOfInfinities) {
  auto soft = [](const Tensor& t) { return softmax(t * 1.0, -1); };
  auto both = [&](std::initializer_list<double> row) { return in_both_modes(soft, tensor(row)); };
  EXPECT_TRUE(has_values(in_both_modes(soft, full({8}, -kInf)),
                         {kNaN, kNaN, kNaN, kNaN, kNaN, kNaN, kNaN, kNaN}));
  EXPECT_TRUE(has_values(both({-kInf, 0, 0, -kInf}), {0, 0.5, 0.5, 0}));
  EXPECT_TRUE(has_values(both({1, kInf, 2}), {kNaN, kNaN, kNaN}));
  EXPECT_TRUE(has_values(both({1, kNaN, 2}), {kNaN, kNaN, kNaN}));
  EXPECT_TRUE(has_values(both({-1e30, -1e30}), {0.5, 0.5}));
  Tensor logs = in_both_modes([](const Tensor& t) { return log_softmax(t * 1.0, -1); },
                              tensor({-kInf, 0, 0, -kInf}));
  EXPECT_EQ(logs[0].item<double>(), -kInf);
  EXPECT_NEAR(logs[1].item<double>(), -0.6931472, 1e-6);
  EXPECT_NEAR(logs[2].item<double>(), -0.6931472, 1e-6);
  EXPECT_EQ(logs[3].item<double>(), -kInf);
}

// A variance as the mean of squares minus the square of the mean.
TEST(Reduce, Rd07VarianceOfAFarMean) {
  auto norm = [](const Tensor& t) { return layer_norm(t * 1.0, {t.size(-1)}); };
  Tensor x = tensor({4096, 4096.5, 4097, 4097.5});
  EXPECT_TRUE(has_values(in_both_modes(norm, x), {-1.341619, -0.447206, 0.447206, 1.341619}, 2e-5));
  EXPECT_TRUE(has_values(in_both_modes([](const Tensor& t) { return var(t * 1.0, {-1}, 0); }, x),
                         {0.3125}));
  Tensor near = arange(16, kFloat) * 0.001 + 1000;
  Tensor y = in_both_modes(norm, near);
  EXPECT_NEAR(y[0].item<double>(), -1.341508, 2e-3);
  EXPECT_NEAR(y[15].item<double>(), 1.344237, 2e-3);
}

// Cancellation makes a variance negative, and its root NaN.
TEST(Reduce, Rd08AVarianceIsNeverNegative) {
  auto norm = [](const Tensor& t) { return layer_norm(t * 1.0, {t.size(-1)}); };
  auto deviation = [](const Tensor& t) { return (t * 1.0).std({-1}); };
  Tensor row = tensor({1e6, 1e6 + 1, 1e6 + 2});
  EXPECT_TRUE(has_values(in_both_modes(norm, row), {-1.224736, 0, 1.224736}, 2e-5));
  EXPECT_TRUE(has_values(in_both_modes(deviation, row), {1}));
  // Of the last one's mean the rounding error alone has a square beyond f32.
  for (const Tensor& constant : {full({5}, 1e15), full({1000}, 3.3), full({300}, 1e30)}) {
    Tensor y = in_both_modes(norm, constant);
    EXPECT_LT(abs(y).max().item<double>(), 1e-2);
    EXPECT_NEAR(in_both_modes(deviation, constant).item<double>(), 0,
                constant[0].item<double>() * 1e-6);
  }
}

// One f32 accumulator stops growing at 2^24.
TEST(Reduce, Rd11SumsOfManyOnes) {
  constexpr i64 kRows = 20000000, kMany = i64{1} << 25;
  {
    Tensor x = ones({kRows, 2});
    const auto along = [](const Tensor& t) { return stack({t.mean({0}), t.sum({0})}); };
    EXPECT_TRUE(has_values(in_both_modes(along, x), {1, 1, kRows, kRows}));
    EXPECT_TRUE(has_values(along(x.t().contiguous().t()), {1, 1, kRows, kRows}));
  }
  Tensor x = ones({kMany});
  EXPECT_TRUE(has_values(in_both_modes([](const Tensor& t) { return t.sum(); }, x), {kMany}));
  // Fused with what comes before, and on any number of threads.
  const auto fused = [](const Tensor& t) { return (t * 2 - 1).sum(); };
  const int threads = num_threads();
  const auto compiled = compile(fused, interpreted());
  for (int n : {1, 3}) {
    set_num_threads(n);
    EXPECT_TRUE(has_values(fused(x), {kMany}));
    EXPECT_TRUE(has_values(compiled(x), {kMany}));
  }
  set_num_threads(threads);
  const auto pairs = [](const Tensor& t) {
    const Tensor two = t.view({-1, 2});
    const Tensor columns = two.sum({0}), rows = two.sum({1});
    return stack({columns[0], columns[1], columns.sum({0}), rows.sum({0}), rows.amax({0})});
  };
  EXPECT_TRUE(has_values(in_both_modes(pairs, x), {kMany / 2, kMany / 2, kMany, kMany, 2}));
}

// The mean of integers in an integer accumulator. Ours asks for a floating dtype, in both modes.
TEST(Reduce, Rd14TheMeanOfIntegersIsRefused) {
  for (const Tensor& x : {tensor({2147483647, 2147483647}, kInt32), tensor({1, 2}, kInt64),
                          tensor({255, 255, 255}, kUInt8)}) {
    Outcome y = same_outcome([](const Tensor& t) { return t.mean(); }, x);
    EXPECT_TRUE(contains(y.error, "mean"));
    EXPECT_TRUE(contains(y.error, "float"));
  }
}

// exp overflows when the maximum is not taken off.
TEST(Reduce, Rd16LogsumexpNeitherOverflowsNorInvents) {
  auto f = [](const Tensor& t) { return logsumexp(t * 1.0, -1); };
  EXPECT_NEAR(in_both_modes(f, tensor({1000, 1000})).item<double>(), 1000.6931, 1e-3);
  EXPECT_TRUE(has_values(in_both_modes(f, tensor({-kInf, -kInf})), {-kInf}));
  EXPECT_TRUE(has_values(in_both_modes(f, tensor({kInf, 1})), {kInf}));
}

// Squares leave the range of f32 although the deviation fits: what happens is the same everywhere.
TEST(Reduce, Rd17DeviationsAtTheEdgesOfTheRange) {
  auto f = [](const Tensor& t) { return (t * 1.0).std({-1}); };
  const double large = in_both_modes(f, tensor({1e30, -1e30})).item<double>();
  EXPECT_TRUE(large == kInf || std::abs(large / 1.41421356e30 - 1) < 1e-6) << large;
  const double small = in_both_modes(f, tensor({1e-30, -1e-30})).item<double>();
  EXPECT_TRUE(small == 0 || std::abs(small / 1.41421356e-30 - 1) < 1e-6) << small;
}

}  // namespace
}  // namespace ingot
