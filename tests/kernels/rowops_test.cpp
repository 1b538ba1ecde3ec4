// softmax, log_softmax, logsumexp and gradients on the CPU against long double.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include <gtest/gtest.h>

#include <ingot/kernels/cpu/parallel.h>
#include <ingot/kernels/cpu/rowops.h>
#include <ingot/kernels/cpu/rowops_rows.h>
#include <ingot/kernels/cpu/threads.h>
#include <ingot/kernels/ops/structured/composites.h>

#include "op_harness.h"

namespace ingot::testing {
namespace {

using Row = std::vector<long double>;

Attrs axis_attrs(i64 axis) {
  Attrs attrs;
  attrs.a = axis;
  return attrs;
}

Buffer softmax(Buffer& x, i64 axis) {
  return run_op(structured_op<structured::Softmax>, cpu_softmax, {&x}, axis_attrs(axis))[0];
}
Buffer log_softmax(Buffer& x, i64 axis) {
  return run_op(structured_op<structured::LogSoftmax>, cpu_log_softmax, {&x}, axis_attrs(axis))[0];
}
Buffer logsumexp(Buffer& x, i64 axis) {
  Attrs attrs;
  attrs.dims = {axis};
  return run_op(structured_op<structured::Logsumexp>, cpu_logsumexp, {&x}, attrs)[0];
}

// The logical indices of each row along an axis, in the order of the other axes.
std::vector<std::vector<i64>> rows_along(const Dims& sizes, int axis) {
  const Dims s = sizes.empty() ? Dims{1} : sizes;
  i64 inner = 1;
  for (int d = axis + 1; d < s.size(); ++d) inner *= s[d];
  std::vector<std::vector<i64>> rows;
  for (i64 r = 0; r < s.product() / s[axis]; ++r) {
    std::vector<i64> row;
    for (i64 k = 0; k < s[axis]; ++k) {
      row.push_back(r / inner * inner * s[axis] + k * inner + r % inner);
    }
    rows.push_back(row);
  }
  return rows;
}

Row row_of(Buffer& b, const std::vector<i64>& at) {
  Row row;
  for (i64 i : at) row.push_back(b.real(i));
  return row;
}

Row softmax_of(Row x) {
  const long double m = *std::max_element(x.begin(), x.end());
  long double total = 0;
  for (long double& v : x) total += v = std::exp(v - m);
  for (long double& v : x) v /= total;
  return x;
}

long double logsumexp_of(const Row& x) {
  const long double m = *std::max_element(x.begin(), x.end());
  long double total = 0;
  for (long double v : x) total += std::exp(v - m);
  return m + std::log(total);
}

void expect_rows_near(Buffer& y, const std::vector<std::vector<i64>>& rows,
                      const std::function<Row(std::size_t)>& reference, double absolute,
                      double relative) {
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const Row expected = reference(r);
    for (std::size_t k = 0; k < rows[r].size(); ++k) {
      const double e = static_cast<double>(expected[k]);
      ASSERT_NEAR(y.real(rows[r][k]), e, absolute + relative * std::fabs(e)) << "row " << r;
    }
  }
}

void check_axis_rows(Buffer& x, Buffer& dy, int axis) {
  SCOPED_TRACE(describe(x.meta()) + " strides " + to_string(x.meta().strides) + " axis " +
               std::to_string(axis));
  const auto rows = rows_along(x.meta().sizes, axis);
  const double eps = last_bit(x.dtype());
  const double in_f32 = x.dtype() == DType::f64 ? eps : 0x1p-23;
  const auto x_row = [&](std::size_t r) { return row_of(x, rows[r]); };

  Buffer y = softmax(x, axis);
  expect_rows_near(
      y, rows, [&](std::size_t r) { return softmax_of(x_row(r)); }, 1e-7, eps + 40 * in_f32);
  Buffer log_y = log_softmax(x, axis);
  expect_rows_near(
      log_y, rows,
      [&](std::size_t r) {
        Row row = x_row(r);
        const long double total = logsumexp_of(row);
        for (long double& v : row) v -= total;
        return row;
      },
      40 * in_f32, eps + 4 * in_f32);
  Buffer total = logsumexp(x, axis);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const double e = static_cast<double>(logsumexp_of(x_row(r)));
    ASSERT_NEAR(total.real(static_cast<i64>(r)), e, 40 * in_f32 + eps * std::fabs(e));
  }

