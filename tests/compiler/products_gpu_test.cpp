// Products of compiled functions on a GPU: small ones with their tails as one kernel, and TF32, all
// with eager's bits.
#include <gtest/gtest.h>

#include <ingot/ingot.h>
#include <ingot/kernels/cuda/device.h>

#include "support/tensor_checks.h"

namespace ingot {
namespace {

using testing_support::same_bits;

class ProductsGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!cuda::is_available()) GTEST_SKIP() << "no GPU: " << cuda::unavailable_reason();
    manual_seed(11);
  }
  void TearDown() override { cuda::set_allow_tf32(false); }
  static Tensor normal(const Dims& sizes) { return randn(sizes, kCUDA); }
};

TEST_F(ProductsGpu, ASmallOneAndItsTailAreOneLaunch) {
  const auto body = [](const Tensor& x, const Tensor& w, const Tensor& b, const Tensor& r) {
    return tanh(relu(linear(x, w, b)) * 0.5 + r);
  };
  const auto f = compile(body);
  for (const auto& [m, n, k] :
       {std::tuple<i64, i64, i64>{64, 64, 64}, {64, 1024, 256}, {33, 10, 37}, {256, 256, 256}}) {
    const Tensor x = normal({m, k}), w = normal({n, k}), b = normal({n}), r = normal({m, n});
    for (int call = 0; call < 3; ++call) {
      EXPECT_TRUE(same_bits(f(x, w, b, r), body(x, w, b, r))) << m << " x " << n << " x " << k;
    }
    EXPECT_EQ(f.ledger().launches_compiled, 1) << f.ledger();
  }
}

TEST_F(ProductsGpu, FactorsAtOddAddressesHaveTheSameBits) {
  const auto body = [](const Tensor& x, const Tensor& w) { return relu(matmul(x, w)) + 1.0; };
  const auto f = compile(body);
  const Tensor memory = normal({64 * 64 + 8}), w = normal({64, 64});
  for (i64 start = 0; start < 6; ++start) {
    const Tensor x = memory.slice(0, start, start + 64 * 64).view({64, 64});
    EXPECT_TRUE(same_bits(f(x, w), body(x, w))) << start;
  }
}

TEST_F(ProductsGpu, GradientsOfSmallLayers) {
  const auto step = [](const Tensor& x, const Tensor& w, const Tensor& v) {
    const Tensor a = w.detach().clone().requires_grad_(), b = v.detach().clone().requires_grad_();
    sum(square(matmul(gelu(matmul(x, a)), b))).backward();
    return std::make_tuple(a.grad(), b.grad());
  };
  const auto f = compile(step);
  const Tensor x = normal({64, 256}), w = normal({256, 128}), v = normal({128, 10});
  for (int call = 0; call < 3; ++call) {
    const auto [a, b] = f(x, w, v);
    const auto [c, d] = step(x, w, v);
    EXPECT_TRUE(same_bits(a, c));
    EXPECT_TRUE(same_bits(b, d));
  }
}

// A batch whose axes do not lie as one: a launch of the library, and at most one copy a factor. The
// ledger counts what the GPU starts.
TEST_F(ProductsGpu, HeadsOfAttentionAreOneLaunch) {
  const auto scores = [](const Tensor& q, const Tensor& k) { return matmul(q, k.transpose(2, 3)); };
  for (const DType t : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    const Tensor all = normal({16, 256, 3 * 6 * 64}).to(t);
    const auto heads = [&](i64 i) {
      return all.slice(2, i * 6 * 64, (i + 1) * 6 * 64).view({16, 256, 6, 64}).transpose(1, 2);
    };
    const Tensor q = heads(0), k = heads(1), v = heads(2);
    const auto f = compile(scores);
    Tensor y;
    for (int call = 0; call < 3; ++call) {
      y = f(q, k);
      EXPECT_TRUE(same_bits(y, scores(q, k))) << name(t);
    }
    EXPECT_LE(f.ledger().launches_eager, 3) << name(t);
    EXPECT_LE(f.ledger().launches_compiled, 3) << name(t);
    EXPECT_TRUE(same_bits(y, scores(q.contiguous(), k.contiguous()))) << name(t);
    const auto weigh = compile([](const Tensor& a, const Tensor& b) { return matmul(a, b); });
    const Tensor mixed = weigh(y, v);
    EXPECT_TRUE(same_bits(mixed, matmul(y, v))) << name(t);
    EXPECT_LE(weigh.ledger().launches_eager, 2) << name(t);
    // Keys that all heads share.
    const Tensor shared = normal({16, 1, 256, 64}).to(t);
    const auto g = compile(scores);
    EXPECT_TRUE(same_bits(g(q, shared), scores(q, shared))) << name(t);
    EXPECT_LE(g.ledger().launches_eager, 3) << name(t);
    const Tensor one = matmul(q[5][3], shared[5][0].t());
    const double bound = t == DType::f64 ? 1e-10 : t == DType::f32 ? 1e-3 : 0.5;
    EXPECT_LE(abs(g(q, shared)[5][3].to(DType::f64) - one.to(DType::f64)).max().item<double>(),
              bound)
        << name(t);
  }
}

