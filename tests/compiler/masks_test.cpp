// Fused programs over masks: eager's bits at every mix of widths, and loops that are vectorised.
#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include <ingot/compiler/compile.h>
#include <ingot/kernels/cpu/threads.h>
#include <ingot/runtime/generator.h>
#include <ingot/runtime/ops.h>

#include "support/tensor_checks.h"

namespace ingot {
namespace {

using testing_support::noise;
using testing_support::same_bits;

struct Operands {
  explicit Operands(i64 n) {
    manual_seed(11);
    a = randn({n}), b = randn({n});
    d = a.to(kFloat64), i = (a * 4).to(kInt64), j = (b * 4).to(kInt64);
    u = (abs(b) * 4).to(kUInt8), w = (a * 4).to(kInt32), mask = a > 0, other = b > 0.5;
    a = where(b > 2, std::numeric_limits<double>::quiet_NaN(), a);
  }
  Tensor a, b, d, i, j, u, w, mask, other;
};

struct Program {
  const char* name;
  std::function<Tensor(const Operands&)> f;
};

std::vector<Program> programs() {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  return {
      {"where mask", [](const Operands& x) { return where(x.mask, x.a / 4, -kInf); }},
      {"comparison as float", [](const Operands& x) { return (x.a > 0).to(kFloat32) * x.a; }},
      {"eq as float", [](const Operands& x) { return eq(x.a, x.b).to(kFloat32) + 1; }},
      {"mask times f32", [](const Operands& x) { return x.mask * x.a * 2; }},
      {"mask times f64", [](const Operands& x) { return x.mask * x.d * 2; }},
      {"where over f64", [](const Operands& x) { return where(x.mask, x.d, -1) * 2; }},
      {"where of u8 over f64", [](const Operands& x) { return where(x.u > 2, x.d, 0) * 3; }},
      {"u8 times f64", [](const Operands& x) { return x.u * x.d + 1; }},
      {"i64 compared", [](const Operands& x) { return (x.i > x.j) && x.mask; }},
      {"i64 and f32 compared", [](const Operands& x) { return (x.i == x.j) || (x.a > x.b); }},
      {"i32 compared as i64", [](const Operands& x) { return (x.w > 0).to(kInt64) + x.i; }},
      {"where of i64", [](const Operands& x) { return where(x.a > 0, x.i, x.j) + 1; }},
      {"mask as u8", [](const Operands& x) { return x.mask.to(kUInt8) + x.u; }},
      {"float as mask", [](const Operands& x) { return x.d.to(kBool) && x.mask; }},
      {"logic", [](const Operands& x) { return (!x.mask && x.other) || (x.a > 0); }},
      {"isnan", [](const Operands& x) { return isnan(x.a) || x.mask; }},
      {"masks compared", [](const Operands& x) { return (x.mask == x.other) || x.mask; }},
      {"row sums of a mask",
       [](const Operands& x) {
         return sum(x.mask.view({-1, 256}).to(kFloat32), {1});
       }},
      {"row sums under a mask",
       [](const Operands& x) {
         return sum(where(x.mask.view({-1, 256}), x.b.view({-1, 256}), 0), {1});
       }},
      {"mask made and used",
       [](const Operands& x) {
         Tensor m = x.a > x.b;
         return stack({(m.to(kFloat32) * x.a).to(kFloat64), m * x.d}).sum() + m;
       }},
      {"mask kept in a row",
       [](const Operands& x) {
         Tensor m = x.b.view({-1, 256}) > 0;
         return (m.to(kFloat32) - mean(m.to(kFloat32), {1}, true)) * m;
       }},
  };
}

TEST(FusedMasks, GiveEagersBitsAtEveryMixOfWidths) {
  for (const i64 n : {256, 256 * 23}) {
    const Operands x(n);
    for (const Program& p : programs()) {
      const auto f = compile([&] { return p.f(x); }, {.name = p.name, .verify = true});
      const Tensor expected = p.f(x);
      for (int call = 0; call < 3; ++call) {
        const Tensor got = f();
        ASSERT_EQ(got.dtype(), expected.dtype()) << p.name;
        EXPECT_TRUE(allclose(got, expected, 0, 0, true)) << p.name << ", " << n;
      }
    }
  }
}

// A mask as a number is +0 or 1, and keeps its sign on the way through what follows.
TEST(FusedMasks, ZerosKeepTheirSign) {
  const std::pair<const char*, Tensor (*)(const Tensor&)> functions[] = {
      {"ceil", [](const Tensor& m) { return ceil(m); }},
      {"floor", [](const Tensor& m) { return floor(m); }},
      {"trunc", [](const Tensor& m) { return trunc(m); }},
      {"round", [](const Tensor& m) { return round(m); }},
      {"neg", [](const Tensor& m) { return ceil(-m); }},
      {"mul", [](const Tensor& m) { return m * -2.0; }},
      {"sub", [](const Tensor& m) { return 0.0 - m; }},
      {"div", [](const Tensor& m) { return m / -3.0; }},
  };
  const Tensor x = noise({3, 40}, 9);
  for (const DType t : {kFloat32, kFloat64, kFloat16}) {
    for (const auto& [name, f] : functions) {
      SCOPED_TRACE(name);
      const auto body = [t, f = f](const Tensor& a) { return f(logical_not(a > 0).to(t)); };
      const auto compiled = compile(body);
      for (int call = 0; call < 3; ++call) {
        EXPECT_TRUE(same_bits(body(x), compiled(x)));
      }
    }
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

// Scalar code over masks took 2 to 10 times eager's time; vector code takes less than eager.
TEST(FusedMasks, AreNotSlowerThanEager) {
  const int threads = num_threads();
  set_num_threads(1);
  const Operands x(i64{1} << 18);
  const auto time = [](const auto& f) {
    const auto start = std::chrono::steady_clock::now();
    (void)f();
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
        .count();
  };
  for (const Program& p : programs()) {
    const auto compiled = compile([&] { return p.f(x); }, {.name = p.name});
    (void)compiled(), (void)compiled();
    const Ledger ledger = compiled.ledger();
    if (ledger.compiles + ledger.memory_hits + ledger.disk_hits == 0) continue;  // no compiler
    double fused = std::numeric_limits<double>::infinity(), eager = fused;
    // On a machine that does other work too, the least of many is what each can do.
    for (int round = 0; round < 100 && (round < 8 || fused > eager); ++round) {
      // A few in a row: the first may find the other's memory and has to get its own.
      for (int i = 0; i < 3; ++i) eager = std::min(eager, time([&] { return p.f(x); }));
      for (int i = 0; i < 3; ++i) fused = std::min(fused, time(compiled));
    }
    EXPECT_LE(fused, 1.15 * eager) << p.name << ": microseconds, fused and eager";
  }
  set_num_threads(threads);
}

#endif

}  // namespace
}  // namespace ingot