  const Attrs attrs = axis_attrs(axis);
  const auto dot = [](const Row& a, const Row& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0L);
  };
  Buffer dx =
      run_op(structured_op<structured::SoftmaxBackward>, cpu_softmax_backward, {&dy, &y}, attrs)[0];
  expect_rows_near(
      dx, rows,
      [&](std::size_t r) {
        Row row = row_of(y, rows[r]);
        const Row g = row_of(dy, rows[r]);
        const long double s = dot(row, g);
        for (std::size_t k = 0; k < row.size(); ++k) row[k] *= g[k] - s;
        return row;
      },
      200 * in_f32, eps + 8 * in_f32);
  Buffer log_dx = run_op(structured_op<structured::LogSoftmaxBackward>, cpu_log_softmax_backward,
                         {&dy, &log_y}, attrs)[0];
  expect_rows_near(
      log_dx, rows,
      [&](std::size_t r) {
        Row row = row_of(dy, rows[r]);
        const Row l = row_of(log_y, rows[r]);
        const long double s = std::accumulate(row.begin(), row.end(), 0.0L);
        for (std::size_t k = 0; k < row.size(); ++k) row[k] -= std::exp(l[k]) * s;
        return row;
      },
      2000 * in_f32, eps + 8 * in_f32);
}

TEST(RowOps, AxisRowsOfEveryShapeLayoutAndDType) {
  Rng rng(21);
  for (int round = 0; round < 200; ++round) {
    const Dims sizes = random_sizes(rng, 4, 7);
    const DType dtype = kFloating[draw(rng, 0, 3)];
    Buffer x(dtype, sizes, rng), dy(dtype, sizes, rng);
    x.fill_random(rng, -8, 8);
    dy.fill_random(rng, -1, 1);
    check_axis_rows(x, dy, static_cast<int>(draw(rng, 0, std::max(0, sizes.size() - 1))));
    if (HasFatalFailure()) return;
  }
  for (const Dims& sizes : {Dims{3, 5000}, Dims{5000, 3}, Dims{300, 40}, Dims{2, 70, 65}}) {
    for (int axis = 0; axis < sizes.size(); ++axis) {
      Buffer x(DType::f32, sizes), dy(DType::f32, sizes);
      x.fill_random(rng, -8, 8);
      dy.fill_random(rng, -1, 1);
      check_axis_rows(x, dy, axis);
      if (HasFatalFailure()) return;
    }
  }
}

// One row has one result, whether it is read in place, gathered alone or in a panel, on any number
// of threads.
TEST(RowOps, LayoutAndThreadsDoNotChangeBits) {
  Rng rng(22);
  for (i64 n : {1, 3, 16, 100, 1000, 5000}) {
    const i64 m = 37;
    Buffer rows(DType::f32, {m, n}), columns(DType::f32, {n, m}),
        gaps(DType::f32, {m, n}, {3 * n, 2});
    rows.fill_random(rng, -10, 10);
    for (i64 i = 0; i < m * n; ++i) {
      columns.set_raw(i % n * m + i / n, rows.raw<float>(i));
      gaps.set_raw(i, rows.raw<float>(i));
    }
    for (int threads : {1, 2, 3}) {
      set_num_threads(threads);
      Buffer a = softmax(rows, 1), b = softmax(columns, 0), c = softmax(gaps, 1);
      Buffer la = logsumexp(rows, 1), lb = logsumexp(columns, 0), lc = logsumexp(gaps, 1);
      for (i64 i = 0; i < m * n; ++i) {
        ASSERT_TRUE(b.same_bits(i % n * m + i / n, a.at(i))) << n;
        ASSERT_TRUE(c.same_bits(i, a.at(i))) << n;
      }
      for (i64 r = 0; r < m; ++r) {
        ASSERT_TRUE(lb.same_bits(r, la.at(r)) && lc.same_bits(r, la.at(r)));
      }
    }
  }
  set_num_threads(available_cores());
}

TEST(RowOps, AResultMayBeAnOperand) {
  Rng rng(23);
  Buffer x(DType::f32, {20, 300});
  x.fill_random(rng, -5, 5);
  Buffer expected = softmax(x, 1);
  const BufferView view = x.view();
  cpu_softmax({structured_op<structured::Softmax>, &view, 1, &view, 1, axis_attrs(1), Ticket{}});
  EXPECT_EQ(values_of(x), values_of(expected));
}

