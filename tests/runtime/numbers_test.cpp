// Numbers keep their value on the way into a tensor, or are refused by the dtype that cannot hold
// them.
#include <limits>

#include "support/tensor_checks.h"

namespace ingot {
namespace {

using namespace testing_support;

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kHalf = std::uint64_t{1} << 63;

TEST(Numbers, Above63BitsAreTakenByFloats) {
  const double most = 18446744073709551616.0, half = 9223372036854775808.0;
  for (const DType t : {kFloat32, kFloat64, kBFloat16}) {
    Tensor x = zeros({1}, t);
    EXPECT_TRUE(has_values(full({1}, kMost, t), {most}));
    EXPECT_TRUE(has_values(x.clone().fill_(kMost), {most}));
    x[0] = kMost;
    EXPECT_TRUE(has_values(x, {most}));
    x[x > 0] = kHalf;
    EXPECT_TRUE(has_values(x, {half}));
    EXPECT_TRUE(has_values(ones({1}, t) * kMost, {most}));
    EXPECT_TRUE(has_values(zeros({1}, t) + kHalf, {half}));
    EXPECT_TRUE(has_values(kHalf - zeros({1}, t), {half}));
    EXPECT_TRUE(has_values(zeros({1}, t).add_(kMost), {most}));
    EXPECT_TRUE(has_values(clamp(zeros({1}, t), kMost), {most}));
    EXPECT_TRUE(has_values(where(ones({1}, kBool), kMost, zeros({1}, t)), {most}));
    EXPECT_TRUE(has_values(tensor({kMost, kHalf}, t), {most, half}));
    EXPECT_TRUE(has_values(tensor({{kMost}, {std::uint64_t{1}}}, t), {most, 1}));
    EXPECT_TRUE(has_values(scalar_tensor(kMost, t), {most}));
    EXPECT_TRUE(has_values(from_vector(std::vector<std::uint64_t>{kMost, 3}, {2}, t), {most, 3}));
    EXPECT_TRUE(has_values(ones({1}, t).addcmul(ones({1}, t), ones({1}, t), kMost), {most}));
  }
  EXPECT_TRUE(has_values(arange(kHalf, kMost, kHalf / 2, kFloat64), {half, half * 1.5}));
  EXPECT_TRUE(has_values(full({1}, kMost, kBool), {1}));
  EXPECT_TRUE(has_values(arange(2) / kMost, {0, 1 / 18446744073709551616.0}));
  EXPECT_TRUE(has_values(addmm(ones({1, 1}), ones({1, 1}), ones({1, 1}), kHalf, 0), {half}));
}

TEST(Numbers, Above63BitsAreRefusedByIntegers) {
  Tensor x = zeros({2}, kInt64), y = zeros({2}, kInt32);
  const std::vector<std::uint64_t> values{kMost};
  const auto expect_refused = [](const std::string& op, auto call) {
    const std::string error = error_of(call);
    EXPECT_TRUE(contains(error, op + ": ") && contains(error, " does not fit i")) << error;
    EXPECT_TRUE(contains(error, "; at numbers_test.cpp:")) << error;
  };
  expect_refused("full", [] { (void)full({1}, kMost); });
  expect_refused("scalar_tensor", [] { (void)scalar_tensor(kMost); });
  expect_refused("full_like", [&] { (void)full_like(x, kHalf); });
  expect_refused("fill_", [&] { x.fill_(kMost); });
  expect_refused("fill_", [&] { x[0] = kMost; });
  expect_refused("index_put_", [&] { x[x == 0] = kMost; });
  expect_refused("add", [&] { (void)(x + kMost); });
  expect_refused("mul", [&] { (void)(kHalf * y); });
  expect_refused("sub_", [&] { x -= kMost; });
  expect_refused("lt", [&] { (void)(x < kMost); });
  expect_refused("add", [&] { (void)(ones({1}, kBool) + kMost); });
  expect_refused("add", [&] { (void)add(1, kMost); });
  expect_refused("clamp", [&] { (void)clamp(x, 0, kMost); });
  expect_refused("where", [&] { (void)where(x == 0, x, kMost); });
  expect_refused("addcmul", [&] { (void)addcmul(x, x, x, kMost); });
  expect_refused("arange", [&] { (void)arange(kMost); });
  expect_refused("arange", [&] { (void)arange(0, kHalf, kHalf); });
  expect_refused("tensor", [&] { (void)tensor({kMost}, kInt64); });
  expect_refused("from_vector", [&] { (void)from_vector(values, {1}); });
  expect_refused("addmm", [&] {
    const Tensor a = ones({1, 1}, kInt64);
    (void)addmm(a, a, a, kMost);
  });
  EXPECT_TRUE(has_values(x, {0, 0}));
}

enum Plain { kThree = 3 };
enum class Scoped { three = 3 };
static_assert(!Number<Scoped> && !std::is_convertible_v<Scoped, Scalar>);
static_assert(!Number<Tensor> && !Number<const char*>);
#ifdef __SIZEOF_INT128__
__extension__ typedef __int128 Wide;
static_assert(!std::is_convertible_v<Wide, Scalar> && !std::is_convertible_v<Wide, Dim> &&
              !std::is_convertible_v<Wide, Arg>);
#endif

TEST(Numbers, OfEveryTypeKeepTheirValue) {
  const auto value = [](Scalar s) { return full({}, s, kFloat64).item(); };
  EXPECT_EQ(value(kThree), 3);
  EXPECT_EQ(value('a'), 97);
  EXPECT_EQ(value(u'\u00e4'), 228);
  EXPECT_EQ(value(static_cast<signed char>(-1)), -1);
  EXPECT_EQ(value(static_cast<unsigned char>(255)), 255);
  EXPECT_EQ(value(std::numeric_limits<unsigned>::max()), 4294967295.0);
  EXPECT_EQ(value(std::numeric_limits<i64>::min()), -9223372036854775808.0);
  EXPECT_EQ(value(1.5L), 1.5);
  EXPECT_EQ(value(true), 1);
  EXPECT_TRUE(has_values(ones({1}) * kThree, {3}));
  EXPECT_EQ(zeros({kThree, 2}).sizes(), Dims({3, 2}));
  EXPECT_TRUE(has_values(from_vector(std::vector<short>{-1, 2}, {2}), {-1, 2}));
  EXPECT_EQ(from_vector(std::vector<long long>{1}, {1}).dtype(), kInt64);
}

TEST(Numbers, AreReadAsEveryType) {
  const Tensor x = tensor({-2.5, 300, 18446744073709549568.0}, kFloat64);
  EXPECT_EQ(x.to_vector<unsigned>(), (std::vector<unsigned>{0, 300, 4294967295u}));
  EXPECT_EQ(x.to_vector<signed char>(), (std::vector<signed char>{-2, 127, 127}));
  EXPECT_EQ(x[2].item<std::uint64_t>(), 18446744073709549568ull);
  EXPECT_EQ(x[2].item<i64>(), std::numeric_limits<i64>::max());
  EXPECT_EQ(x[0].item<long double>(), -2.5L);
  EXPECT_EQ(x[1].item<short>(), 300);
  EXPECT_EQ(full({}, NAN).item<std::uint64_t>(), 0u);
  EXPECT_EQ(tensor(-1, kInt64).item<unsigned>(), 0u);
  EXPECT_EQ(tensor(7, kInt32).item<long long>(), 7);
}

// A mask's device is that of a result that is made of numbers. The default device has no part in
// it, not even where it does not exist.
TEST(Numbers, OfWhereLiveWithTheMask) {
  const Tensor mask = tensor({1, 0}, TensorOptions(kBool, kCPU));
  const Device before = default_device();
  set_default_device("cuda:7");
  const std::string error = error_of([&] {
    const Tensor y = where(mask, 1.0, 0.0);
    EXPECT_EQ(y.device(), Device(kCPU));
    EXPECT_TRUE(has_values(y, {1, 0}));
  });
  set_default_device(before);
  EXPECT_EQ(error, "");
}

}  // namespace
}  // namespace ingot
