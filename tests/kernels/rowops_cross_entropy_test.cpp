// Cross entropy and its gradient on the CPU against long double.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include <ingot/kernels/core/error.h>
#include <ingot/kernels/cpu/rowops.h>
#include <ingot/kernels/ops/structured/composites.h>

#include "op_harness.h"

namespace ingot::testing {
namespace {

using Row = std::vector<long double>;
using structured::Reduction;

long double logsumexp_of(const Row& x) {
  const long double m = *std::max_element(x.begin(), x.end());
  long double total = 0;
  for (long double v : x) total += std::exp(v - m);
  return m + std::log(total);
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
    return run_op(structured_op<structured::CrossEntropy>, cpu_cross_entropy, {&x, &target, weight},
                  attrs());
  }
  Buffer backward(Buffer& dy, Buffer& x, Buffer& target, Buffer* weight,
                  std::vector<Buffer>& y) const {
    return run_op(structured_op<structured::CrossEntropyBackward>, cpu_cross_entropy_backward,
                  {&dy, &x, &target, weight, &y[1], &y[2]}, attrs())[0];
  }
};

TEST(CrossEntropy, ValuesAndGradient) {
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
      target.set_raw(r,
                     r > 0 && draw(rng, 0, 4) == 0 ? loss.ignore : draw(rng, n > 1 ? 1 : 0, n - 1));
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

TEST(CrossEntropy, OfNothingCounted) {
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

TEST(CrossEntropy, OfLargeLogitsKeepsItsDigits) {
  Buffer x = buffer_of({1, 2}, {10000, 10000.5}), target(DType::i64, {1});
  target.set_raw(0, i64{0});
  EXPECT_NEAR(Loss{}.forward(x, target, nullptr)[0].real(0), 0.97407698418, 1e-6);
}

TEST(CrossEntropy, BadTargetsAreIndexErrorsBeforeAnyWrite) {
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
    EXPECT_THROW(cpu_cross_entropy(
                     {structured_op<structured::CrossEntropy>, in, 3, out, 3, attrs, Ticket{}}),
                 IndexError);
    EXPECT_EQ(values_of(lse), before);
  }
}

}  // namespace
}  // namespace ingot::testing