TEST(RowOps, LevelsWithFusedMultiplyAddAgree) {
  const RowLoops* v3 = row_loops_of(IsaLevel::v3, DType::f32);
  const RowLoops* v4 = row_loops_of(IsaLevel::v4, DType::f32);
  if (v3 == nullptr || v4 == nullptr || detected_isa_level() < IsaLevel::v4) {
    GTEST_SKIP() << "needs x86-64-v3 and v4 in the build and the CPU";
  }
  Rng rng(24);
  for (i64 n : {1, 5, 16, 31, 64, 1000, 4096, 9001}) {
    std::vector<float> x(static_cast<std::size_t>(n)), w(x), g(x);
    for (auto* row : {&x, &w, &g}) {
      for (float& v : *row) v = std::uniform_real_distribution<float>(-4, 4)(rng);
    }
    const auto results = [&](const RowLoops& loops) {
      std::vector<float> all, y(x);
      const auto keep = [&] { all.insert(all.end(), y.begin(), y.end()); };
      const float mean = 0.1f, rstd = 1.3f, sum = 2.5f;
      float a = 0, b = 0;
      loops.softmax(n, x.data(), nullptr, y.data());
      keep();
      loops.softmax_backward(n, g.data(), x.data(), y.data());
      keep();
      loops.log_softmax(n, x.data(), nullptr, y.data());
      keep();
      loops.log_softmax_backward(n, g.data(), x.data(), y.data());
      keep();
      loops.layer_norm(n, x.data(), w.data(), g.data(), 1e-5, y.data(), &a, &b);
      keep();
      loops.layer_norm_backward(n, g.data(), x.data(), w.data(), &mean, &rstd, y.data());
      keep();
      loops.cross_entropy_backward(n, x.data(), 0, w.data(), 0.1, &sum, &rstd, &mean, y.data());
      keep();
      float c = 0, d = 0, e = 0;
      loops.cross_entropy(n, x.data(), n / 2, w.data(), 0.1, &c, &d);
      loops.logsumexp(n, x.data(), &e);
      for (float v : {a, b, c, d, e}) all.push_back(v);
      return all;
    };
    EXPECT_EQ(results(*v3), results(*v4)) << n;
  }
}

TEST(RowOps, SoftmaxOfInfinitiesAndNaN) {
  for (i64 spread : {1, 8}) {  // a row in place, and eight side by side
    const auto column = [&](const Values& row) {
      Buffer x(DType::f32, {static_cast<i64>(row.size()), spread});
      for (i64 i = 0; i < x.numel(); ++i) x.set(i, row[static_cast<std::size_t>(i / spread)]);
      return x;
    };
    const auto first = [&](Buffer y) {
      Values v;
      for (i64 i = 0; i < y.numel(); i += spread) v.push_back(y.real(i));
      return v;
    };
    const auto all_nan = [](const Values& v) {
      return std::all_of(v.begin(), v.end(), [](double e) { return std::isnan(e); });
    };
    Buffer none = column(Values(8, -kInf)), some = column({-kInf, 0, 0, -kInf});
    Buffer one = column({1, kInf, 2}), nan = column({1, kNaN, 2}), low = column({-1e30, -1e30});
    EXPECT_TRUE(all_nan(first(softmax(none, 0))));
    EXPECT_EQ(first(softmax(some, 0)), (Values{0, 0.5, 0.5, 0}));
    EXPECT_TRUE(all_nan(first(softmax(one, 0))));
    EXPECT_TRUE(all_nan(first(softmax(nan, 0))));
    EXPECT_EQ(first(softmax(low, 0)), (Values{0.5, 0.5}));
    EXPECT_TRUE(all_nan(first(log_softmax(none, 0))));
    const Values l = first(log_softmax(some, 0));
    EXPECT_EQ(l[0], -kInf);
    EXPECT_FLOAT_EQ(static_cast<float>(l[1]), -0.6931472f);
    EXPECT_EQ(l[3], -kInf);

    Buffer thousand = column({1000, 1000}), top = column({kInf, 1});
    EXPECT_NEAR(first(logsumexp(thousand, 0))[0], 1000.6931, 1e-4);
    EXPECT_EQ(first(logsumexp(none, 0))[0], -kInf);
    EXPECT_EQ(first(logsumexp(top, 0))[0], kInf);
    EXPECT_TRUE(std::isnan(first(logsumexp(nan, 0))[0]));
  }
}

TEST(RowOps, SoftmaxOfASliceAndOfNothing) {
  Buffer g = buffer_of({4, 4}, {0, 0, 9, 9, 1, 1, 5, 7, 2, 2, 0, 0, 3, 3, 8, 1});
  Meta slice = g.meta();
  slice.sizes = {4, 2};
  Buffer y(DType::f32, {4, 2});
  const BufferView in{g.data(), &slice}, out = y.view();
  cpu_softmax({structured_op<structured::Softmax>, &in, 1, &out, 1, axis_attrs(1), Ticket{}});
  EXPECT_EQ(values_of(y), Values(8, 0.5));

  Buffer no_columns(DType::f32, {2, 0}), no_rows(DType::f32, {0, 5}), point = buffer_of({}, {3});
  EXPECT_EQ(softmax(no_columns, 1).numel(), 0);
  EXPECT_EQ(softmax(no_rows, 1).numel(), 0);
  EXPECT_EQ(softmax(no_rows, 0).numel(), 0);
  Buffer empty_sums = logsumexp(no_columns, 1);
  EXPECT_EQ(values_of(empty_sums), (Values{-kInf, -kInf}));
  Buffer certain = softmax(point, 0);
  EXPECT_EQ(certain.real(0), 1);
}

}  // namespace
}  // namespace ingot::testing
