// Reductions on the CPU against long double over logical indices, and the order of their sums.
#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include <gtest/gtest.h>

#include <ingot/kernels/core/error.h>
#include <ingot/kernels/cpu/parallel.h>
#include <ingot/kernels/cpu/reduce.h>
#include <ingot/kernels/cpu/reduce_plan.h>
#include <ingot/kernels/ops/reduce_rows.h>
#include <ingot/kernels/ops/structured/reductions.h>

#include "strided_buffer.h"

namespace ingot::testing {
namespace {

using Results = std::vector<Buffer>;
const double kNaN = std::nan(""), kInf = std::numeric_limits<double>::infinity();

// Runs the op over `axes`; b: the correction of var.
template <class Row>
Results reduce(Buffer& in, const Dims& axes, bool keepdim = false, i64 b = 1) {
  const OpInfo& op = structured_op<Row>;
  Attrs attrs;
  attrs.dims = axes;
  attrs.a = keepdim ? 1 : 0;
  attrs.b = b;
  const BufferView view = in.view();
  Results out;
  for (const Meta& meta : inferred(op, {view}, attrs)) out.emplace_back(meta);
  std::vector<BufferView> views;
  for (Buffer& o : out) views.push_back(o.view());
  cpu_reduce({op, &view, 1, views.data(), static_cast<int>(views.size()), attrs, Ticket{}});
  for (Buffer& o : out) EXPECT_TRUE(o.margins_intact());
  return out;
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

Buffer buffer_of(const Dims& sizes, const std::vector<double>& values, DType dtype = DType::f32) {
  Buffer b(dtype, sizes);
  for (i64 i = 0; i < b.numel(); ++i) b.set(i, values[static_cast<std::size_t>(i)]);
  return b;
}

std::vector<double> values_of(Buffer& b) {
  std::vector<double> values;
  for (i64 i = 0; i < b.numel(); ++i) values.push_back(b.real(i));
  return values;
}

// Precision and range of a floating dtype.
double epsilon(DType t) {
  switch (t) {
    case DType::f64:
      return 0x1p-52;
    case DType::f16:
      return 0x1p-10;
    case DType::bf16:
      return 0x1p-7;
    default:
      return 0x1p-23;
  }
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
      const double in_sum = in.dtype() == DType::f64 ? 0x1p-52 : 0x1p-23;
      const double bound = static_cast<double>(r.absolute) * in_sum * (n / 16 + 12);
      const double last = epsilon(in.dtype());
      const auto magnitude = [](long double v) { return std::fabs(static_cast<double>(v)); };
      const DType t = in.dtype();
      ASSERT_TRUE(close(t, sum.real(o), r.sum, bound + magnitude(r.sum) * last));
      ASSERT_TRUE(close(t, prod.real(o), r.product,
                        magnitude(r.product) * (in_sum * n + last) + 1e-7));
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
  const Dims shapes[] = {{5, 4097}, {4097, 5},    {70, 1030},   {1030, 70}, {3, 4100, 3},
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

// The tree as its documentation says it.
template <class T>
T tree_sum(const std::vector<T>& x) {
  if (x.size() > 4096) {
    std::vector<T> blocks;
    for (std::size_t b = 0; b < x.size(); b += 4096) {
      blocks.push_back(tree_sum(std::vector<T>(
          x.begin() + static_cast<std::ptrdiff_t>(b),
          x.begin() + static_cast<std::ptrdiff_t>(std::min(b + 4096, x.size())))));
    }
    return tree_sum(blocks);
  }
  T lanes[16] = {};
  for (std::size_t i = 0; i < x.size(); ++i) lanes[i % 16] += x[i];
  for (int half = 8; half > 0; half /= 2) {
    for (int l = 0; l < half; ++l) lanes[l] += lanes[l + half];
  }
  return lanes[0];
}

template <class T>
void check_tree(DType dtype) {
  Rng rng(13);
  for (i64 n : {1, 7, 15, 16, 17, 63, 64, 65, 255, 1000, 4095, 4096, 4097, 70000}) {
    for (i64 cols : {1, 3, 5, 70, 200}) {
      if (n * cols > 400000) continue;
      const Dims sizes = {n, cols};
      Buffer by_columns(dtype, sizes);
      by_columns.fill_random(rng, -1, 1);
      Buffer by_rows(dtype, sizes, {1, n}), gaps(dtype, sizes, {2 * cols + 3, 2});
      for (i64 i = 0; i < n * cols; ++i) {
        by_rows.set_raw(i, by_columns.raw<T>(i));
        gaps.set_raw(i, by_columns.raw<T>(i));
      }
      for (int threads : {1, 2, 3}) {
        set_num_threads(threads);
        Buffer a = reduce<structured::Sum>(by_columns, {0})[0];
        Buffer b = reduce<structured::Sum>(by_rows, {0})[0];
        Buffer c = reduce<structured::Sum>(gaps, {0})[0];
        for (i64 j = 0; j < cols; ++j) {
          std::vector<T> column;
          for (i64 i = 0; i < n; ++i) column.push_back(by_columns.raw<T>(i * cols + j));
          const T expected = tree_sum(column);
          ASSERT_TRUE(a.same_bits(j, &expected)) << n << " x " << cols << " columns";
          ASSERT_TRUE(b.same_bits(j, &expected)) << n << " x " << cols << " rows";
          ASSERT_TRUE(c.same_bits(j, &expected)) << n << " x " << cols << " with gaps";
          // The templates that generated code calls.
          const auto load = [&](i64 i) {
            return Num<T>(column[static_cast<std::size_t>(i)]);
          };
          const T staged = rows::reduce_row<rows::SumRow>(n, load).v;
          const T direct = rows::reduce_row<rows::SumRow>(n, rows::Elements<T>{column.data()}).v;
          ASSERT_TRUE(a.same_bits(j, &staged) && a.same_bits(j, &direct));
        }
      }
    }
  }
  set_num_threads(available_cores());
}

TEST(Reduce, SumsFollowTheDocumentedTreeInEveryLayout) {
  check_tree<float>(DType::f32);
  check_tree<double>(DType::f64);
}

// Cascaded levels against the recursion, without the memory of 2^25 elements.
TEST(Reduce, TreeHasMoreLevels) {
  const i64 n = (i64{1} << 24) + 4096 * 3 + 5;
  std::uint32_t state = 1;
  std::vector<float> x(static_cast<std::size_t>(n));
  for (float& v : x) {
    state = state * 1664525u + 1013904223u;
    v = static_cast<float>(state >> 8) * 0x1p-24f;
  }
  const float expected = tree_sum(x);
  const float cascaded = rows::reduce_row<rows::SumRow>(n, rows::Elements<float>{x.data()}).v;
  EXPECT_EQ(std::bit_cast<std::uint32_t>(cascaded), std::bit_cast<std::uint32_t>(expected));
  Meta meta;
  meta.sizes = {n};
  meta.strides = {1};
  Buffer out(DType::f32, {});
  sum_over({x.data(), &meta}, {0}, out.view());
  EXPECT_TRUE(out.same_bits(0, &expected));
}

TEST(Reduce, EverythingButProductsIsThreadInvariant) {
  Rng rng(14);
  const Dims shapes[] = {{300000}, {3, 70000}, {70000, 3}, {500, 700}, {40, 3, 900}};
  for (const Dims& sizes : shapes) {
    Buffer in(DType::f32, sizes);
    in.fill_random(rng, -1, 1);
    for (const Dims& axes : {all_axes(in), Dims{0}, Dims{sizes.size() - 1}}) {
      std::vector<std::vector<double>> first;
      for (int threads : {1, 2, 3}) {
        set_num_threads(threads);
        std::vector<std::vector<double>> results;
        for (Results r :
             {reduce<structured::Sum>(in, axes), reduce<structured::Mean>(in, axes),
              reduce<structured::Var>(in, axes), reduce<structured::Amax>(in, axes),
              reduce<structured::Argmin>(in, axes)}) {
          results.push_back(values_of(r[0]));
        }
        if (threads == 1) first = results;
        EXPECT_EQ(results, first) << to_string(sizes) << to_string(axes) << threads;
      }
    }
  }
  set_num_threads(available_cores());
}

// Sums use no fused operation, so that all levels agree, the baseline too.
TEST(Reduce, LevelsAgreeBitForBit) {
  Rng rng(15);
  std::vector<float> x(4096), centre(64, 0.25f);
  for (float& v : x) v = std::uniform_real_distribution<float>(-1, 1)(rng);
  const auto run = [&](const ReduceLoops& loops) {
    std::vector<float> results;
    for (ReduceKind kind : {ReduceKind::sum, ReduceKind::prod, ReduceKind::max, ReduceKind::min,
                            ReduceKind::difference, ReduceKind::square}) {
      const ReduceLoops::Kind& k = loops.kind[static_cast<int>(kind)];
      for (i64 n : {0, 1, 15, 16, 33, 64, 100, 1000, 4096}) {
        float out;
        k.rows(1, n, x.data(), 0, centre.data(), &out);
        results.push_back(out);
      }
      std::vector<float> lanes(16 * 64), columns(64);
      std::vector<float> short_rows(60);
      k.rows(60, 11, x.data(), 13, centre.data(), short_rows.data());
      results.insert(results.end(), short_rows.begin(), short_rows.end());
      k.start(63, 50, lanes.data());
      k.add(0, 3, 50, x.data(), 60, centre.data(), lanes.data());
      k.add(3, 60, 50, x.data() + 180, 50, centre.data(), lanes.data());
      k.fold(63, 50, lanes.data(), columns.data());
      results.insert(results.end(), columns.begin(), columns.begin() + 50);
    }
    return results;
  };
  const auto expected = run(reduce_loops(DType::f32));
  int compared = 0;
  for (IsaLevel level : {IsaLevel::base, IsaLevel::v3, IsaLevel::v4}) {
    const ReduceLoops* loops = reduce_loops_of(level, DType::f32);
    if (loops == nullptr || level > detected_isa_level()) continue;
    ++compared;
    EXPECT_EQ(run(*loops), expected) << isa_name(level);
  }
  EXPECT_GE(compared, 1);
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
  Results largest = reduce<structured::MaxDim>(x, {1}), smallest = reduce<structured::MinDim>(x, {1});
  EXPECT_EQ(values_of(largest[1]), (std::vector<double>{1, 0}));
  EXPECT_EQ(values_of(smallest[1]), (std::vector<double>{3, 0}));
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
  EXPECT_EQ(values_of(sum), (std::vector<double>{0, 2, 4, 6}));
  BufferView both[] = {value.view(), index.view()};
  cpu_reduce({structured_op<structured::MaxDim>, &in, 1, both, 2, attrs, Ticket{}});
  EXPECT_EQ(values_of(value), (std::vector<double>{0, 1, 2, 3}));
  EXPECT_EQ(values_of(index), (std::vector<double>{0, 0, 0, 0}));
}

TEST(Reduce, ValuesAndIndicesOfATransposedOperand) {
  Buffer m(DType::f32, {3, 3}, {1, 3});
  const double values[] = {1, 5, 1, 3, 2, 9, 1, 4, 7};
  for (i64 i = 0; i < 9; ++i) m.set(i, values[i]);
  Results r = reduce<structured::MaxDim>(m, {1});
  EXPECT_EQ(values_of(r[0]), (std::vector<double>{5, 9, 7}));
  EXPECT_EQ(values_of(r[1]), (std::vector<double>{1, 2, 2}));
}

TEST(Reduce, EmptyAxesGiveTheIdentity) {
  Buffer x(DType::f32, {3, 0});
  EXPECT_EQ(values_of(reduce<structured::Sum>(x, {1})[0]), (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(values_of(reduce<structured::Prod>(x, {1})[0]), (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(values_of(reduce<structured::Any>(x, {1})[0]), (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(values_of(reduce<structured::All>(x, {1})[0]), (std::vector<double>{1, 1, 1}));
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
  using Values = std::vector<float>;
  EXPECT_EQ(run({n}, {0}, sum), Values{33554432});
  EXPECT_EQ(run({n / 2, 2}, {0}, sum), (Values{16777216, 16777216}));
  EXPECT_EQ(run({rows, 2}, {0}, sum), (Values{20000000, 20000000}));
  EXPECT_EQ(run({rows, 2}, {0}, mean), (Values{1, 1}));
  const Values pairs = run({n / 2, 2}, {1}, sum);
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
  EXPECT_EQ(values_of(reduce<structured::Var>(huge, {0})[0]), (std::vector<double>{0, 0, 0}));
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
  EXPECT_EQ(values_of(reduce<structured::Any>(x, {1})[0]), (std::vector<double>{0, 1}));
  EXPECT_EQ(values_of(reduce<structured::All>(x, {0})[0]), (std::vector<double>{0, 0, 0}));
  Buffer whole = buffer_of({1, 2}, {2, kNaN});
  EXPECT_EQ(reduce<structured::All>(whole, {0, 1})[0].integer(0), 1);
}

TEST(Reduce, InfinitiesAndNaNInSums) {
  Buffer x = buffer_of({3, 2}, {kInf, 1, -kInf, 1, kInf, kInf});
  Buffer rows = reduce<structured::Sum>(x, {1})[0], columns = reduce<structured::Sum>(x, {0})[0];
  EXPECT_EQ(values_of(rows), (std::vector<double>{kInf, -kInf, kInf}));
  EXPECT_TRUE(std::isnan(columns.real(0)));
  EXPECT_EQ(columns.real(1), kInf);
}

}  // namespace
}  // namespace ingot::testing