// The setting counts when a product is called: no path of the other one is replayed.
TEST_F(ProductsGpu, ARecordedPathIsOfOneSettingOfTf32) {
  const auto body = [](const Tensor& x, const Tensor& w) { return relu(matmul(x, w)); };
  const auto f = compile(body);
  const Tensor x = normal({512, 512}), w = normal({512, 512});
  Tensor results[2];
  for (int call = 0; call < 8; ++call) {
    const bool allow = call / 2 % 2 == 1;
    cuda::set_allow_tf32(allow);
    results[allow ? 1 : 0] = f(x, w);
    EXPECT_TRUE(same_bits(results[allow ? 1 : 0], body(x, w))) << call;
  }
  if (cuda::properties(0).major >= 8) {
    EXPECT_FALSE(same_bits(results[0], results[1]));
  }
  EXPECT_TRUE(allclose(results[0], results[1], 1e-2, 1e-1));
}

// Sums of few small whole numbers are exact in any order, so the values are those of the formula.
Tensor few(const Dims& sizes, DType t, i64 seed) {
  return (remainder(arange(sizes.product(), {DType::i64}) * seed + 3, 7) - 3)
      .reshape(sizes)
      .to(t)
      .to(kCUDA);
}

class EpilogueGpu : public ProductsGpu {};

TEST_F(EpilogueGpu, ARowIsAddedInTheProductsLaunchWithEagersBits) {
  const auto body = [](const Tensor& x, const Tensor& w, const Tensor& b, const Tensor& v) {
    return matmul(matmul(x, w) + b, v);
  };
  for (const bool tf32 : {false, true}) {
    cuda::set_allow_tf32(tf32);
    for (const auto& [m, n, k] : {std::tuple<i64, i64, i64>{512, 512, 512},
                                  {64, 4096, 1024},
                                  {1000, 1004, 768},
                                  {300, 520, 1024},
                                  {64, 257, 784}}) {
      const auto f = compile(body);
      const Tensor x = normal({m, k}), w = normal({k, n}), b = normal({n}), v = normal({n, 512});
      for (int call = 0; call < 3; ++call) {
        EXPECT_TRUE(same_bits(f(x, w, b, v), body(x, w, b, v))) << m << " x " << n << " x " << k;
      }
      EXPECT_EQ(f.ledger().launches_compiled, 2) << f.ledger();
      EXPECT_TRUE(f.ledger().relaxed.empty()) << f.ledger();
    }
  }
}

TEST_F(EpilogueGpu, ARowIsAddedToDoublesAndToBatchesWithEagersBits) {
  const auto body = [](const Tensor& x, const Tensor& w, const Tensor& b) {
    return sum(matmul(x, w) + b, {-2});
  };
  for (const auto& [t, sizes] : {std::pair<DType, Dims>{DType::f64, {300, 520}},
                                 {DType::f32, {3, 200, 520}},
                                 {DType::f32, {1, 520}}}) {
    const auto f = compile(body);
    const Tensor x = normal(sizes).to(t), w = normal({520, 700}).to(t), b = normal({700}).to(t);
    for (int call = 0; call < 3; ++call) {
      EXPECT_TRUE(same_bits(f(x, w, b), body(x, w, b))) << name(t) << " " << to_string(sizes);
    }
  }
}

// A sum this long may be split among blocks of threads, which changes where the row is added.
TEST_F(EpilogueGpu, ARowIsAddedToLongSums) {
  const auto body = [](const Tensor& x, const Tensor& w, const Tensor& b) {
    return sum(matmul(x, w) + b, {-2});
  };
  for (const i64 n : {128, 257}) {
    const Tensor x = normal({n, 32768}), w = normal({32768, n}) * 0.01, b = normal({n});
    const auto f = compile(body);
    for (int call = 0; call < 3; ++call) EXPECT_TRUE(same_bits(f(x, w, b), body(x, w, b))) << n;
    const auto one = [](const Tensor& a, const Tensor& c, const Tensor& d) {
      return matmul(a, c) + d;
    };
    const Tensor x16 = x.to(DType::bf16), w16 = w.to(DType::bf16), b16 = b.to(DType::bf16);
    const auto g = compile(one, {.numerics = Numerics::library});
    const auto real = [](const Tensor& v) { return v.cpu().to(DType::f64); };
    const Tensor want = one(real(x16), real(w16), real(b16));
    // As eager rounds: the product, then the sum; the library may round once.
    const Tensor bound =
        (abs(matmul(real(x16), real(w16))) + abs(want)) * 0x1p-8 + 2e-3;  // and f32 sums
    for (int call = 0; call < 3; ++call) {
      EXPECT_LE((abs(real(g(x16, w16, b16)) - want) - bound).max().item<double>(), 0) << n;
    }
  }
}

