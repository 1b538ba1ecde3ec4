// Products as CUDA kernels on the host: the small kernel's bits are those of the documented order
// of its sum, whatever the layout, the place in a batch and the tile; other products are near a
// double reference.
#include <cmath>
#include <cstring>
#include <functional>
#include <tuple>

#include <gtest/gtest.h>

#include <ingot/kernels/ops/structured/list.h>
#include <ingot/kernels/ops/structured/products.h>

#include "cuda_on_host/emulated.h"
#include "cuda_on_host/grid.h"
#include "kernels/op_harness.h"

namespace ingot::testing {
namespace {

using namespace structured;

const OpInfo& kMatmul = structured_op<Matmul>;

std::vector<Buffer> on_device(const OpInfo& op, const std::vector<Buffer*>& in,
                              const Attrs& attrs = {}) {
  return run_op(op, isa_emulated::cuda_kernel(op), in, attrs);
}

// Eight chains over quads of k, then a tree over the chains.
template <class T, class A, class B>
T chained_sum(i64 k, const A& a, const B& b) {
  T chain[8] = {};
  for (i64 i = 0; i < k; ++i) {
    T& sum = chain[i / 4 % 8];
    sum = std::fma(static_cast<T>(a(i)), static_cast<T>(b(i)), sum);
  }
  return ((chain[0] + chain[1]) + (chain[2] + chain[3])) +
         ((chain[4] + chain[5]) + (chain[6] + chain[7]));
}

double chained(DType t, i64 k, const std::function<double(i64)>& a,
               const std::function<double(i64)>& b) {
  return t == DType::f64 ? chained_sum<double>(k, a, b)
                         : static_cast<double>(chained_sum<float>(k, a, b));
}

// The matrices of a row-major result, one after the other; batch axes are those of the result.
void expect_documented_sum(Buffer& a, Buffer& b, Buffer& y) {
  const Dims &as = a.meta().sizes, &bs = b.meta().sizes, &ys = y.meta().sizes;
  const i64 m = as[as.size() - 2], k = as.back(), n = bs.back();
  Buffer rounded(y.dtype(), {1});
  for (i64 i = 0; i < y.numel(); ++i) {
    const i64 row = i / n % m, column = i % n, matrix = i / (m * n);
    const i64 a_at = (as.size() == 3 && as[0] > 1 ? matrix * m * k : 0) + row * k;
    const i64 b_at = (bs.size() == 3 && bs[0] > 1 ? matrix * k * n : 0) + column;
    rounded.set(0, chained(
                       y.dtype(), k, [&](i64 j) { return a.real(a_at + j); },
                       [&](i64 j) { return b.real(b_at + j * n); }));
    ASSERT_TRUE(y.same_bits(i, rounded.at(0)))
        << describe(a.meta()) << to_string(a.meta().strides) << " x " << describe(b.meta())
        << to_string(b.meta().strides) << " -> " << to_string(ys) << ", element " << i << ": "
        << y.real(i) << ", not " << rounded.real(0);
  }
}

// Rows, columns, each with a gap of any size or of whole quads, every other element.
std::vector<Dims> layouts(i64 rows, i64 columns) {
  return {{columns, 1},
          {1, rows},
          {columns + 3, 1},
          {1, rows + 5},
          {2 * columns + 2, 2},
          {2, 2 * rows},
          {columns + 4 - columns % 4, 1},
          {1, rows + 4 - rows % 4}};
}

class SmallProducts : public ::testing::TestWithParam<DType> {};

TEST_P(SmallProducts, HaveTheDocumentedBitsInEveryLayoutAndAtEveryEdge) {
  Rng rng(1);
  const i64 edges[] = {2, 7, 8, 9, 16, 31, 32, 33, 64};
  const i64 depths[] = {1, 3, 4, 5, 31, 32, 33, 64, 100, 127, 128};
  int trial = 0;
  for (const i64 m : edges) {
    for (const i64 n : edges) {
      const i64 k = depths[static_cast<std::size_t>(trial) % std::size(depths)];
      const auto la = layouts(m, k), lb = layouts(k, n);
      Buffer a(GetParam(), {m, k}, la[static_cast<std::size_t>(trial) % la.size()]);
      Buffer b(GetParam(), {k, n}, lb[static_cast<std::size_t>(trial / 3) % lb.size()]);
      ++trial;
      a.fill_random(rng, -2, 2);
      b.fill_random(rng, -2, 2);
      std::vector<Buffer> y = on_device(kMatmul, {&a, &b});
      ASSERT_NO_FATAL_FAILURE(expect_documented_sum(a, b, y[0]));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, SmallProducts, ::testing::Values(DType::f32, DType::f64),
                         [](const auto& p) { return std::string(name(p.param)); });

TEST(SmallProduct, DeepSumsAndWideTilesHaveTheSameOrder) {
  Rng rng(2);
  // 133 blocks of 8 rows are many: the tile has 16 rows from there on.
  for (const auto& [m, n, k] : {std::tuple<i64, i64, i64>{33, 40, 256},
                                {61, 97, 255},
                                {130, 260, 65},
                                {2, 512, 129},
                                {1057, 17, 40},
                                {256, 10, 200},
                                {64, 10, 256},
                                {256, 256, 256}}) {
    for (const bool a_rows : {true, false}) {
      for (const bool b_rows : {true, false}) {
        Buffer a(DType::f32, {m, k}, a_rows ? Dims{k, 1} : Dims{1, m});
        Buffer b(DType::f32, {k, n}, b_rows ? Dims{n, 1} : Dims{1, k});
        a.fill_random(rng, -2, 2);
        b.fill_random(rng, -2, 2);
        std::vector<Buffer> y = on_device(kMatmul, {&a, &b});
        ASSERT_NO_FATAL_FAILURE(expect_documented_sum(a, b, y[0]));
      }
    }
  }
}

TEST(SmallProduct, TheBatchIsPartOfTheGrid) {
  Rng rng(3);
  for (const auto& [a_batch, b_batch] : {std::pair<i64, i64>{5, 5}, {5, 1}, {1, 5}}) {
    Buffer a(DType::f32, {a_batch, 9, 37}, {9 * 40, 40, 1});
    Buffer b(DType::f32, {b_batch, 37, 35});
    a.fill_random(rng, -2, 2);
    b.fill_random(rng, -2, 2);
    const std::int64_t before = emulation::launches();
    std::vector<Buffer> y = on_device(kMatmul, {&a, &b});
    EXPECT_EQ(emulation::launches() - before, 1);
    ASSERT_NO_FATAL_FAILURE(expect_documented_sum(a, b, y[0]));
  }
}

TEST(SmallProduct, TheSumsOfNothingAreZero) {
  Buffer a(DType::f32, {3, 0}), b(DType::f32, {0, 5});
  std::vector<Buffer> y = on_device(kMatmul, {&a, &b});
  EXPECT_EQ(values_of(y[0]), Values(15, 0));
}

TEST(SmallProduct, NaNsAndInfinitiesStayInTheirRowsAndColumns) {
  Buffer a(DType::f32, {9, 5}), b(DType::f32, {5, 34});
  for (i64 i = 0; i < a.numel(); ++i) a.set(i, 1);
  for (i64 i = 0; i < b.numel(); ++i) b.set(i, 1);
  a.set(2 * 5 + 4, kInf);
  b.set(4 * 34 + 33, kNaN);
  std::vector<Buffer> y = on_device(kMatmul, {&a, &b});
  for (i64 i = 0; i < y[0].numel(); ++i) {
    const double v = y[0].real(i);
    if (i % 34 == 33) {
      EXPECT_TRUE(std::isnan(v)) << i;
    } else {
      EXPECT_EQ(v, i / 34 == 2 ? kInf : 5) << i;
    }
  }
}

// linear(x, w, bias) and addmm round once, after all that they add.
TEST_P(SmallProducts, AddBeforeTheyRound) {
  const DType t = GetParam();
  Rng rng(4);
  const i64 m = 11, n = 34, k = 20;
  Buffer x(t, {m, k}), w(t, {n, k}), bias(t, {n}, {3}), full(t, {m, n}, {1, m});
  for (Buffer* b : {&x, &w, &bias, &full}) b->fill_random(rng, -2, 2);
  std::vector<Buffer> linear = on_device(structured_op<Linear>, {&x, &w, &bias});
  Attrs attrs;
  attrs.add_scalar(0.5);
  attrs.add_scalar(-3.0);
  Buffer b(t, {k, n}, {1, k});
  for (i64 i = 0; i < b.numel(); ++i) b.set(i, w.real(i % n * k + i / n));
  std::vector<Buffer> addmm = on_device(structured_op<Addmm>, {&full, &x, &b}, attrs);
  Buffer want(t, {1});
  for (i64 i = 0; i < m * n; ++i) {
    const double sum = chained(
        t, k, [&](i64 j) { return x.real(i / n * k + j); },
        [&](i64 j) { return w.real(i % n * k + j); });
    if (t == DType::f64) {
      want.set(0, sum + bias.real(i % n));
    } else {
      want.set(0, static_cast<float>(sum) + static_cast<float>(bias.real(i % n)));
    }
    EXPECT_TRUE(linear[0].same_bits(i, want.at(0))) << i;
    if (t == DType::f64) {
      want.set(0, -3.0 * sum + 0.5 * full.real(i));
    } else {
      want.set(0, -3.0f * static_cast<float>(sum) + 0.5f * static_cast<float>(full.real(i)));
    }
    EXPECT_TRUE(addmm[0].same_bits(i, want.at(0))) << i;
  }
}

// Beyond the small sizes: no bias makes a product slow, and all kernels give the same sums.
TEST(LargeProducts, AnyBiasIsAddedByTheLibraryAndByThePlainKernel) {
  Rng rng(5);
  const i64 m = 6, n = 9, k = 300;
  Buffer x(DType::f32, {2, m, k}), w(DType::f32, {n, k});
  x.fill_random(rng, -2, 2);
  w.fill_random(rng, -2, 2);
  for (const i64 stride : {1, 0, 2}) {
    Buffer bias(DType::f32, {n}, {stride});
    bias.fill_random(rng, -2, 2);
    for (const bool library : {true, false}) {
      emulation::set_library(library);
      std::vector<Buffer> y = on_device(structured_op<Linear>, {&x, &w, &bias});
      emulation::set_library(true);
      for (i64 i = 0; i < y[0].numel(); ++i) {
        double sum = bias.real(i % n), size = std::fabs(sum);
        for (i64 j = 0; j < k; ++j) {
          const double term = x.real(i / n * k + j) * w.real(i % n * k + j);
          sum += term;
          size += std::fabs(term);
        }
        EXPECT_NEAR(y[0].real(i), sum, 0x1p-22 * size) << i;
      }
    }
  }
}

struct WithEpilogue {
  bool done;
  Buffer y;
};

WithEpilogue with_epilogue(const OpInfo& op, const std::vector<Buffer*>& in, const Dims& sizes,
                           const ProductEpilogue& epilogue) {
  WithEpilogue result{false, Buffer(in[0]->dtype(), sizes)};
  std::vector<BufferView> views;
  for (Buffer* b : in) views.push_back(b->view());
  const BufferView out = result.y.view();
  result.done = isa_emulated::cuda_product_with(
      {op, views.data(), static_cast<int>(views.size()), &out, 1, {}, Ticket{}}, epilogue);
  EXPECT_TRUE(result.y.margins_intact());
  return result;
}

// What is asked of cublasLt for a row and an activation, over every batch.
TEST(LargeProducts, TheLibraryAddsARowAndActs) {
  Rng rng(6);
  const i64 m = 6, n = 9, k = 300;
  for (const DType t : kFloating) {
    Buffer x(t, {2, 3, m, k}, {3 * m * k + 7, m * k + 1, k, 1}), w(t, {n, k}), row(t, {n});
    x.fill_random(rng, -2, 2);
    w.fill_random(rng, -0.1, 0.1);
    row.fill_random(rng, -2, 2);
    for (const auto activation :
         {ProductEpilogue::none, ProductEpilogue::relu, ProductEpilogue::gelu}) {
      for (const bool own_bias : {false, true}) {
        std::vector<Buffer*> in{&x, &w};
        if (own_bias) in.push_back(&row);
        WithEpilogue got = with_epilogue(structured_op<Linear>, in, {2, 3, m, n},
                                         {own_bias ? nullptr : row.view().data, activation,
                                          activation != ProductEpilogue::gelu});
        ASSERT_TRUE(got.done);
        for (i64 i = 0; i < got.y.numel(); ++i) {
          double sum = row.real(i % n), size = std::fabs(sum);
          for (i64 j = 0; j < k; ++j) {
            const double term = x.real(i / n * k + j) * w.real(i % n * k + j);
            sum += term;
            size += std::fabs(term);
          }
          double want = sum;
          if (activation == ProductEpilogue::relu) want = std::fmax(sum, 0);
          if (activation == ProductEpilogue::gelu) {
            want = sum / (1 + std::exp(-1.5957691216057308 * (sum + 0.044715 * sum * sum * sum)));
          }
          EXPECT_NEAR(got.y.real(i), want, 1e-12 * size + last_bit(t) * std::fabs(want)) << i;
        }
      }
    }
  }
}

TEST(LargeProducts, WhatTheLibraryCannotIsLeftToOthers) {
  Rng rng(7);
  const i64 m = 6, n = 9, k = 300;
  Buffer x(DType::f32, {m, k}), gaps(DType::f32, {m, k}, {2 * k, 2}), w(DType::f32, {n, k});
  Buffer row(DType::f32, {n}), spread(DType::f32, {n}, {2}), few(DType::f32, {m, 8});
  Buffer of_few(DType::f32, {n, 8});
  for (Buffer* b : {&x, &gaps, &w, &row, &spread, &few, &of_few}) b->fill_random(rng, -2, 2);
  const ProductEpilogue relu{nullptr, ProductEpilogue::relu, true};
  const ProductEpilogue with_row{row.view().data, ProductEpilogue::none, true};
  const auto done = [&](const std::vector<Buffer*>& in, const ProductEpilogue& epilogue) {
    return with_epilogue(structured_op<Linear>, in, {m, n}, epilogue).done;
  };
  EXPECT_TRUE(done({&x, &w, &row}, relu));
  EXPECT_TRUE(done({&x, &w}, with_row));
  EXPECT_FALSE(done({&x, &w, &row}, with_row));     // it adds one already
  EXPECT_FALSE(done({&x, &w, &spread}, relu));      // eager lays such a bias into the result
  EXPECT_FALSE(done({&gaps, &w, &row}, relu));      // eager copies it first
  EXPECT_FALSE(done({&few, &of_few, &row}, relu));  // a small product
  emulation::set_library(false);
  EXPECT_FALSE(done({&x, &w, &row}, relu));
  emulation::set_library(true);
}

// A row inside a larger tensor. Eager lays it into the result, as the stand-in would refuse it.
TEST(LargeProducts, ARowThatIsNotAlignedIsNoBiasOfTheLibrary) {
  Rng rng(8);
  const i64 m = 6, n = 9, k = 300;
  for (const DType t : kFloating) {
    Buffer x(t, {m, k}), w(t, {n, k}), rows(t, {3, n}), row(t, {n}), eager(t, {m, n});
    for (Buffer* b : {&x, &w, &rows}) b->fill_random(rng, -2, 2);
    const void* second = rows.at(n);
    ASSERT_NE(reinterpret_cast<std::uintptr_t>(second) % 16, 0u);
    for (i64 i = 0; i < n; ++i) row.set(i, rows.real(n + i));
    EXPECT_FALSE(with_epilogue(structured_op<Linear>, {&x, &w}, {m, n},
                               {second, ProductEpilogue::none, true})
                     .done);

    const BufferView in[] = {x.view(), w.view(), {const_cast<void*>(second), &row.meta()}};
    const BufferView out = eager.view();
    const Attrs none;
    const KernelArgs args{structured_op<Linear>, in, 3, &out, 1, none, Ticket{}};
    EXPECT_FALSE(isa_emulated::cuda_product_with(args, {nullptr, ProductEpilogue::relu, true}));
    isa_emulated::cuda_kernel(structured_op<Linear>)(args);
    std::vector<Buffer> want = on_device(structured_op<Linear>, {&x, &w, &row});
    for (i64 i = 0; i < eager.numel(); ++i) EXPECT_TRUE(eager.same_bits(i, want[0].at(i))) << i;
  }
}

}  // namespace
}  // namespace ingot::testing
