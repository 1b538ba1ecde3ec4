// Batches of products whose axes do not lie as one: heads of attention, broadcast ones, parts of
// larger tensors. One launch of the library (or of the plain kernel), and at most one copy a
// factor.
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include <ingot/kernels/ops/structured/list.h>
#include <ingot/kernels/ops/structured/products.h>

#include "cuda_on_host/emulated.h"
#include "cuda_on_host/grid.h"
#include "kernels/op_harness.h"

namespace ingot::testing {
namespace {

using namespace structured;

constexpr i64 kB = 3, kH = 4, kT = 20, kD = 10;

// One factor of a case: sizes, and strides into its memory.
struct Layout {
  const char* what;
  Dims sizes, strides;
};

// [.., kT, kD] as rows or as columns.
const std::vector<Layout> kLeft = {
    {"plain", {kB, kH, kT, kD}, {kH * kT * kD, kT* kD, kD, 1}},
    {"heads", {kB, kH, kT, kD}, {kT * kH * kD, kD, kH* kD, 1}},
    {"heads of three", {kB, kH, kT, kD}, {kT * 3 * kH * kD, kD, 3 * kH* kD, 1}},
    {"a part", {kB, kH, kT, kD}, {2 * kH * kT * kD, kT* kD, kD, 1}},
    {"columns", {kB, kH, kT, kD}, {kT * kH * kD, kT* kD, 1, kT}},
    {"every other element", {kB, kH, kT, kD}, {kH * kT * 2 * kD, kT * 2 * kD, 2 * kD, 2}},
    {"shared by heads", {kB, 1, kT, kD}, {kT * kD, kT* kD, kD, 1}},
    {"shared by all but heads", {kH, kT, kD}, {kT * kD, kD, 1}},
    {"shared by all", {kT, kD}, {kD, 1}},
    {"expanded", {kB, kH, kT, kD}, {kT * kD, 0, kD, 1}},
    {"one row", {kB, kH, 1, kD}, {kH * kD, kD, kD, 1}},
};
const std::vector<Layout> kRight = {
    {"plain", {kB, kH, kD, kT}, {kH * kT * kD, kT* kD, kT, 1}},
    {"heads, transposed", {kB, kH, kD, kT}, {kT * kH * kD, kD, 1, kH* kD}},
    {"a part", {kB, kH, kD, kT}, {2 * kH * kT * kD, kT* kD, kT, 1}},
    {"shared by heads", {kB, 1, kD, kT}, {kT * kD, kT* kD, kT, 1}},
    {"shared by all but heads", {kH, kD, kT}, {kT * kD, kT, 1}},
    {"shared by all", {kD, kT}, {1, kD}},
    {"every other element", {kB, kH, kD, kT}, {kH * kD * 2 * kT, kD * 2 * kT, 2 * kT, 2}},
};

// The element of a [.., rows, columns] factor in matrix (b, h) of the whole batch.
double at(Buffer& x, i64 b, i64 h, i64 row, i64 column) {
  const Dims& s = x.meta().sizes;
  const int n = s.size();
  const i64 heads = n > 2 ? s[n - 3] : 1, batches = n > 3 ? s[n - 4] : 1;
  const i64 matrix = (batches == 1 ? 0 : b) * heads + (heads == 1 ? 0 : h);
  return x.real((matrix * s[n - 2] + row) * s[n - 1] + column);
}

double rounding(DType t) {
  return t == DType::bf16  ? 0x1p-8
         : t == DType::f16 ? 0x1p-10
         : t == DType::f32 ? 0x1p-22
                           : 0x1p-50;
}

std::vector<Buffer> product(const OpInfo& op, const std::vector<Buffer*>& in) {
  return run_op(op, isa_emulated::cuda_kernel(op), in, {});
}

class BatchedProducts : public ::testing::TestWithParam<DType> {
 protected:
  // Compares with the sum in double.
  static void expect_product(Buffer& a, Buffer& b, Buffer& y) {
    const Dims& s = y.meta().sizes;
    const int n = s.size();
    const i64 columns = s[n - 1], rows = s[n - 2], heads = n > 2 ? s[n - 3] : 1;
    for (i64 i = 0; i < y.numel(); ++i) {
      const i64 column = i % columns, row = i / columns % rows, matrix = i / (columns * rows);
      double sum = 0, size = 0;
      for (i64 k = 0; k < a.meta().sizes.back(); ++k) {
        const double term = at(a, matrix / heads, matrix % heads, row, k) *
                            at(b, matrix / heads, matrix % heads, k, column);
        sum += term;
        size += std::fabs(term);
      }
      ASSERT_NEAR(y.real(i), sum, rounding(y.dtype()) * (size + std::fabs(sum))) << i;
    }
  }
};

TEST_P(BatchedProducts, AreOneLaunchAndAtMostOneCopyAFactor) {
  const DType t = GetParam();
  Rng rng(1);
  for (const Layout& left : kLeft) {
    for (const Layout& right : kRight) {
      Buffer a(t, left.sizes, left.strides), b(t, right.sizes, right.strides);
      a.fill_random(rng, -2, 2);
      b.fill_random(rng, -2, 2);
      const std::int64_t calls = emulation::library_calls(), launches = emulation::launches();
      std::vector<Buffer> y = product(structured_op<Matmul>, {&a, &b});
      const std::int64_t of_library = emulation::library_calls() - calls,
                         ours = emulation::launches() - launches;
      SCOPED_TRACE(std::string(left.what) + " x " + right.what);
      // A small product of f32 or f64 is one kernel of ours, as is one of integers.
      EXPECT_LE(of_library, 1);
      EXPECT_EQ(of_library == 1 || ours >= 1, true);
      EXPECT_LE(of_library + ours, 3);
      ASSERT_NO_FATAL_FAILURE(expect_product(a, b, y[0]));
    }
  }
}

TEST_P(BatchedProducts, WhatLiesAsOneIsNotCopied) {
  const DType t = GetParam();
  Rng rng(2);
  const std::pair<int, int> together[] = {{0, 0}, {0, 5}, {8, 0}, {8, 5}};
  for (const auto& [i, j] : together) {
    const Layout &left = kLeft[static_cast<std::size_t>(i)],
                 &right = kRight[static_cast<std::size_t>(j)];
    Buffer a(t, left.sizes, left.strides), b(t, right.sizes, right.strides);
    a.fill_random(rng, -2, 2);
    b.fill_random(rng, -2, 2);
    const std::int64_t calls = emulation::library_calls(), launches = emulation::launches();
    (void)product(structured_op<Matmul>, {&a, &b});
    EXPECT_EQ(emulation::library_calls() - calls + emulation::launches() - launches, 1)
        << left.what << " x " << right.what;
  }
}

// linear() of rows that lie in no one stride: all of them are one product.
TEST_P(BatchedProducts, RowsOfALinearLayerAreOneProduct) {
  const DType t = GetParam();
  if (!is_floating_point(t)) GTEST_SKIP() << "linear is of floating dtypes";
  Rng rng(3);
  const i64 n = 9, k = 300;
  Buffer x(t, {2, 3, 6, k}, {3 * 6 * k + 8, 6 * k + 16, k, 1}), w(t, {n, k}), row(t, {n});
  for (Buffer* b : {&x, &w, &row}) b->fill_random(rng, -2, 2);
  const std::int64_t calls = emulation::library_calls();
  std::vector<Buffer> y = product(structured_op<Linear>, {&x, &w, &row});
  EXPECT_EQ(emulation::library_calls() - calls, 1);
  for (i64 i = 0; i < y[0].numel(); ++i) {
    double sum = row.real(i % n), size = std::fabs(sum);
    for (i64 j = 0; j < k; ++j) {
      const double term = x.real(i / n * k + j) * w.real(i % n * k + j);
      sum += term;
      size += std::fabs(term);
    }
    ASSERT_NEAR(y[0].real(i), sum, rounding(t) * (size + std::fabs(sum))) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, BatchedProducts,
                         ::testing::Values(DType::f32, DType::f64, DType::f16, DType::bf16,
                                           DType::i64),
                         [](const auto& p) { return std::string(name(p.param)); });

}  // namespace
}  // namespace ingot::testing
