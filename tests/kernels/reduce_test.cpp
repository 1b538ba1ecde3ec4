// Reductions on the CPU against long double over logical indices, and the order of their sums.
#include <algorithm>
#include <cmath>
#include <optional>

#include <gtest/gtest.h>

#include <ingot/kernels/core/error.h>
#include <ingot/kernels/cpu/reduce.h>
#include <ingot/kernels/ops/structured/reductions.h>

#include "op_harness.h"

namespace ingot::testing {
namespace {

using Results = std::vector<Buffer>;

// Runs the op over `axes`; b: the correction of var.
template <class Row>
Results reduce(Buffer& in, const Dims& axes, bool keepdim = false, i64 b = 1) {
  Attrs attrs;
  attrs.dims = axes;
  attrs.a = keepdim ? 1 : 0;
  attrs.b = b;
  return run_op(structured_op<Row>, cpu_reduce, {&in}, attrs);
}

Dims all_axes(const Buffer& b) {
  Dims axes;
  for (int d = 0; d < b.meta().dim(); ++d) axes.push_back(d);
  return axes;
}

// The logical indices that each output reduces, in row-major order.
std::vector<std::vector<i64>> groups_of(const Dims& sizes, const Dims& axes) {
  const Dims kept = structured::reduced_sizes(sizes, axes, true);
  std::vector<std::vector<i64>> groups(static_cast<std::size_t>(kept.product()));
  for (i64 i = 0; i < sizes.product(); ++i) {
    groups[static_cast<std::size_t>(broadcast_index(i, sizes, kept))].push_back(i);
  }
  return groups;
}

// f16 ends at 65504: what lies beyond is infinite, near the edge either may be right.
::testing::AssertionResult close(DType t, double value, long double expected, double bound) {
  const double e = static_cast<double>(expected);
  const bool near = std::fabs(value - e) <= bound;
  const bool overflows = t == DType::f16 && std::fabs(e) + bound >= 65504;
  if (near || (overflows && value == std::copysign(kInf, e))) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure()
         << value << " is not within " << bound << " of " << e << " (" << name(t) << ")";
}

struct Reference {
  long double sum = 0, absolute = 0, product = 1, mean = 0, squares = 0;
  i64 whole_sum = 0, whole_product = 1;
  bool any = false, all = true;
  i64 largest = -1, smallest = -1;  // positions
};

bool beats(double a, double b, bool smallest) {
  return (smallest ? a < b : a > b) || (std::isnan(a) && !std::isnan(b));
}

Reference reference(Buffer& in, const std::vector<i64>& group) {
  Reference r;
  for (std::size_t k = 0; k < group.size(); ++k) {
    const double x = in.real(group[k]);
    r.sum += x;
    r.absolute += std::fabs(x);
    r.product *= x;
    r.any = r.any || x != 0;
    r.all = r.all && x != 0;
    if (!is_floating_point(in.dtype())) {
      const i64 whole = in.integer(group[k]);
      r.whole_sum += whole;
      r.whole_product = static_cast<i64>(static_cast<std::uint64_t>(r.whole_product) *
                                         static_cast<std::uint64_t>(whole));
    }
    const auto better = [&](i64 best, bool smallest) {
      return best < 0 || beats(x, in.real(group[static_cast<std::size_t>(best)]), smallest);
    };
    if (better(r.largest, false)) r.largest = static_cast<i64>(k);
    if (better(r.smallest, true)) r.smallest = static_cast<i64>(k);
  }
  r.mean = r.sum / static_cast<long double>(group.size());
  for (i64 i : group) r.squares += (in.real(i) - r.mean) * (in.real(i) - r.mean);
  return r;
}

// Every reduction that exists for the dtype, over one operand and one set of axes.
void check_all(Buffer& in, const Dims& axes) {
  SCOPED_TRACE(describe(in.meta()) + " strides " + to_string(in.meta().strides) + " axes " +
               to_string(axes));
  const auto groups = groups_of(in.meta().sizes, axes);
  const bool floating = is_floating_point(in.dtype());
  const bool empty = groups.empty() || groups[0].empty();
  Buffer sum = reduce<structured::Sum>(in, axes)[0], prod = reduce<structured::Prod>(in, axes)[0];
  Buffer any = reduce<structured::Any>(in, axes)[0], all = reduce<structured::All>(in, axes)[0];
  std::optional<Buffer> mean, var, amax, amin, argmax, argmin;
  if (floating) {
    mean = reduce<structured::Mean>(in, axes)[0];
    var = reduce<structured::Var>(in, axes, false, 1)[0];
  }
  if (!empty) {
    amax = reduce<structured::Amax>(in, axes)[0];
    amin = reduce<structured::Amin>(in, axes)[0];
    argmax = reduce<structured::Argmax>(in, axes)[0];
    argmin = reduce<structured::Argmin>(in, axes)[0];
  }
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const i64 o = static_cast<i64>(g);
    const Reference r = reference(in, groups[g]);
    const double n = static_cast<double>(groups[g].size());
    ASSERT_EQ(any.integer(o), r.any);
    ASSERT_EQ(all.integer(o), r.all);
    if (floating) {
      // Sums run in f32 for 16-bit types, and are rounded to their own precision at the end.
      const double in_sum = last_bit_of_compute(in.dtype());
      const double bound = static_cast<double>(r.absolute) * in_sum * (n / 16 + 12);
      const double last = last_bit(in.dtype());
      const auto magnitude = [](long double v) { return std::fabs(static_cast<double>(v)); };
      const DType t = in.dtype();
      ASSERT_TRUE(close(t, sum.real(o), r.sum, bound + magnitude(r.sum) * last));
      ASSERT_TRUE(
          close(t, prod.real(o), r.product, magnitude(r.product) * (in_sum * n + last) + 1e-7));
      if (n == 0) {
        ASSERT_TRUE(std::isnan(mean->real(o)));
        ASSERT_TRUE(std::isnan(var->real(o)));
        continue;
      }
      ASSERT_TRUE(close(t, mean->real(o), r.mean, bound / n + magnitude(r.mean) * 2 * last));
      if (n == 1) {
        ASSERT_TRUE(std::isnan(var->real(o)));
      } else {
        const long double expected = r.squares / (n - 1);
        ASSERT_TRUE(close(t, var->real(o), expected,
                          magnitude(expected) * (in_sum * (n / 16 + 30) + 2 * last) + 1e-12));
      }
    } else {
      ASSERT_EQ(sum.integer(o), r.whole_sum);
      ASSERT_EQ(prod.integer(o), r.whole_product);
    }
    if (n == 0) continue;
    ASSERT_EQ(argmax->integer(o), r.largest);
    ASSERT_EQ(argmin->integer(o), r.smallest);
    ASSERT_EQ(amax->real(o), in.real(groups[g][static_cast<std::size_t>(r.largest)]));
    ASSERT_EQ(amin->real(o), in.real(groups[g][static_cast<std::size_t>(r.smallest)]));
  }
}

TEST(Reduce, SmallShapesEveryDTypeAxesAndLayout) {
  Rng rng(11);
  for (int round = 0; round < 600; ++round) {
    Dims sizes = random_sizes(rng, 4, 6);
    if (!sizes.empty() && draw(rng, 0, 9) == 0) sizes[0] = 0;
    Buffer in(kAllDTypes[draw(rng, 0, kDTypeCount - 1)], sizes, rng);
    in.fill_random(rng, -3, 3);
    Dims axes;
    for (int d = 0; d < sizes.size(); ++d) {
      if (draw(rng, 0, 1) == 1) axes.push_back(d);
    }
    check_all(in, axes);
    if (HasFatalFailure()) return;
  }
}

// Sizes around the lanes, the blocks and the column tiles.
TEST(Reduce, LongAxes) {
  Rng rng(12);
  const Dims shapes[] = {{5, 4097},   {4097, 5}, {70, 1030},   {1030, 70}, {3, 4100, 3},
                         {2, 65, 80}, {8200, 2}, {33, 2, 200}, {20000},    {16, 16, 16, 16}};
  for (const Dims& sizes : shapes) {
    for (int layout = 0; layout < 3; ++layout) {
      const DType dtype = kAllDTypes[draw(rng, 0, kDTypeCount - 1)];
      Buffer in(dtype, sizes, random_strides(rng, sizes, static_cast<Layout>(layout)));
      in.fill_random(rng, 0.5, 1.5);  // products stay in range
      check_all(in, all_axes(in));
      for (int d = 0; d < sizes.size(); ++d) check_all(in, {d});
      if (sizes.size() == 3) check_all(in, {0, 2});
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Reduce, NaNIsTheExtremeAndTheFirstOneCounts) {
  Buffer x = buffer_of({4}, {2, kNaN, 9, kNaN});
  EXPECT_EQ(reduce<structured::Argmax>(x, {0})[0].integer(0), 1);
  EXPECT_EQ(reduce<structured::Argmin>(x, {0})[0].integer(0), 1);
  EXPECT_TRUE(std::isnan(reduce<structured::Amax>(x, {0})[0].real(0)));
  EXPECT_TRUE(std::isnan(reduce<structured::Amin>(x, {0})[0].real(0)));

  const i64 n = 100000;
  for (bool columns : {false, true}) {
    Buffer row = columns ? Buffer(DType::f32, {n, 8}) : Buffer(DType::f32, {n});
    const i64 width = columns ? 8 : 1;
    for (i64 i = 0; i < row.numel(); ++i) row.set(i, static_cast<double>(i % 1000));
    row.set(70001 * width, kNaN);
    row.set(70005 * width, kNaN);
    for (Results r : {reduce<structured::MaxDim>(row, {0}), reduce<structured::MinDim>(row, {0})}) {
      EXPECT_TRUE(std::isnan(r[0].real(0)));
      EXPECT_EQ(r[1].integer(0), 70001);
    }
  }
}

TEST(Reduce, FirstOfEqualExtremesAndZeros) {
  Buffer x = buffer_of({2, 5}, {3, 7, 7, -1, -1, 0, -0.0, 0, -0.0, 0});
  Results largest = reduce<structured::MaxDim>(x, {1}),
          smallest = reduce<structured::MinDim>(x, {1});
  EXPECT_EQ(values_of(largest[1]), (Values{1, 0}));
  EXPECT_EQ(values_of(smallest[1]), (Values{3, 0}));
  Buffer zeros = buffer_of({1, 2}, {-0.0, -0.0});
  for (const Dims& axes : {Dims{0}, Dims{1}, Dims{0, 1}}) {
    EXPECT_FALSE(std::signbit(reduce<structured::Amax>(zeros, axes)[0].real(0)));
    EXPECT_FALSE(std::signbit(reduce<structured::Amin>(zeros, axes)[0].real(0)));
  }
  Buffer wide(DType::f64, {6, 40});
  for (i64 i = 0; i < wide.numel(); ++i) wide.set(i, -0.0);
  Buffer value = reduce<structured::MaxDim>(wide, {0})[0];
  EXPECT_FALSE(std::signbit(value.real(0)));
}

TEST(Reduce, FlattenedArgmaxCountsInLogicalOrder) {
  Buffer x = buffer_of({2, 3}, {6, 2, 3, 4, 10, 5});
  Meta transposed = x.meta();
  transposed.sizes = {3, 2};
  transposed.strides = {1, 3};
  Buffer index(DType::i64, {});
  Attrs attrs;
  attrs.dims = {0, 1};
  const BufferView in{x.data(), &transposed}, out = index.view();
  cpu_reduce({structured_op<structured::Argmax>, &in, 1, &out, 1, attrs, Ticket{}});
  EXPECT_EQ(index.integer(0), 3);
}

TEST(Reduce, ColumnSliceOfAWiderMatrix) {
  Buffer g = buffer_of({4, 4}, {0, 0, 9, 9, 1, 1, 5, 7, 2, 2, 0, 0, 3, 3, 8, 1});
  Meta slice = g.meta();
  slice.sizes = {4, 2};
  Buffer sum(DType::f32, {4}), index(DType::i64, {4}), value(DType::f32, {4});
  Attrs attrs;
  attrs.dims = {1};
  const BufferView in{g.data(), &slice};
  BufferView out[] = {sum.view(), {}};
  cpu_reduce({structured_op<structured::Sum>, &in, 1, out, 1, attrs, Ticket{}});
  EXPECT_EQ(values_of(sum), (Values{0, 2, 4, 6}));
  BufferView both[] = {value.view(), index.view()};
  cpu_reduce({structured_op<structured::MaxDim>, &in, 1, both, 2, attrs, Ticket{}});
  EXPECT_EQ(values_of(value), (Values{0, 1, 2, 3}));
  EXPECT_EQ(values_of(index), (Values{0, 0, 0, 0}));
}

TEST(Reduce, ValuesAndIndicesOfATransposedOperand) {
  Buffer m(DType::f32, {3, 3}, {1, 3});
  const double values[] = {1, 5, 1, 3, 2, 9, 1, 4, 7};
  for (i64 i = 0; i < 9; ++i) m.set(i, values[i]);
  Results r = reduce<structured::MaxDim>(m, {1});
  EXPECT_EQ(values_of(r[0]), (Values{5, 9, 7}));
  EXPECT_EQ(values_of(r[1]), (Values{1, 2, 2}));
}

TEST(Reduce, EmptyAxesGiveTheIdentity) {
  Buffer x(DType::f32, {3, 0});
  EXPECT_EQ(values_of(reduce<structured::Sum>(x, {1})[0]), (Values{0, 0, 0}));
  EXPECT_EQ(values_of(reduce<structured::Prod>(x, {1})[0]), (Values{1, 1, 1}));
  EXPECT_EQ(values_of(reduce<structured::Any>(x, {1})[0]), (Values{0, 0, 0}));
  EXPECT_EQ(values_of(reduce<structured::All>(x, {1})[0]), (Values{1, 1, 1}));
  Buffer mean = reduce<structured::Mean>(x, {1})[0];
  for (i64 i = 0; i < 3; ++i) EXPECT_TRUE(std::isnan(mean.real(i)));
  EXPECT_THROW(reduce<structured::Amax>(x, {1}), Error);
  EXPECT_THROW(reduce<structured::Argmax>(x, {1}), Error);
  EXPECT_EQ(reduce<structured::Sum>(x, {0})[0].meta().sizes, Dims{0});
  EXPECT_EQ(reduce<structured::Amax>(x, {0})[0].meta().sizes, Dims{0});
  EXPECT_EQ(reduce<structured::Sum>(x, {0, 1})[0].real(0), 0);
  EXPECT_EQ(reduce<structured::Sum>(x, {1}, true)[0].meta().sizes, (Dims{3, 1}));
  EXPECT_EQ(reduce<structured::Sum>(x, {0}, true)[0].meta().sizes, (Dims{1, 0}));
}

TEST(Reduce, ZeroDimensions) {
  Buffer x = buffer_of({}, {5});
  for (const Dims& axes : {Dims{}, Dims{0}}) {
    EXPECT_EQ(reduce<structured::Sum>(x, axes)[0].real(0), 5);
    EXPECT_EQ(reduce<structured::Mean>(x, axes, true)[0].real(0), 5);
    EXPECT_EQ(reduce<structured::Amax>(x, axes)[0].real(0), 5);
    EXPECT_EQ(reduce<structured::Argmax>(x, axes)[0].integer(0), 0);
    Results r = reduce<structured::MaxDim>(x, axes);
    EXPECT_EQ(r[0].real(0), 5);
    EXPECT_EQ(r[1].integer(0), 0);
  }
}

// A single accumulator stops at 2^24.
TEST(Reduce, CountsBeyondTheMantissa) {
  const i64 n = i64{1} << 25, rows = 20000000;
  std::vector<float> ones(static_cast<std::size_t>(2 * rows), 1.0f);
  const auto run = [&](const Dims& sizes, const Dims& axes, const OpInfo& op) {
    Meta meta;
    meta.sizes = sizes;
    meta.strides = contiguous_strides(sizes);
    const BufferView in{ones.data(), &meta};
    Attrs attrs;
    attrs.dims = axes;
    const Meta result = inferred(op, {in}, attrs)[0];
    std::vector<float> out(static_cast<std::size_t>(result.numel()));
    const BufferView view{out.data(), &result};
    cpu_reduce({op, &in, 1, &view, 1, attrs, Ticket{}});
    return out;
  };
  const OpInfo &sum = structured_op<structured::Sum>, &mean = structured_op<structured::Mean>;
  using Floats = std::vector<float>;
  EXPECT_EQ(run({n}, {0}, sum), Floats{33554432});
  EXPECT_EQ(run({n / 2, 2}, {0}, sum), (Floats{16777216, 16777216}));
  EXPECT_EQ(run({rows, 2}, {0}, sum), (Floats{20000000, 20000000}));
  EXPECT_EQ(run({rows, 2}, {0}, mean), (Floats{1, 1}));
  const Floats pairs = run({n / 2, 2}, {1}, sum);
  EXPECT_EQ(static_cast<i64>(pairs.size()), n / 2);
  EXPECT_TRUE(std::all_of(pairs.begin(), pairs.end(), [](float v) { return v == 2; }));
}

TEST(Reduce, VarianceDoesNotCancel) {
  Buffer near = buffer_of({3}, {1e6, 1e6 + 1, 1e6 + 2});
  EXPECT_EQ(reduce<structured::Var>(near, {0})[0].real(0), 1);
  Buffer constant(DType::f32, {1000}), huge(DType::f32, {5, 3}, {1, 5});
  for (i64 i = 0; i < 1000; ++i) constant.set(i, 3.3);
  for (i64 i = 0; i < 15; ++i) huge.set(i, 1e15);
  EXPECT_EQ(reduce<structured::Var>(constant, {0})[0].real(0), 0);
  EXPECT_EQ(values_of(reduce<structured::Var>(huge, {0})[0]), (Values{0, 0, 0}));
}

TEST(Reduce, VarianceHasDocumentedLimits) {
  // Squares beyond the range of f32: inf and 0 on every path.
  Buffer large = buffer_of({2}, {1e30, -1e30}), small = buffer_of({2}, {1e-30, -1e-30});
  EXPECT_EQ(reduce<structured::Var>(large, {0})[0].real(0), kInf);
  EXPECT_EQ(reduce<structured::Var>(small, {0})[0].real(0), 0);
  // No degrees of freedom.
  Buffer one = buffer_of({1}, {2}), two = buffer_of({2}, {1, 2});
  EXPECT_TRUE(std::isnan(reduce<structured::Var>(one, {0}, false, 1)[0].real(0)));
  EXPECT_EQ(reduce<structured::Var>(one, {0}, false, 0)[0].real(0), 0);
  EXPECT_EQ(reduce<structured::Var>(two, {0}, false, 3)[0].real(0), kInf);
  EXPECT_EQ(reduce<structured::Var>(two, {0}, false, 0)[0].real(0), 0.25);
}

TEST(Reduce, IntegerSumsWrapAndMeansAreRefused) {
  Buffer x(DType::i64, {2});
  x.set_raw(0, std::numeric_limits<i64>::max());
  x.set_raw(1, i64{1});
  EXPECT_EQ(reduce<structured::Sum>(x, {0})[0].integer(0), std::numeric_limits<i64>::min());
  Buffer bytes = buffer_of({3}, {255, 255, 255}, DType::u8);
  EXPECT_EQ(reduce<structured::Sum>(bytes, {0})[0].integer(0), 765);
  EXPECT_THROW(reduce<structured::Mean>(bytes, {0}), Error);
}

TEST(Reduce, TruthOfNaNAndZero) {
  Buffer x = buffer_of({2, 3}, {0, -0.0, 0, kNaN, 0, 0});
  EXPECT_EQ(values_of(reduce<structured::Any>(x, {1})[0]), (Values{0, 1}));
  EXPECT_EQ(values_of(reduce<structured::All>(x, {0})[0]), (Values{0, 0, 0}));
  Buffer whole = buffer_of({1, 2}, {2, kNaN});
  EXPECT_EQ(reduce<structured::All>(whole, {0, 1})[0].integer(0), 1);
}

TEST(Reduce, InfinitiesAndNaNInSums) {
  Buffer x = buffer_of({3, 2}, {kInf, 1, -kInf, 1, kInf, kInf});
  Buffer rows = reduce<structured::Sum>(x, {1})[0], columns = reduce<structured::Sum>(x, {0})[0];
  EXPECT_EQ(values_of(rows), (Values{kInf, -kInf, kInf}));
  EXPECT_TRUE(std::isnan(columns.real(0)));
  EXPECT_EQ(columns.real(1), kInf);
}

}  // namespace
}  // namespace ingot::testing
