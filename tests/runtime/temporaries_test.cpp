// Addresses of and references into temporaries do not compile, or are values.
#include <type_traits>

#include "support/tensor_checks.h"

namespace ingot {
namespace {

using namespace testing_support;

template <class T>
constexpr bool kGivesAddress = requires(T&& x) {
  std::forward<T>(x).template data_ptr<float>();
}
|| requires(T&& x) { std::forward<T>(x).data_ptr(); }
|| requires(T&& x) { std::forward<T>(x).template accessor<float, 2>(); }
|| requires(T&& x) { std::forward<T>(x).mutable_grad(); };
static_assert(kGivesAddress<Tensor&> && kGivesAddress<const Tensor&>);
static_assert(!kGivesAddress<Tensor> && !kGivesAddress<const Tensor>);
static_assert(!kGivesAddress<IndexedTensor> && !kGivesAddress<const IndexedTensor>);

template <class T>
constexpr bool kGivesReference = std::is_reference_v<decltype(std::declval<T>().sizes())> ||
                                 std::is_reference_v<decltype(std::declval<T>().strides())> ||
                                 std::is_reference_v<decltype(std::declval<T>().meta())> ||
                                 std::is_reference_v<decltype(std::declval<T>().grad())> ||
                                 std::is_reference_v<decltype(std::declval<T>().ref())> ||
                                 std::is_reference_v<decltype(std::declval<T>().options())>;
static_assert(!kGivesReference<Tensor> && !kGivesReference<const Tensor>);
static_assert(std::is_same_v<decltype(std::declval<Tensor&>().sizes()), const Dims&>);
static_assert(std::is_same_v<decltype(std::declval<const Tensor&>().strides()), const Dims&>);
static_assert(std::is_same_v<decltype(std::declval<Tensor&>().add_(1)), Tensor&>);
// An in-place method of a temporary gives no lvalue: `auto& y = zeros({3}).fill_(1)` and pointers
// into `zeros({3}).fill_(1).sizes()` do not compile or are values.
static_assert(std::is_same_v<decltype(std::declval<Tensor>().add_(1)), Tensor&&>);
static_assert(std::is_same_v<decltype(std::declval<Tensor>() += 1), Tensor&&>);
static_assert(std::is_same_v<decltype(std::declval<Tensor>().requires_grad_()), Tensor&&>);
static_assert(
    std::is_same_v<decltype(std::declval<Tensor>().copy_(std::declval<Tensor>())), Tensor&&>);
static_assert(std::is_same_v<decltype(std::declval<Tensor>().index_put_({Index(0)}, 1)), Tensor&&>);

TEST(Temporaries, SizesOutliveThem) {
  const Tensor x = iota({3, 4});
  const Dims &doubled = (x * 2).sizes(), &swapped = x.t().strides();
  const std::vector<Tensor> others(9, ones({9, 9}));
  EXPECT_EQ(doubled, Dims({3, 4}));
  EXPECT_EQ(swapped, Dims({1, 4}));
  EXPECT_EQ((x * 2).sizes()[0], 3);
  Dims seen;
  for (i64 s : x.t().sizes()) seen.push_back(s);
  for (i64 s : zeros({5, 6}).fill_(1).sizes()) seen.push_back(s);
  EXPECT_EQ(seen, Dims({4, 3, 5, 6}));
}

TEST(Accessors, KeepWhatTheyReadWhenTheNameIsRebound) {
  Tensor x = iota({2, 3}).t();
  const auto a = x.accessor<float, 2>();
  x = ones({7, 5});
  std::vector<Tensor> others;
  for (int i = 0; i < 64; ++i) others.push_back(full({2, 3}, 9.0));
  EXPECT_EQ(a.size(0), 3);
  EXPECT_EQ(a[1][0], 1);
  EXPECT_EQ(a[2][1], 5);
  const auto row = a[2];
  EXPECT_EQ(row.size(0), 2);
  EXPECT_EQ(row[1], 5);
}

}  // namespace
}  // namespace ingot
