// Copies, casts, creation and joining on the CPU, against loops over logical indices.
#include <algorithm>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cpu/data_copy.h>
#include <ingot/kernels/cpu/loops.h>
#include <ingot/kernels/cpu/parallel.h>
#include <ingot/kernels/cpu/threads.h>
#include <ingot/kernels/ops/structured/data.h>

#include "strided_buffer.h"

namespace ingot::testing {
namespace {

template <class Row>
const OpInfo& op() {
  return structured_op<Row>;
}

// A float rounded to nearest even at `bits` of precision, as f16 (11) and bf16 (8) store it.
double rounded(float x, int bits, int least_exponent, double overflow) {
  if (std::isnan(x) || std::isinf(x) || x == 0) return x;
  const int exponent = std::max(std::ilogb(x), least_exponent);
  const double quantum = std::ldexp(1.0, exponent - (bits - 1));
  const double y = std::nearbyint(x / quantum) * quantum;
  return std::fabs(y) >= overflow ? std::copysign(std::numeric_limits<double>::infinity(), y) : y;
}

// What a cast of `x` (floating) or `whole` (integers) must give, as it reads back.
struct Expected {
  double real = 0;
  i64 whole = 0;
};

i64 saturated(double x, double low, double end, i64 least, i64 greatest) {
  if (std::isnan(x)) return 0;
  if (x < low) return least;
  return x >= end ? greatest : static_cast<i64>(x);
}

Expected reference_cast(Buffer& from, i64 i, DType to) {
  Expected e;
  const bool floating = is_floating_point(from.dtype());
  const double x = from.real(i);
  const i64 whole = floating ? 0 : from.integer(i);
  switch (to) {
    case DType::f64:
      e.real = floating ? x : static_cast<double>(whole);
      break;
    case DType::f32:
      e.real = floating ? static_cast<float>(x) : static_cast<float>(whole);
      break;
    case DType::f16:
      e.real =
          rounded(floating ? static_cast<float>(x) : static_cast<float>(whole), 11, -14, 65520);
      break;
    case DType::bf16:
      e.real =
          rounded(floating ? static_cast<float>(x) : static_cast<float>(whole), 8, -126, 0x1p128);
      break;
    case DType::i64:
      e.whole = floating ? saturated(x, -0x1p63, 0x1p63, std::numeric_limits<i64>::min(),
                                     std::numeric_limits<i64>::max())
                         : whole;
      break;
    case DType::i32:
      e.whole = floating ? saturated(x, -0x1p31, 0x1p31, std::numeric_limits<std::int32_t>::min(),
                                     std::numeric_limits<std::int32_t>::max())
                         : static_cast<std::int32_t>(static_cast<std::uint32_t>(whole));
      break;
    case DType::u8:
      e.whole = floating ? saturated(x, 0, 256, 0, 255) : static_cast<std::uint8_t>(whole);
      break;
    case DType::boolean:
      e.whole = floating ? x != 0 : whole != 0;
      break;
  }
  return e;
}

::testing::AssertionResult holds(Buffer& b, i64 i, const Expected& e) {
  if (is_floating_point(b.dtype())) {
    const double got = b.real(i);
    if (std::isnan(e.real) && std::isnan(got)) return ::testing::AssertionSuccess();
    if (got == e.real && std::signbit(got) == std::signbit(e.real)) {
      return ::testing::AssertionSuccess();
    }
    return ::testing::AssertionFailure() << "element " << i << ": " << got << ", not " << e.real;
  }
  if (b.integer(i) == e.whole) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << "element " << i << ": " << b.integer(i) << ", not " << e.whole;
}

// Values with every special case that the dtype has.
void fill_with_cases(Buffer& b, Rng& rng) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const double cases[] = {
      0.0,       -0.0,      nan,          inf,          -inf,          0.5,           -0.5,  1.5,
      254.6,     255.5,     256,          -1,           -0.99,         65519,         65520, 65504,
      1e9,       -1e9,      2147483647.0, 2147483648.0, -2147483648.0, -2147483904.0, 9e18,  9.3e18,
      -9.3e18,   1e38,      -1e39,        5e-8,         3e-8,          -6e-5,         1e-40, 6.1e-5,
      0x1.004p0, 0x1.00cp0, 0x1.01p0,     0x1.03p0};
  for (i64 i = 0; i < b.numel(); ++i) {
    if (is_floating_point(b.dtype())) {
      const auto pick = static_cast<std::size_t>(draw(rng, 0, 2 * std::ssize(cases) - 1));
      b.set(i, pick < std::size(cases) ? cases[pick]
                                       : std::uniform_real_distribution<double>(-300, 300)(rng));
    } else if (b.dtype() == DType::boolean) {
      b.set(i, static_cast<double>(draw(rng, 0, 1)));
    } else if (b.dtype() == DType::i64) {
      b.set_raw<i64>(i, static_cast<i64>(rng() >> draw(rng, 0, 63)) * (draw(rng, 0, 1) * 2 - 1));
    } else {
      const auto bits = static_cast<std::uint32_t>(rng());
      std::memcpy(b.at(i), &bits, static_cast<std::size_t>(b.item()));
    }
  }
}

TEST(Copy, EveryPairOfDTypesInEveryLayout) {
  Rng rng(1);
  for (DType from : kAllDTypes) {
    for (DType to : kAllDTypes) {
      for (int round = 0; round < 12; ++round) {
        const Dims sizes = random_sizes(rng, 4, 9);
        Dims source_sizes = sizes;
        if (round % 3 == 2) {  // broadcast
          for (i64& s : source_sizes) s = draw(rng, 0, 2) == 0 ? 1 : s;
          while (!source_sizes.empty() && draw(rng, 0, 3) == 0) source_sizes.erase(0);
        }
        Buffer x(from, source_sizes, rng), y(to, sizes, rng);
        fill_with_cases(x, rng);
        run_kernel(op<structured::Copy>(), {y.view(), x.view()}, {y.view()});
        for (i64 i = 0; i < y.numel(); ++i) {
          const i64 at = broadcast_index(i, sizes, source_sizes);
          ASSERT_TRUE(holds(y, i, reference_cast(x, at, to)))
              << describe(x.meta()) << " to " << describe(y.meta()) << " from " << x.real(at);
        }
        ASSERT_TRUE(y.margins_intact());
      }
    }
  }
}

TEST(Copy, LongRunsCastAsShortOnesDo) {
  Rng rng(2);
  for (DType from : kAllDTypes) {
    for (DType to : kAllDTypes) {
      Buffer x(from, {3001}), y(to, {3001});
      fill_with_cases(x, rng);
      run_kernel(op<structured::Copy>(), {y.view(), x.view()}, {y.view()});
      for (i64 i = 0; i < 3001; ++i) {
        ASSERT_TRUE(holds(y, i, reference_cast(x, i, to)))
            << name(from) << " to " << name(to) << " from " << x.real(i);
      }
    }
  }
}

TEST(Copy, LevelsCastToTheSameBits) {
  Rng rng(3);
  for (DType from : kAllDTypes) {
    Buffer x(from, {777});
    fill_with_cases(x, rng);
    for (DType to : kAllDTypes) {
      Buffer expected(to, {777}), y(to, {777});
      loops().copy->cast[static_cast<int>(from)][static_cast<int>(to)](777, expected.data(),
                                                                       x.data());
      for (IsaLevel level : {IsaLevel::base, IsaLevel::v3, IsaLevel::v4}) {
        const LevelLoops* other = loops_of(level);
        if (other == nullptr || level > detected_isa_level()) continue;
        y.reset();
        other->copy->cast[static_cast<int>(from)][static_cast<int>(to)](777, y.data(), x.data());
        for (i64 i = 0; i < 777; ++i) {
          ASSERT_TRUE(y.same_bits(i, expected.at(i)) || std::isnan(y.real(i)))
              << name(from) << " to " << name(to) << " of " << x.real(i);
        }
        ASSERT_TRUE(y.margins_intact());
      }
    }
  }
}

TEST(Copy, TransposesOfEveryItemSize) {
  Rng rng(4);
  for (DType from : {DType::u8, DType::bf16, DType::f32, DType::f64}) {
    for (DType to : {from, DType::f32}) {
      for (Dims sizes : {Dims{64, 64}, Dims{65, 130}, Dims{8, 8}, Dims{7, 200}, Dims{200, 9},
                         Dims{3, 33, 70}, Dims{70, 3, 33}, Dims{33, 70, 3}}) {
        Dims order;
        for (int d = sizes.size() - 1; d >= 0; --d) order.push_back(sizes[d]);
        const Dims transposed = contiguous_strides(order);
        Dims strides;
        for (int d = sizes.size() - 1; d >= 0; --d) strides.push_back(transposed[d]);
        Buffer x(from, sizes, strides), y(to, sizes);
        x.fill_random(rng, 0, 100);
        run_kernel(op<structured::Copy>(), {y.view(), x.view()}, {y.view()});
        for (i64 i = 0; i < y.numel(); ++i) {
          ASSERT_TRUE(holds(y, i, reference_cast(x, i, to))) << describe(x.meta());
        }
        ASSERT_TRUE(y.margins_intact());
      }
    }
  }
}

TEST(Copy, ThreadsDoNotMatter) {
  Rng rng(5);
  const int before = num_threads();
  Buffer x(DType::f32, {700, 1100}, {1, 700}), wide(DType::f32, {700, 1100});
  x.fill_random(rng, -1, 1);
  wide.fill_random(rng, -1, 1);
  for (int threads : {1, 3, 4}) {
    set_num_threads(threads);
    Buffer y(DType::f32, {700, 1100}), z(DType::i32, {700, 1100});
    run_kernel(op<structured::Copy>(), {y.view(), x.view()}, {y.view()});
    run_kernel(op<structured::Copy>(), {z.view(), wide.view()}, {z.view()});
    for (i64 i = 0; i < y.numel(); ++i) {
      ASSERT_EQ(y.raw<float>(i), x.raw<float>(i));
      ASSERT_EQ(z.integer(i), static_cast<i64>(wide.raw<float>(i)));
    }
  }
  set_num_threads(before);
}

TEST(Copy, OverlapReadsBeforeItWrites) {
  for (i64 n : {3, 64, 257}) {  // x.copy_(x.t())
    Buffer x(DType::f32, {n, n});
    for (i64 i = 0; i < n * n; ++i) x.set(i, static_cast<double>(i));
    Meta flipped = x.meta();
    flipped.strides = {1, n};
    run_kernel(op<structured::Copy>(), {x.view(), {x.data(), &flipped}}, {x.view()});
    for (i64 i = 0; i < n * n; ++i) {
      ASSERT_EQ(x.real(i), static_cast<double>(i % n * n + i / n));
    }
  }
  for (i64 n : {5, 4096, 1 << 20}) {  // shifted by one, both ways
    for (i64 shift : {1, -1}) {
      Buffer x(DType::i64, {n + 1});
      for (i64 i = 0; i <= n; ++i) x.set_raw<i64>(i, i);
      Meta part = x.meta();
      part.sizes = {n};
      BufferView low{x.data(), &part}, high{x.at(1), &part};
      run_kernel(op<structured::Copy>(), {shift > 0 ? high : low, shift > 0 ? low : high},
                 {shift > 0 ? high : low});
      for (i64 i = 0; i < n; ++i) {
        ASSERT_EQ(x.raw<i64>(shift > 0 ? i + 1 : i), shift > 0 ? i : i + 1);
      }
    }
  }
  Buffer same(DType::f32, {4, 4});
  for (i64 i = 0; i < 16; ++i) same.set(i, static_cast<double>(i));
  run_kernel(op<structured::Copy>(), {same.view(), same.view()}, {same.view()});
  for (i64 i = 0; i < 16; ++i) EXPECT_EQ(same.real(i), static_cast<double>(i));
  // The same bytes under another dtype.
  Buffer bits(DType::i32, {8});
  for (i64 i = 0; i < 8; ++i) bits.set(i, static_cast<double>(i + 1));
  Meta as_float = bits.meta();
  as_float.dtype = DType::f32;
  run_kernel(op<structured::Copy>(), {{bits.data(), &as_float}, bits.view()},
             {{bits.data(), &as_float}});
  for (i64 i = 0; i < 8; ++i) EXPECT_EQ(bits.raw<float>(i), static_cast<float>(i + 1));
}

TEST(Clone, KeepsElementsInItsOwnStrides) {
  Rng rng(6);
  for (DType t : kAllDTypes) {
    for (int round = 0; round < 8; ++round) {
      Buffer x(t, random_sizes(rng, 5, 7), rng);
      fill_with_cases(x, rng);
      Attrs attrs;
      attrs.a = round % 2;
      Buffer y(inferred(op<structured::Clone>(), {x.view()}, attrs)[0]);
      run_kernel(op<structured::Clone>(), {x.view()}, {y.view()}, attrs);
      for (i64 i = 0; i < x.numel(); ++i) ASSERT_TRUE(y.same_bits(i, x.at(i)));
      ASSERT_TRUE(y.margins_intact());
    }
  }
}

TEST(Full, WritesTheScalarInEveryDTypeAndLayout) {
  Rng rng(7);
  for (DType t : kAllDTypes) {
    for (const Scalar value : {Scalar(0), Scalar(1), Scalar(2.75), Scalar(true), Scalar(-3),
                               Scalar(1e300), Scalar(std::nan("")), Scalar(i64{1} << 40)}) {
      Buffer x(t, random_sizes(rng, 4, 40), rng);
      Attrs attrs;
      attrs.add_scalar(value);
      run_kernel(op<structured::Fill>(), {x.view()}, {x.view()}, attrs);
      Buffer source(value.is_floating() ? DType::f64 : DType::i64, {1});
      if (value.is_floating()) source.set_raw(0, value.to_double());
      if (!value.is_floating()) source.set_raw(0, value.to_int());
      for (i64 i = 0; i < x.numel(); ++i) {
        ASSERT_TRUE(holds(x, i, reference_cast(source, 0, t))) << value.str() << " as " << name(t);
      }
      ASSERT_TRUE(x.margins_intact());
    }
  }
  Attrs attrs;
  attrs.dims = {300, 500};
  attrs.a = static_cast<i64>(DType::f32);
  attrs.add_scalar(7);
  Buffer y(inferred(op<structured::Full>(), {}, attrs)[0]);
  run_kernel(op<structured::Full>(), {}, {y.view()}, attrs);
  for (i64 i = 0; i < y.numel(); ++i) ASSERT_EQ(y.raw<float>(i), 7.0f);
}

Buffer arange(DType t, i64 n, Scalar start, Scalar step) {
  Attrs attrs;
  attrs.dims = {n};
  attrs.a = static_cast<i64>(t);
  attrs.add_scalar(start);
  attrs.add_scalar(step);
  Buffer y(inferred(op<structured::Arange>(), {}, attrs)[0]);
  run_kernel(op<structured::Arange>(), {}, {y.view()}, attrs);
  EXPECT_TRUE(y.margins_intact());
  return y;
}

TEST(Arange, EachElementIsComputedFromItsPlace) {
  for (i64 n : {0, 1, 5, 1300, 100000}) {
    Buffer reals = arange(DType::f64, n, 0.1, 0.3), floats = arange(DType::f32, n, -2.5, 0.1);
    Buffer wholes = arange(DType::i64, n, i64{1} << 60, -7), small = arange(DType::u8, n, 250, 3);
    Buffer halves = arange(DType::f16, n, 0, 0.25), cut = arange(DType::i32, n, 1.9, 2.9);
    for (i64 i = 0; i < n; ++i) {
      const double k = static_cast<double>(i);
      ASSERT_EQ(reals.raw<double>(i), 0.1 + k * 0.3);
      ASSERT_EQ(floats.raw<float>(i), static_cast<float>(-2.5 + k * 0.1));
      ASSERT_EQ(wholes.raw<i64>(i), (i64{1} << 60) - 7 * i);
      ASSERT_EQ(small.integer(i), (250 + 3 * i) % 256);
      ASSERT_EQ(halves.real(i), rounded(static_cast<float>(k * 0.25), 11, -14, 65520));
      ASSERT_EQ(cut.integer(i), 1 + 2 * i);
    }
  }
}

TEST(Cat, JoinsAlongEveryAxis) {
  Rng rng(8);
  for (int round = 0; round < 60; ++round) {
    Dims sizes = random_sizes(rng, 4, 8);
    if (sizes.empty()) sizes = {3};
    const int axis = static_cast<int>(draw(rng, 0, sizes.size() - 1));
    const DType t = kAllDTypes[round % 8];
    std::vector<Buffer> parts;
    std::vector<BufferView> views;
    for (i64 k = draw(rng, 1, 4); k > 0; --k) {
      Dims part = sizes;
      part[axis] = draw(rng, 0, 5);
      parts.emplace_back(t, part, rng);
      fill_with_cases(parts.back(), rng);
    }
    for (Buffer& p : parts) views.push_back(p.view());
    Attrs attrs;
    attrs.a = axis;
    Buffer y(inferred(op<structured::Cat>(), views, attrs)[0]);
    run_kernel(op<structured::Cat>(), views, {y.view()}, attrs);
    i64 inner = 1;
    for (int d = axis + 1; d < sizes.size(); ++d) inner *= sizes[d];
    for (i64 i = 0; i < y.numel(); ++i) {
      const i64 length = y.meta().sizes[axis];
      const i64 outer = i / inner / length, low = i % inner;
      i64 along = i / inner % length;
      std::size_t k = 0;
      while (along >= parts[k].meta().sizes[axis]) along -= parts[k++].meta().sizes[axis];
      const i64 from = (outer * parts[k].meta().sizes[axis] + along) * inner + low;
      ASSERT_TRUE(y.same_bits(i, parts[k].at(from))) << describe(y.meta()) << " axis " << axis;
    }
    ASSERT_TRUE(y.margins_intact());
  }
}

TEST(Flip, ReversesTheAxes) {
  Rng rng(9);
  for (int round = 0; round < 60; ++round) {
    Buffer x(kAllDTypes[round % 8], random_sizes(rng, 4, 30), rng);
    fill_with_cases(x, rng);
    Attrs attrs;
    for (int d = 0; d < x.meta().dim(); ++d) {
      if (draw(rng, 0, 1) == 1) attrs.dims.push_back(d);
    }
    Buffer y(inferred(op<structured::Flip>(), {x.view()}, attrs)[0]);
    run_kernel(op<structured::Flip>(), {x.view()}, {y.view()}, attrs);
    for (i64 i = 0; i < x.numel(); ++i) {
      i64 rest = i, from = 0, scale = 1;
      for (int d = x.meta().dim() - 1; d >= 0; --d) {
        const i64 size = x.meta().sizes[d];
        i64 at = rest % size;
        rest /= size;
        if (std::count(attrs.dims.begin(), attrs.dims.end(), d) != 0) at = size - 1 - at;
        from += at * scale;
        scale *= size;
      }
      ASSERT_TRUE(y.same_bits(i, x.at(from))) << describe(x.meta());
    }
    ASSERT_TRUE(y.margins_intact());
  }
  // Into itself: the value of x.copy_(flip(x)).
  Buffer x(DType::i64, {1 << 20});
  for (i64 i = 0; i < x.numel(); ++i) x.set_raw<i64>(i, i);
  Buffer flipped(DType::i64, {1 << 20});
  Attrs attrs;
  attrs.dims = {0};
  run_kernel(op<structured::Flip>(), {x.view()}, {flipped.view()}, attrs);
  for (i64 i = 0; i < x.numel(); ++i) ASSERT_EQ(flipped.raw<i64>(i), x.numel() - 1 - i);
}

TEST(SliceBackward, PutsTheGradientBetweenZeros) {
  Rng rng(10);
  for (int round = 0; round < 60; ++round) {
    Dims sizes = random_sizes(rng, 4, 8);
    if (sizes.empty()) sizes = {6};
    const int axis = static_cast<int>(draw(rng, 0, sizes.size() - 1));
    const i64 step = draw(rng, 1, 3), start = draw(rng, 0, sizes[axis]);
    const i64 length = (sizes[axis] - start + step - 1) / step;
    Dims part = sizes;
    part[axis] = length;
    Buffer dy(kAllDTypes[round % 8], part, rng);
    fill_with_cases(dy, rng);
    Attrs attrs;
    attrs.dims = sizes;
    attrs.a = axis;
    attrs.b = step;
    attrs.add_scalar(start);
    Buffer dx(inferred(op<structured::SliceBackward>(), {dy.view()}, attrs)[0]);
    run_kernel(op<structured::SliceBackward>(), {dy.view()}, {dx.view()}, attrs);
    i64 inner = 1;
    for (int d = axis + 1; d < sizes.size(); ++d) inner *= sizes[d];
    const char zero[8] = {};
    for (i64 i = 0; i < dx.numel(); ++i) {
      const i64 along = i / inner % sizes[axis], place = (along - start) / step;
      if (along < start || (along - start) % step != 0 || place >= length) {
        ASSERT_TRUE(dx.same_bits(i, zero));
      } else {
        const i64 from = (i / inner / sizes[axis] * length + place) * inner + i % inner;
        ASSERT_TRUE(dx.same_bits(i, dy.at(from)));
      }
    }
    ASSERT_TRUE(dx.margins_intact());
  }
}

}  // namespace
}  // namespace ingot::testing
