// Integers, promotion and casts: what wrapping, widening and folding get wrong in other libraries.
#include "cases/both_modes.h"

namespace ingot {
namespace {

using namespace testing_support;

Tensor bytes(std::initializer_list<double> values) { return tensor(values, kUInt8); }

// A fractional bound is cut to the tensor's integers.
TEST(Integers, Sem02ClampByAFractionPromotes) {
  Tensor x = tensor({-1, 0, 1, 2}, kInt64);
  Tensor low = in_both_modes([](const Tensor& t) { return clamp(t, 0.5); }, x);
  EXPECT_EQ(low.dtype(), kFloat);
  EXPECT_TRUE(has_values(low, {0.5, 0.5, 1, 2}));
  Tensor high = in_both_modes([](const Tensor& t) { return clamp(t, {}, 1.5); }, x);
  EXPECT_EQ(high.dtype(), kFloat);
  EXPECT_TRUE(has_values(high, {-1, 0, 1, 1.5}));
}

// A division by zero in generated code ends the process. Ours gives 0, on every path.
TEST(Integers, Sem08DivisionByZeroGivesZero) {
  for (DType t : {kInt64, kInt32}) {
    Tensor a = tensor({9, -4, 6}, t), b = tensor({4, 0, 5}, t);
    Tensor rest =
        in_both_modes([](const Tensor& x, const Tensor& y) { return remainder(x, y) + 0; }, a, b);
    EXPECT_TRUE(has_values(rest, {1, 0, 1}));
    Tensor quotient = in_both_modes(
        [](const Tensor& x, const Tensor& y) { return floor_divide(x, y) + 0; }, a, b);
    EXPECT_TRUE(has_values(quotient, {2, 0, 1}));
  }
}

// Lanes past the end hold zeros, and a check for zero divisors sees them.
TEST(Integers, Sem09OnlyRealElementsAreDivided) {
  for (i64 length = 1; length <= 17; ++length) {
    SCOPED_TRACE(length);
    Tensor x = iota({2, length}, kInt64), d = full({length}, 16);
    Tensor rest =
        in_both_modes([](const Tensor& a, const Tensor& b) { return remainder(a, b) + 0; }, x, d);
    Tensor quotient = in_both_modes(
        [](const Tensor& a, const Tensor& b) { return floor_divide(a, b) + 0; }, x, d);
    const std::vector<i64> r = rest.to_vector<i64>(), q = quotient.to_vector<i64>();
    for (i64 i = 0; i < 2 * length; ++i) {
      EXPECT_EQ(r[static_cast<std::size_t>(i)], i % 16);
      EXPECT_EQ(q[static_cast<std::size_t>(i)], i / 16);
    }
  }
}

// Bytes are computed wider inside a fused expression, so they never wrap.
TEST(Integers, Sem13BytesWrapInsideAFusedGroup) {
  Tensor x = bytes({128, 200, 255});
  EXPECT_TRUE(has_values(in_both_modes([](const Tensor& t) { return (t + t).to(kInt32); }, x),
                         {0, 144, 254}));
  EXPECT_TRUE(
      has_values(in_both_modes([](const Tensor& t) { return (t * t).to(kFloat); }, x), {0, 64, 1}));
}

// The negation of a byte is right in memory and wrong for the op that consumes it.
TEST(Integers, Sem14ANegatedByteWrapsForItsReader) {
  Tensor k = scalar_tensor(7).to(kUInt8), m = scalar_tensor(6).to(kUInt8);
  Tensor f = tensor({1.5, -0.5});
  EXPECT_TRUE(
      has_values(in_both_modes([](const Tensor& a, const Tensor& b) { return -a + b; }, k, f),
                 {250.5, 248.5}));
  EXPECT_TRUE(has_values(in_both_modes([](const Tensor& a) { return -a < 4; }, m), {0}));
}

// Signed overflow is undefined in C++: a compiler folds the comparison, and widens the sum.
TEST(Integers, Sem17SignedOverflowWraps) {
  Tensor x = tensor({2147483647, 5, -2147483648.0}, kInt32);
  EXPECT_TRUE(has_values(in_both_modes([](const Tensor& t) { return (t + 1) > t; }, x), {0, 1, 1}));
  EXPECT_TRUE(has_values(in_both_modes([](const Tensor& t) { return (t + 1).to(kInt64); }, x),
                         {-2147483648.0, 6, -2147483647}));
  EXPECT_TRUE(has_values(in_both_modes([](const Tensor& t) { return floor_divide(t * 2, 2); }, x),
                         {-1, 5, 0}));
}

// abs of an unsigned type through a signed one.
TEST(Integers, Sem18AbsOfBytesIsTheIdentity) {
  auto f = [](const Tensor& t) {
    Tensor y = -abs(t);
    return cat({y, y}).sum();
  };
  Tensor s = in_both_modes(f, bytes({200, 200}));
  EXPECT_EQ(s.dtype(), kInt64);
  EXPECT_TRUE(has_values(s, {224}));
}

// A captured number becomes a 0-d double, and promotes.
TEST(Integers, Sem20NumbersTakeTheDefaultFloat) {
  Tensor t = tensor({1, 2, 3}, kInt64), u = tensor({1, 2});
  const double two = 2.0;
  Tensor a = in_both_modes([&](const Tensor& x) { return x * two; }, t);
  EXPECT_EQ(a.dtype(), kFloat);
  EXPECT_TRUE(has_values(a, {2, 4, 6}));
  EXPECT_EQ(in_both_modes([&](const Tensor& x) { return x * two; }, u).dtype(), kFloat);
  EXPECT_EQ(in_both_modes([](const Tensor& x) { return x + 1; }, u).dtype(), kFloat);
}

// A 0-d operand of a wider dtype is rounded first, and not combined in its own dtype.
TEST(Integers, Sem21AZeroDimOperandIsCastFirst) {
  Tensor x = tensor({0.1, 1}), s = full({}, -0.1, kDouble);
  Tensor y = in_both_modes([](const Tensor& a, const Tensor& b) { return a + b; }, x, s);
  EXPECT_EQ(y.dtype(), kFloat);
  EXPECT_EQ(y[0].item<float>(), 0.0F);
  EXPECT_EQ(y[1].item<float>(), 1.0F + -0.1F);
}

// A bound that the dtype cannot hold: an error in one mode, ignored in the other.
TEST(Integers, Sem23NumbersOutOfTheDtypesRangeEndAlike) {
  Outcome f = same_outcome([](const Tensor& t) { return clamp(t, -1e39, 1e39); }, tensor({1, -2}));
  if (f.error.empty()) {
    EXPECT_TRUE(has_values(f.value, {1, -2}));
  }
  Tensor x = bytes({7});
  Outcome sum = same_outcome([](const Tensor& t) { return t + 300; }, x);
  if (sum.error.empty()) {
    EXPECT_TRUE(has_values(sum.value, {307 - 256}));
  }
  (void)same_outcome([](const Tensor& t) { return clamp(t, {}, -1); }, x);
}

// Casts that C++ leaves undefined: one answer on every path, 0 for NaN and the nearest bound.
TEST(Integers, Sem24CastsSaturate) {
  Tensor x = tensor({1.9, -1.9, 2147483520, kNaN, kInf, -kInf, 3e9, -3e9});
  const auto to = [&](DType t) {
    // More elements than one vector, so that body and tail both see each value.
    Tensor wide = x.expand({5, 8}).contiguous();
    Tensor y = in_both_modes([t](const Tensor& v) { return (v * 1.0).to(t); }, wide);
    for (i64 row = 1; row < 5; ++row) EXPECT_TRUE(same_bits(y[0], y[row]));
    Tensor folded = in_both_modes([&](const Tensor& v) { return full({8}, 0.0).add(v).to(t); }, x);
    EXPECT_TRUE(same_bits(y[0], folded));
    return y[0];
  };
  constexpr double kLeast = -2147483648.0, kMost = 2147483647;
  EXPECT_TRUE(has_values(to(kInt32), {1, -1, 2147483520, 0, kMost, kLeast, kMost, kLeast}));
  EXPECT_TRUE(has_values(to(kUInt8), {1, 0, 255, 0, 255, 0, 255, 0}));
  Tensor i = to(kInt64);
  EXPECT_EQ(i.to_vector<i64>(),
            (std::vector<i64>{1, -1, 2147483520, 0, std::numeric_limits<i64>::max(),
                              std::numeric_limits<i64>::min(), 3000000000, -3000000000}));
}

// Numbers that elements are set to, or bounded by: what no element can hold is refused, as PyTorch
// does it, also in a replayed call whose number has changed.
TEST(Integers, ANumberThatDoesNotFitIsRefused) {
  struct Case {
    double value;
    DType dtype;
    bool fits;
  };
  const Case cases[] = {
      {255, kUInt8, true},        {256, kUInt8, false},    {-1, kUInt8, true},
      {-255, kUInt8, true},       {-256, kUInt8, false},   {0x1p31, kInt32, false},
      {0x1p31 - 1, kInt32, true}, {-0x1p31, kInt32, true}, {-0x1p31 - 1, kInt32, false},
      {0x1p62, kInt64, true},     {300, kBool, true},      {1e300, kFloat32, true},
  };
  const auto full_of = [](Scalar v, DType t) { return full({2}, v, t); };
  const auto filled = [](Scalar v, DType t) { return zeros({2}, t).fill_(v); };
  for (const Case& c : cases) {
    SCOPED_TRACE(std::to_string(c.value) + " as " + name(c.dtype));
    const Scalar value = static_cast<i64>(c.value);
    if (!is_floating_point(c.dtype)) {
      EXPECT_EQ(error_of([&] { (void)full_of(value, c.dtype); }).empty(), c.fits);
      EXPECT_EQ(error_of([&] { (void)filled(value, c.dtype); }).empty(), c.fits);
    }
    // As a floating number a negative one does not wrap.
    const bool fits = c.fits && !(c.dtype == kUInt8 && c.value < 0);
    EXPECT_EQ(error_of([&] { (void)full_of(c.value, c.dtype); }).empty(), fits);
  }
  EXPECT_TRUE(has_values(full({1}, -1, kUInt8), {255}));
  EXPECT_TRUE(has_values(full({1}, 1.75, kInt64), {1}));
  for (const double v : {kNaN, kInf, 0x1p63}) {
    EXPECT_TRUE(contains(error_of([&] { (void)full({2}, v, kInt64); }), " does not fit i64; at "));
  }

  Tensor x = zeros({2}, kUInt8);
  const Tensor mask = tensor({1, 0}, kBool), first = tensor({0}, kInt64);
  const auto refused = [](const char* start, auto f) {
    EXPECT_TRUE(error_of(f).starts_with(start)) << error_of(f);
  };
  refused("full: 300 does not fit u8; at integers_test.cpp:", [] { (void)full({2}, 300, kUInt8); });
  refused("full_like: 300 does not fit u8", [&] { (void)full_like(x, 300); });
  refused("tensor: 300 does not fit u8", [] { (void)tensor({300}, kUInt8); });
  refused("fill_: 300 does not fit u8", [&] { x.fill_(300); });
  refused("fill_: 300 does not fit u8", [&] { x[0] = 300; });
  refused("index_put_: 300 does not fit u8", [&] { x.index_put_({first}, 300); });
  refused("index_put_: 300 does not fit u8", [&] { x.index_put_({mask}, 300); });
  refused("where: 300 does not fit u8", [&] { (void)where(mask, x, 300); });
  refused("clamp: 300 does not fit u8", [&] { (void)clamp(x, 0, 300); });
  refused("clamp: 300 does not fit u8", [&] { (void)clamp(x, {}, 300); });
  refused("clamp_: 300 does not fit u8", [&] { (void)x.clamp_(0, 300); });
  EXPECT_TRUE(has_values(x, {0, 0}));
  // Arithmetic wraps, and a floating number makes a floating result.
  EXPECT_TRUE(has_values(x + 300, {44, 44}));
  EXPECT_TRUE(has_values(clamp(x, 0.5, 300.5), {0.5, 0.5}));

  const auto f =
      compile([](const Tensor& t, i64 v) { return full({2}, v, kUInt8) + t; }, verified());
  EXPECT_TRUE(has_values(f(x, 3), {3, 3}));
  EXPECT_TRUE(has_values(f(x, 4), {4, 4}));
  EXPECT_TRUE(contains(error_of([&] { (void)f(x, 300); }), "full: 300 does not fit u8"));
  EXPECT_TRUE(has_values(f(x, 5), {5, 5}));
}

}  // namespace
}  // namespace ingot
