// Index tensors with negative elements: only indexing in Python's way counts from the end.
#include "both_modes.h"

namespace ingot {
namespace {

using namespace testing_support;

TEST(Indices, NegativeOnesAreRefusedEagerlyAndCompiled) {
  const Tensor table = iota({3, 2}), last = tensor({0, -1}, kInt64), column = last.view({2, 1});
  const std::string end = " and does not count from the end (";
  const auto expect_refused = [&](const std::string& start, auto f) {
    for (const DType t : {kInt64, kInt32}) {
      const Outcome outcome = same_outcome(f, table, last.to(t), column.to(t));
      EXPECT_TRUE(contains(outcome.error, start + end));
      EXPECT_TRUE(contains(outcome.error, "; at indices_test.cpp:"));
    }
  };
  using T = const Tensor&;
  expect_refused("embedding: index -1 is out of range for 3 rows",
                 [](T x, T i, T) { return embedding(x, i) * 2; });
  expect_refused("index_select: index -1 is out of range for dim 0 of size 3",
                 [](T x, T i, T) { return index_select(x, 0, i) * 2; });
  expect_refused("gather: index -1 is out of range for dim 1 of size 2",
                 [](T x, T, T pair) { return gather(x, 1, pair) * 2; });
  expect_refused("scatter_add: index -1 is out of range for dim 0 of size 3", [](T x, T, T pair) {
    return scatter_add(x, 0, pair, ones({2, 1})) * 2;
  });
  expect_refused("index_add: index -1 is out of range for dim 0 of size 3", [](T x, T i, T) {
    return index_add(x, 0, i, ones({2, 2})) * 2;
  });
  expect_refused("one_hot: index -1 is out of range for 3 classes",
                 [](T, T i, T) { return one_hot(i, 3) * 2; });
}

TEST(Indices, InOneHotAreClasses) {
  const Tensor index = tensor({2, 0}, kInt64);
  const auto f = [](const Tensor& i) { return one_hot(i, 3); };
  const Outcome hot = same_outcome(f, index);
  EXPECT_TRUE(has_values(hot.value, {0, 0, 1, 1, 0, 0}));
  EXPECT_EQ(hot.value.sizes(), Dims({2, 3}));
  EXPECT_EQ(hot.value.dtype(), kInt64);
  EXPECT_EQ(one_hot(tensor({1}, kUInt8).view({}), 2).sizes(), Dims({2}));
  EXPECT_TRUE(contains(same_outcome(f, index + 1).error,
                       "one_hot: index 3 is out of range for 3 classes ("));
}

TEST(Indices, OfPythonsKindCountFromTheEnd) {
  const Tensor table = iota({3, 2}), last = tensor({-1, -3}, kInt64);
  const Outcome rows =
      same_outcome([](const Tensor& x, const Tensor& i) { return x[i]; }, table, last);
  EXPECT_TRUE(has_values(rows.value, {4, 5, 0, 1}));
  const Outcome written = same_outcome(
      [](const Tensor& x, const Tensor& i) {
        Tensor y = x.clone();
        y.index_put_({i}, 9);
        return y;
      },
      table, last);
  EXPECT_TRUE(has_values(written.value, {9, 9, 2, 3, 9, 9}));
  EXPECT_TRUE(has_values(table[-1], {4, 5}));
  EXPECT_TRUE(has_values(select(table, 1, -1), {1, 3, 5}));
  EXPECT_TRUE(has_values(slice(table, 0, -1), {4, 5}));
  EXPECT_TRUE(contains(same_outcome([](const Tensor& x, const Tensor& i) { return x[i]; }, table,
                                    tensor({-4}, kInt64))
                           .error,
                       "index: index -4 is out of range for dim 0 of size 3 ("));
}

// The class that cross_entropy ignores is a negative number; any other is refused.
TEST(Indices, OfCrossEntropyMayBeTheIgnoredOne) {
  const Tensor x = iota({2, 3});
  const auto f = [](const Tensor& logits, const Tensor& t) {
    return cross_entropy(logits, t, {.reduction = "sum"});
  };
  const Outcome ignored = same_outcome(f, x, tensor({-100, 2}, kInt64));
  EXPECT_EQ(ignored.error, "");
  EXPECT_TRUE(same_bits(ignored.value, f(x[{Slice(1, 2)}], tensor({2}, kInt64))));
  EXPECT_TRUE(contains(same_outcome(f, x, tensor({-1, 2}, kInt64)).error,
                       "cross_entropy: target -1 of row 0 is not in [0, 3)"));
}

}  // namespace
}  // namespace ingot
