// The order of sums: the documented tree in every layout, on any number of threads, at every level.
#include <bit>

#include <gtest/gtest.h>

#include <ingot/kernels/cpu/parallel.h>
#include <ingot/kernels/cpu/reduce.h>
#include <ingot/kernels/cpu/reduce_plan.h>
#include <ingot/kernels/cpu/threads.h>
#include <ingot/kernels/ops/reduce_rows.h>
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

// The tree as its documentation says it.
template <class T>
T tree_sum(const std::vector<T>& x) {
  if (x.size() > 4096) {
    std::vector<T> blocks;
    for (std::size_t b = 0; b < x.size(); b += 4096) {
      blocks.push_back(tree_sum(
          std::vector<T>(x.begin() + static_cast<std::ptrdiff_t>(b),
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
          const auto load = [&](i64 i) { return Num<T>(column[static_cast<std::size_t>(i)]); };
          const T staged = rows::reduce_row<rows::SumRow>(n, load).v;
          const T direct = rows::reduce_row<rows::SumRow>(n, rows::Elements<T>{column.data()}).v;
          ASSERT_TRUE(a.same_bits(j, &staged) && a.same_bits(j, &direct));
        }
      }
    }
  }
  set_num_threads(available_cores());
}

TEST(ReduceOrder, SumsFollowTheDocumentedTreeInEveryLayout) {
  check_tree<float>(DType::f32);
  check_tree<double>(DType::f64);
}

// Cascaded levels against the recursion, without the memory of 2^25 elements.
TEST(ReduceOrder, TreeHasMoreLevels) {
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

TEST(ReduceOrder, ResultsDoNotDependOnThreads) {
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
        for (Results r : {reduce<structured::Sum>(in, axes), reduce<structured::Mean>(in, axes),
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
TEST(ReduceOrder, LevelsAgreeBitForBit) {
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

}  // namespace
}  // namespace ingot::testing
