// Indices into rows that have no elements: out of range they are an error as anywhere else.
#include "both_modes.h"

namespace ingot {
namespace {

using namespace testing_support;
using T = const Tensor&;

Tensor at(std::initializer_list<i64> list) { return tensor(list, kInt64); }

TEST(EmptyRows, Sz08GatherFromAnEmptyTensor) {
  const Tensor nothing = zeros({0}), rows = zeros({3, 0});
  const auto gathered = [](T x, T i) { return gather(x, 0, i) * 2; };
  const auto selected = [](T x, T i) { return index_select(x, 0, i) * 2; };
  EXPECT_TRUE(contains(same_outcome(gathered, nothing, at({0})).error,
                       "gather: index 0 is out of range for dim 0 of size 0 ("));
  const Outcome empty = same_outcome(selected, rows, at({0, 2}));
  EXPECT_EQ(empty.error, "");
  EXPECT_EQ(empty.value.sizes(), Dims({2, 0}));
  EXPECT_TRUE(contains(same_outcome(selected, rows, at({-1})).error,
                       "index_select: index -1 is out of range for dim 0 of size 3"));
  EXPECT_TRUE(contains(same_outcome(selected, rows, at({i64{1} << 40})).error,
                       "index_select: index 1099511627776 is out of range"));
  EXPECT_EQ(same_outcome(gathered, rows, zeros({2, 0}, kInt64)).value.sizes(), Dims({2, 0}));
}

// Good indices, then a bad one, with each op that takes them.
template <class F>
void expect_checked(F f, const Tensor& x, const Tensor& good, const Tensor& bad,
                    const std::string& text) {
  EXPECT_EQ(same_outcome(f, x, good).error, "") << text;
  const std::string error = same_outcome(f, x, bad).error;
  EXPECT_TRUE(contains(error, text) && contains(error, "; at empty_rows_test.cpp:")) << error;
}

TEST(EmptyRows, EveryReaderChecks) {
  const Tensor rows = zeros({3, 0}), flat = zeros({0, 3});
  expect_checked([](T x, T i) { return index_select(x, 0, i) + 1; }, rows, at({2}), at({0, 3}),
                 "index_select: index 3 is out of range for dim 0 of size 3");
  expect_checked([](T x, T i) { return index_select(x, 1, i) + 1; }, flat, at({2}), at({3}),
                 "index_select: index 3 is out of range for dim 1 of size 3");
  expect_checked([](T x, T i) { return embedding(x, i) + 1; }, rows, at({0}), at({7}),
                 "embedding: index 7 is out of range for 3 rows");
  expect_checked([](T x, T i) { return x[i] + 1; }, rows, at({-3}), at({-4}),
                 "index: index -4 is out of range for dim 0 of size 3");
  expect_checked(
      [](T x, T i) {
        return x[{All, i}] + 1;
      },
      flat, at({2}), at({3}), "index: index 3 is out of range for dim 1 of size 3");
  expect_checked(
      [](T x, T i) {
        return x[{i, i}] + 1;
      },
      zeros({3, 2, 0}), at({1}), at({2}), "index: index 2 is out of range for dim 1 of size 2");
  expect_checked([](T x, T i) { return one_hot(i, x.size(0)) + 1; }, zeros({2}), at({1}), at({2}),
                 "one_hot: index 2 is out of range for 2 classes");
  expect_checked([](T x, T i) { return one_hot(i, x.size(0)) + 1; }, zeros({0}), at({}), at({0}),
                 "one_hot: index 0 is out of range for 0 classes");
  expect_checked([](T x, T i) { return cross_entropy(x, i, {.reduction = "sum"}) + 1; }, rows,
                 at({-100, -100, -100}), at({-100, 0, 0}),
                 "cross_entropy: target 0 of row 1 is not in [0, 0)");
}

TEST(EmptyRows, EveryWriterChecks) {
  const Tensor rows = zeros({3, 0}), nothing = zeros({0});
  expect_checked(
      [](T x, T i) {
        return index_add(x, 0, i, zeros({1, 0})) + 1;
      },
      rows, at({2}), at({3}), "index_add: index 3 is out of range for dim 0 of size 3");
  expect_checked([](T x, T i) { return index_add(x, 0, i, zeros(i.sizes())) + 1; }, nothing, at({}),
                 at({0}), "index_add: index 0 is out of range for dim 0 of size 0");
  expect_checked([](T x, T i) { return scatter_add(x, 0, i, zeros(i.sizes())) + 1; }, nothing,
                 at({}), at({0}), "scatter_add: index 0 is out of range for dim 0 of size 0");
  const auto put = [](T x, T i) {
    Tensor y = x.clone();
    y[i] = 1;
    return y + 1;
  };
  expect_checked(
      [](T x, T i) {
        Tensor y = x.clone();
        y.index_put_({i}, 1);
        return y + 1;
      },
      rows, at({-1}), at({3}), "index_put_: index 3 is out of range for dim 0 of size 3");
  EXPECT_TRUE(contains(same_outcome(put, nothing, at({0})).error,
                       "index: index 0 is out of range for dim 0 of size 0"));
  expect_checked(
      [](T x, T i) {
        Tensor y = x.clone();
        y.index_put_({i}, 1, true);
        return y + 1;
      },
      nothing, at({}), at({0}), "index_put_: index 0 is out of range for dim 0 of size 0");
}

TEST(EmptyRows, HaveGradients) {
  const Tensor table = zeros({3, 0}).requires_grad_();
  embedding(table, at({0, 2})).sum().backward();
  EXPECT_EQ(table.grad().sizes(), Dims({3, 0}));
  const Tensor x = zeros({3, 0}).requires_grad_();
  (index_select(x, 0, at({1})).sum() + x[at({-1})].sum()).backward();
  EXPECT_EQ(x.grad().sizes(), Dims({3, 0}));
}

}  // namespace
}  // namespace ingot
