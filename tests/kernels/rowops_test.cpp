// Row composites on the CPU against long double: softmax, layer_norm, cross_entropy, gradients.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include <gtest/gtest.h>

#include <ingot/kernels/core/error.h>
#include <ingot/kernels/cpu/parallel.h>
#include <ingot/kernels/cpu/rowops.h>
#include <ingot/kernels/cpu/rowops_rows.h>
#include <ingot/kernels/ops/structured/composites.h>

#include "strided_buffer.h"

namespace ingot::testing {
namespace {

using Row = std::vector<long double>;
using Values = std::vector<double>;
using structured::Reduction;
const double kNaN = std::nan(""), kInf = std::numeric_limits<double>::infinity();

std::vector<Buffer> run(const OpInfo& op, Kernel kernel, const std::vector<Buffer*>& in,
                        const Attrs& attrs) {
  std::vector<BufferView> views, results;
  std::vector<const Meta*> metas;
  for (Buffer* b : in) {
    views.push_back(b ? b->view() : BufferView{nullptr, nullptr});
    metas.push_back(views.back().meta);
  }
  std::vector<Meta> inferred_metas(static_cast<std::size_t>(op.n_out));
  i64 offset = 0;
  op.infer(op, {metas.data(), static_cast<int>(metas.size()), attrs, Device()},
           inferred_metas.data(), &offset);
  std::vector<Buffer> out;
  for (const Meta& meta : inferred_metas) out.emplace_back(meta);
  for (Buffer& b : out) results.push_back(b.view());
  kernel({op, views.data(), static_cast<int>(views.size()), results.data(),
          static_cast<int>(results.size()), attrs, Ticket{}});
  for (Buffer& b : out) EXPECT_TRUE(b.margins_intact());
  return out;
}

Attrs axis_attrs(i64 axis) {
  Attrs attrs;
  attrs.a = axis;
  return attrs;
}

Buffer buffer_of(const Dims& sizes, const Values& values, DType dtype = DType::f32) {
  Buffer b(dtype, sizes);
  for (i64 i = 0; i < b.numel(); ++i) b.set(i, values[static_cast<std::size_t>(i)]);
  return b;
}

Values values_of(Buffer& b) {
  Values values;
  for (i64 i = 0; i < b.numel(); ++i) values.push_back(b.real(i));
  return values;
}

Buffer softmax(Buffer& x, i64 axis) {
  return run(structured_op<structured::Softmax>, cpu_softmax, {&x}, axis_attrs(axis))[0];
}
Buffer log_softmax(Buffer& x, i64 axis) {
  return run(structured_op<structured::LogSoftmax>, cpu_log_softmax, {&x}, axis_attrs(axis))[0];
}
Buffer logsumexp(Buffer& x, i64 axis) {
  Attrs attrs;
  attrs.dims = {axis};
  return run(structured_op<structured::Logsumexp>, cpu_logsumexp, {&x}, attrs)[0];
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

double last_bit(DType t) {
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

constexpr DType kFloating[] = {DType::f32, DType::f64, DType::f16, DType::bf16};

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
  expect_rows_near(y, rows, [&](std::size_t r) { return softmax_of(x_row(r)); }, 1e-7,
                   eps + 40 * in_f32);
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
  Buffer dx = run(structured_op<structured::SoftmaxBackward>, cpu_softmax_backward, {&dy, &y},
                  attrs)[0];
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
  Buffer log_dx = run(structured_op<structured::LogSoftmaxBackward>, cpu_log_softmax_backward,
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
    Buffer rows(DType::f32, {m, n}), columns(DType::f32, {n, m}), gaps(DType::f32, {m, n}, {3 * n, 2});
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

std::vector<Buffer> layer_norm(Buffer& x, Buffer* weight, Buffer* bias, i64 trailing,
                               double eps = 1e-5) {
  Attrs attrs;
  attrs.c = trailing;
  attrs.add_scalar(eps);
  return run(structured_op<structured::LayerNorm>, cpu_layer_norm, {&x, weight, bias}, attrs);
}

TEST(RowOps, LayerNormAndItsGradients) {
  Rng rng(25);
  const Dims shapes[] = {{3, 5},  {7},         {4, 3, 6},    {2, 3, 4, 5}, {130, 17},
                         {9, 1},  {5000, 3},   {4200, 70},   {6, 5000},    {0, 4}};
  for (int round = 0; round < 80; ++round) {
    const Dims sizes = shapes[draw(rng, 0, 9)];
    const int trailing = static_cast<int>(draw(rng, 1, std::min(2, sizes.size())));
    const DType dtype = sizes.product() > 10000 ? DType::f32 : kFloating[draw(rng, 0, 3)];
    Dims inner, lead;
    for (int d = 0; d < sizes.size(); ++d) {
      (d < sizes.size() - trailing ? lead : inner).push_back(sizes[d]);
    }
    const i64 rows = lead.product(), n = inner.product();
    SCOPED_TRACE(std::string(name(dtype)) + to_string(sizes) + " trailing " +
                 std::to_string(trailing));
    Buffer x(dtype, sizes, rng), dy(dtype, sizes, rng), w(dtype, inner, rng), b(dtype, inner, rng);
    x.fill_random(rng, -2, 6);
    dy.fill_random(rng, -1, 1);
    w.fill_random(rng, 0.5, 1.5);
    b.fill_random(rng, -1, 1);
    Buffer* weight = draw(rng, 0, 3) > 0 ? &w : nullptr;
    Buffer* bias = draw(rng, 0, 3) > 0 ? &b : nullptr;
    std::vector<Buffer> y = layer_norm(x, weight, bias, trailing);

    const double eps = last_bit(dtype), in_f32 = dtype == DType::f64 ? eps : 0x1p-23;
    const auto w_at = [&](i64 j) { return weight ? static_cast<long double>(w.real(j)) : 1.0L; };
    Row dw(static_cast<std::size_t>(n), 0.0L), db(dw);
    std::vector<Buffer> dx = {Buffer(dtype, {0})};
    Attrs attrs;
    attrs.c = trailing;
    dx = run(structured_op<structured::LayerNormBackward>, cpu_layer_norm_backward,
             {&dy, &x, &y[1], &y[2], weight}, attrs);
    for (i64 r = 0; r < rows; ++r) {
      long double mean = 0, var = 0, g_sum = 0, gh_sum = 0;
      if (n == 0) continue;
      for (i64 j = 0; j < n; ++j) mean += x.real(r * n + j);
      mean /= n;
      for (i64 j = 0; j < n; ++j) var += (x.real(r * n + j) - mean) * (x.real(r * n + j) - mean);
      const long double rstd = 1 / std::sqrt(var / n + 1e-5L);
      ASSERT_NEAR(y[1].real(r), static_cast<double>(mean), 100 * in_f32);
      ASSERT_NEAR(y[2].real(r), static_cast<double>(rstd), 400 * in_f32 * static_cast<double>(rstd));
      const auto h = [&](i64 j) { return (x.real(r * n + j) - mean) * rstd; };
      for (i64 j = 0; j < n; ++j) {
        const long double e = h(j) * w_at(j) + (bias ? b.real(j) : 0);
        ASSERT_NEAR(y[0].real(r * n + j), static_cast<double>(e),
                    1000 * in_f32 + 4 * eps * (1 + std::fabs(static_cast<double>(e))));
        const long double g = dy.real(r * n + j) * w_at(j);
        g_sum += g;
        gh_sum += g * h(j);
        dw[static_cast<std::size_t>(j)] += dy.real(r * n + j) * h(j);
        db[static_cast<std::size_t>(j)] += dy.real(r * n + j);
      }
      for (i64 j = 0; j < n; ++j) {
        const long double e =
            rstd * (dy.real(r * n + j) * w_at(j) - g_sum / n - h(j) * gh_sum / n);
        ASSERT_NEAR(dx[0].real(r * n + j), static_cast<double>(e),
                    (1000 * in_f32 + 4 * eps) * (1 + static_cast<double>(rstd)));
      }
    }
    std::vector<Buffer> params =
        run(structured_op<structured::LayerNormBackwardParams>, cpu_layer_norm_backward_params,
            {&dy, &x, &y[1], &y[2]}, attrs);
    for (i64 j = 0; j < n; ++j) {
      const double scale = static_cast<double>(rows) + 1;
      const auto at = static_cast<std::size_t>(j);
      ASSERT_NEAR(params[0].real(j), static_cast<double>(dw[at]), (200 * in_f32 + eps) * scale);
      ASSERT_NEAR(params[1].real(j), static_cast<double>(db[at]), (20 * in_f32 + eps) * scale);
    }
  }
}

TEST(RowOps, LayerNormDoesNotCancel) {
  Buffer steps = buffer_of({1, 4}, {4096, 4096.5, 4097, 4097.5});
  std::vector<Buffer> r = layer_norm(steps, nullptr, nullptr, 1);
  EXPECT_EQ(r[1].real(0), 4096.75);
  const double expected[] = {-1.341619, -0.447206, 0.447206, 1.341619};
  for (i64 i = 0; i < 4; ++i) EXPECT_NEAR(r[0].real(i), expected[i], 1e-6);

  Buffer fine(DType::f32, {1, 16});
  for (i64 i = 0; i < 16; ++i) fine.set(i, 1000 + static_cast<double>(i) * 0.001);
  Buffer y = layer_norm(fine, nullptr, nullptr, 1)[0];
  EXPECT_NEAR(y.real(0), -1.341508, 2e-3);
  EXPECT_NEAR(y.real(15), 1.344237, 2e-3);

  Buffer million = buffer_of({1, 3}, {1e6, 1e6 + 1, 1e6 + 2});
  Buffer z = layer_norm(million, nullptr, nullptr, 1)[0];
  EXPECT_NEAR(z.real(0), -1.224736, 1e-5);
  EXPECT_EQ(z.real(1), 0);
  EXPECT_NEAR(z.real(2), 1.224736, 1e-5);

  Buffer huge = buffer_of({1, 5}, Values(5, 1e15)), same(DType::f32, {2, 1000});
  for (i64 i = 0; i < same.numel(); ++i) same.set(i, 3.3);
  for (Buffer* constant : {&huge, &same}) {
    Buffer flat = layer_norm(*constant, nullptr, nullptr, 1)[0];
    for (double v : values_of(flat)) EXPECT_LT(std::fabs(v), 1e-2);
  }
}

struct Loss {
  Reduction reduction = Reduction::mean;
  i64 ignore = -100;
  double smoothing = 0;

  Attrs attrs() const {
    Attrs a;
    a.a = static_cast<i64>(reduction);
    a.b = ignore;
    a.add_scalar(smoothing);
    return a;
  }
  std::vector<Buffer> forward(Buffer& x, Buffer& target, Buffer* weight) const {
    return run(structured_op<structured::CrossEntropy>, cpu_cross_entropy, {&x, &target, weight},
               attrs());
  }
  Buffer backward(Buffer& dy, Buffer& x, Buffer& target, Buffer* weight,
                  std::vector<Buffer>& y) const {
    return run(structured_op<structured::CrossEntropyBackward>, cpu_cross_entropy_backward,
               {&dy, &x, &target, weight, &y[1], &y[2]}, attrs())[0];
  }
};

TEST(RowOps, CrossEntropyAndItsGradient) {
  Rng rng(26);
  for (int round = 0; round < 120; ++round) {
    const i64 rows = draw(rng, 1, 40), n = draw(rng, 1, 30);
    const DType dtype = kFloating[draw(rng, 0, 3)];
    Loss loss{static_cast<Reduction>(draw(rng, 0, 2)), draw(rng, 0, 1) == 0 ? -100 : 0,
              draw(rng, 0, 1) == 0 ? 0.0 : 0.125};
    Buffer x(dtype, {rows, n}, rng), target(DType::i64, {rows}, rng), w(dtype, {n}, rng);
    x.fill_random(rng, -5, 5);
    w.fill_random(rng, 0.5, 2);
    Buffer* weight = draw(rng, 0, 1) == 0 ? &w : nullptr;
    for (i64 r = 0; r < rows; ++r) {
      target.set_raw(r, r > 0 && draw(rng, 0, 4) == 0 ? loss.ignore : draw(rng, n > 1 ? 1 : 0, n - 1));
    }
    SCOPED_TRACE(std::string(name(dtype)) + to_string({rows, n}) + " reduction " +
                 std::to_string(static_cast<int>(loss.reduction)) + " smoothing " +
                 std::to_string(loss.smoothing) + (weight ? " weighted" : ""));

    const auto w_at = [&](i64 c) { return weight ? static_cast<long double>(w.real(c)) : 1.0L; };
    const long double s = loss.smoothing;
    long double total = 0, total_weight = 0, all_weights = 0;
    for (i64 c = 0; c < n; ++c) all_weights += w_at(c);
    Row each, lse;
    for (i64 r = 0; r < rows; ++r) {
      Row row;
      for (i64 c = 0; c < n; ++c) row.push_back(x.real(r * n + c));
      lse.push_back(logsumexp_of(row));
      const i64 t = target.integer(r);
      long double e = 0;
      if (t != loss.ignore) {
        long double smooth = 0;
        for (i64 c = 0; c < n; ++c) smooth += w_at(c) * (lse.back() - x.real(r * n + c));
        e = (1 - s) * w_at(t) * (lse.back() - x.real(r * n + t)) + s / n * smooth;
        total_weight += w_at(t);
      }
      each.push_back(e);
      total += e;
    }

    const double eps = last_bit(dtype), in_f32 = dtype == DType::f64 ? eps : 0x1p-23;
    std::vector<Buffer> y = loss.forward(x, target, weight);
    ASSERT_NEAR(y[2].real(0), static_cast<double>(total_weight), 1e-5);
    for (i64 r = 0; r < rows; ++r) {
      ASSERT_NEAR(y[1].real(r), static_cast<double>(lse[static_cast<std::size_t>(r)]), 50 * in_f32);
    }
    const auto expect_loss = [&](i64 i, long double e) {
      const double expected = static_cast<double>(e);
      ASSERT_NEAR(y[0].real(i), expected, (2000 * in_f32 + eps) * (1 + std::fabs(expected)));
    };
    if (loss.reduction == Reduction::none) {
      for (i64 r = 0; r < rows; ++r) expect_loss(r, each[static_cast<std::size_t>(r)]);
    } else if (loss.reduction == Reduction::sum) {
      expect_loss(0, total);
    } else if (total_weight > 0) {
      expect_loss(0, total / total_weight);
    } else {
      ASSERT_TRUE(std::isnan(y[0].real(0)));
    }

    Buffer dy(dtype, y[0].meta().sizes);
    dy.fill_random(rng, 0.5, 1.5);
    Buffer dx = loss.backward(dy, x, target, weight, y);
    for (i64 r = 0; r < rows; ++r) {
      const i64 t = target.integer(r);
      long double g = dy.real(loss.reduction == Reduction::none ? r : 0);
      if (loss.reduction == Reduction::mean) g /= total_weight;
      for (i64 c = 0; c < n; ++c) {
        long double e = 0;
        if (t != loss.ignore) {
          const long double p = std::exp(x.real(r * n + c) - lse[static_cast<std::size_t>(r)]);
          e = g * ((1 - s) * w_at(t) * (p - (c == t)) + s / n * (all_weights * p - w_at(c)));
        }
        ASSERT_NEAR(dx.real(r * n + c), static_cast<double>(e),
                    (200 * in_f32 + 2 * eps) * (1 + std::fabs(static_cast<double>(e))));
        ASSERT_TRUE(t != loss.ignore || dx.real(r * n + c) == 0);
      }
    }
  }
}

TEST(RowOps, CrossEntropyOfNothingCounted) {
  Buffer x = buffer_of({2, 3}, {1, 2, 3, 4, 5, 6}), target(DType::i64, {2});
  target.set_raw(0, i64{-100});
  target.set_raw(1, i64{-100});
  Loss mean, sum{Reduction::sum};
  std::vector<Buffer> y = mean.forward(x, target, nullptr);
  EXPECT_TRUE(std::isnan(y[0].real(0)));
  EXPECT_EQ(sum.forward(x, target, nullptr)[0].real(0), 0);
  Buffer dy = buffer_of({}, {1});
  Buffer dx = mean.backward(dy, x, target, nullptr, y);
  EXPECT_EQ(values_of(dx), Values(6, 0.0));
  Buffer no_rows(DType::f32, {0, 3}), no_targets(DType::i64, {0});
  EXPECT_TRUE(std::isnan(mean.forward(no_rows, no_targets, nullptr)[0].real(0)));
}

TEST(RowOps, CrossEntropyOfLargeLogitsKeepsItsDigits) {
  Buffer x = buffer_of({1, 2}, {10000, 10000.5}), target(DType::i64, {1});
  target.set_raw(0, i64{0});
  EXPECT_NEAR(Loss{}.forward(x, target, nullptr)[0].real(0), 0.97407698418, 1e-6);
}

TEST(RowOps, BadTargetsAreIndexErrorsBeforeAnyWrite) {
  Rng rng(27);
  Buffer x(DType::f32, {3, 4}), target(DType::i64, {3});
  x.fill_random(rng, -1, 1);
  target.set_raw(0, i64{1});
  target.set_raw(1, i64{-100});
  for (i64 bad : {i64{4}, i64{-1}, std::numeric_limits<i64>::min()}) {
    target.set_raw(2, bad);
    Buffer loss(DType::f32, {}), lse(DType::f32, {3}), total(DType::f32, {});
    const BufferView in[] = {x.view(), target.view(), {nullptr, nullptr}};
    const BufferView out[] = {loss.view(), lse.view(), total.view()};
    const Attrs attrs = Loss{}.attrs();
    const Values before = values_of(lse);
    EXPECT_THROW(cpu_cross_entropy({structured_op<structured::CrossEntropy>, in, 3, out, 3, attrs,
                                    Ticket{}}),
                 IndexError);
    EXPECT_EQ(values_of(lse), before);
  }
}

}  // namespace
}  // namespace ingot::testing