// A row whose first byte lies anywhere; cublasLt's kernels read 16 bytes at a time.
TEST_F(EpilogueGpu, RowsMayBeginAnywhere) {
  for (const DType t : {DType::f32, DType::f16, DType::bf16}) {
    for (const i64 k : {512, 4096}) {
      const Tensor x = normal({300, k}).to(t), w = (normal({k, 513}) * 0.05).to(t),
                   rows = normal({9, 513}).to(t);
      const auto body = [](const Tensor& a, const Tensor& c, const Tensor& b) {
        return sum(matmul(a, c) + b, {-2}) + sum(linear(a, c.t().contiguous(), b), {-2}) +
               sum(addmm(b, a, c), {-2});
      };
      const auto f = compile(body);
      for (i64 row = 0; row < 9; ++row) {
        const Tensor b = rows.select(0, row);
        EXPECT_TRUE(same_bits(f(x, w, b), body(x, w, b))) << name(t) << " row " << row;
      }
    }
  }
  cuda::synchronize();
}

TEST_F(EpilogueGpu, ReluAtLevelLibraryIsExactWhereSumsAre) {
  const auto body = [](const Tensor& x, const Tensor& w, const Tensor& b) {
    return relu(linear(x, w, b));
  };
  for (const DType t : {DType::f32, DType::f16, DType::bf16}) {
    const Tensor x = few({256, 40}, t, 5), w = few({512, 40}, t, 11), b = few({512}, t, 2);
    const auto exact = compile(body);
    const auto f = compile(body, {.numerics = Numerics::library});
    for (int call = 0; call < 3; ++call) {
      EXPECT_TRUE(same_bits(f(x, w, b), body(x, w, b))) << name(t);
      EXPECT_TRUE(same_bits(exact(x, w, b), body(x, w, b))) << name(t);
    }
    EXPECT_EQ(f.ledger().launches_compiled, 1) << f.ledger();
    EXPECT_EQ(f.ledger().relaxed.size(), 1u) << f.ledger();
    EXPECT_EQ(exact.ledger().launches_compiled, 2) << exact.ledger();
    EXPECT_TRUE(exact.ledger().relaxed.empty());
  }
}

// One rounding of the result, and what the library's tanh adds to it.
TEST_F(EpilogueGpu, GeluByTanhAtLevelLibraryIsNearTheDoubleReference) {
  for (const DType t : {DType::f16, DType::bf16}) {
    for (const bool one_op : {false, true}) {
      const auto body = [one_op](const Tensor& x, const Tensor& w, const Tensor& b) {
        return gelu(one_op ? linear(x, transpose(w, 0, 1), b) : matmul(x, w) + b, "tanh");
      };
      const Tensor x = normal({512, 768}).to(t), w = (normal({768, 640}) * 0.05).to(t),
                   b = normal({640}).to(t);
      const auto f = compile(body, {.numerics = Numerics::library});
      Tensor y;
      for (int call = 0; call < 3; ++call) y = f(x, w, b);
      EXPECT_EQ(f.ledger().launches_compiled, 1) << f.ledger();
      EXPECT_EQ(f.ledger().relaxed.size(), 1u) << f.ledger();
      const auto real = [](const Tensor& v) { return v.cpu().to(DType::f64); };
      const Tensor want = gelu(matmul(real(x), real(w)) + real(b), "tanh");
      const double rounding = t == DType::bf16 ? 0x1p-8 : 0x1p-11;
      EXPECT_TRUE(allclose(real(y), want, rounding * 1.25, 2e-3)) << name(t);
      // Eager rounds up to three times.
      EXPECT_TRUE(allclose(real(body(x, w, b)), want, rounding * 4, 0.05)) << name(t);
    }
  }
}

TEST_F(EpilogueGpu, VerifyKeepsToEagersBits) {
  const auto body = [](const Tensor& x, const Tensor& w, const Tensor& b) {
    return gelu(linear(x, w, b), "tanh");
  };
  const auto f = compile(body, {.numerics = Numerics::library, .verify = true});
  const Tensor x = normal({512, 512}).to(DType::bf16), w = normal({512, 512}).to(DType::bf16),
               b = normal({512}).to(DType::bf16);
  for (int call = 0; call < 3; ++call) EXPECT_TRUE(same_bits(f(x, w, b), body(x, w, b)));
  EXPECT_TRUE(f.ledger().relaxed.empty()) << f.ledger();
}

// New addresses and another offset: recorded graphs get them.
TEST_F(EpilogueGpu, EachCallReadsItsOwnOperands) {
  const auto body = [](const Tensor& x, const Tensor& w, const Tensor& b) {
    return gelu(matmul(x, w) + b, "tanh");
  };
  const auto f = compile(body, {.numerics = Numerics::library});
  const Tensor w = normal({512, 512}).to(DType::bf16), rows = normal({9, 512}).to(DType::bf16);
  Tensor first;
  for (i64 call = 0; call < 9; ++call) {
    const Tensor x = normal({512, 512}).to(DType::bf16);
    const Tensor y = f(x, w, rows.select(0, call));
    EXPECT_TRUE(
        allclose(y.to(DType::f32), body(x, w, rows.select(0, call)).to(DType::f32), 0.03, 0.2))
        << call;
  }
}

}  // namespace
}  // namespace ingot
