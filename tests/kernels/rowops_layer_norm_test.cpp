// layer_norm and its gradients on the CPU against long double.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include <ingot/kernels/cpu/rowops.h>
#include <ingot/kernels/ops/structured/composites.h>

#include "op_harness.h"

namespace ingot::testing {
namespace {

using Row = std::vector<long double>;

std::vector<Buffer> layer_norm(Buffer& x, Buffer* weight, Buffer* bias, i64 trailing,
                               double eps = 1e-5) {
  Attrs attrs;
  attrs.c = trailing;
  attrs.add_scalar(eps);
  return run_op(structured_op<structured::LayerNorm>, cpu_layer_norm, {&x, weight, bias}, attrs);
}

TEST(LayerNorm, ValuesAndGradients) {
  Rng rng(25);
  const Dims shapes[] = {{3, 5}, {7},       {4, 3, 6},  {2, 3, 4, 5}, {130, 17},
                         {9, 1}, {5000, 3}, {4200, 70}, {6, 5000},    {0, 4}};
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
    dx = run_op(structured_op<structured::LayerNormBackward>, cpu_layer_norm_backward,
                {&dy, &x, &y[1], &y[2], weight}, attrs);
    for (i64 r = 0; r < rows; ++r) {
      long double mean = 0, var = 0, g_sum = 0, gh_sum = 0;
      if (n == 0) continue;
      for (i64 j = 0; j < n; ++j) mean += x.real(r * n + j);
      mean /= n;
      for (i64 j = 0; j < n; ++j) var += (x.real(r * n + j) - mean) * (x.real(r * n + j) - mean);
      const long double rstd = 1 / std::sqrt(var / n + 1e-5L);
      ASSERT_NEAR(y[1].real(r), static_cast<double>(mean), 100 * in_f32);
      ASSERT_NEAR(y[2].real(r), static_cast<double>(rstd),
                  400 * in_f32 * static_cast<double>(rstd));
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
        const long double e = rstd * (dy.real(r * n + j) * w_at(j) - g_sum / n - h(j) * gh_sum / n);
        ASSERT_NEAR(dx[0].real(r * n + j), static_cast<double>(e),
                    (1000 * in_f32 + 4 * eps) * (1 + static_cast<double>(rstd)));
      }
    }
    std::vector<Buffer> params =
        run_op(structured_op<structured::LayerNormBackwardParams>, cpu_layer_norm_backward_params,
               {&dy, &x, &y[1], &y[2]}, attrs);
    for (i64 j = 0; j < n; ++j) {
      const double scale = static_cast<double>(rows) + 1;
      const auto at = static_cast<std::size_t>(j);
      ASSERT_NEAR(params[0].real(j), static_cast<double>(dw[at]), (200 * in_f32 + eps) * scale);
      ASSERT_NEAR(params[1].real(j), static_cast<double>(db[at]), (20 * in_f32 + eps) * scale);
    }
  }
}

TEST(LayerNorm, DoesNotCancel) {
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

}  // namespace
}  // namespace ingot::testing
