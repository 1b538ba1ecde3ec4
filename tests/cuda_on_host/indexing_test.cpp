// Reads and writes through index tensors as CUDA kernels: the CPU's bits, in every dtype and
// layout, with few positions and with so many that they are sorted; faults.
#include <gtest/gtest.h>

#include <ingot/ingot.h>
#include <ingot/kernels/cuda/fault.h>
#include <ingot/kernels/ops/registry.h>
#include <ingot/runtime/internal_ops.h>

#include "cuda_on_host/emulated.h"
#include "cuda_on_host/layouts.h"
#include "cuda_on_host/shadow.h"

namespace ingot {
namespace {

using namespace emulation;

constexpr DType kAllDTypes[] = {DType::f32, DType::f64, DType::f16, DType::bf16,
                                DType::i64, DType::i32, DType::u8,  DType::boolean};
// One, some, the most that find their equals themselves; ranked; sorted by radix passes.
constexpr i64 kMany = 2500;
constexpr i64 kCounts[] = {1, 7, 64, 65, 300, kMany};

// Emulated threads cost their time: many positions are for a few dtypes only.
bool left_out(DType t, i64 count) {
  return count == kMany && t != DType::f32 && t != DType::bf16 && t != DType::boolean;
}

// Indices in [least, size) of the given shape; `permuted`: stored in the other order of axes.
Tensor indices(const Dims& sizes, i64 size, Rng& rng, bool permuted = false, i64 least = 0) {
  Dims stored = sizes;
  if (permuted) {
    for (int d = 0; d < sizes.size(); ++d) stored[d] = sizes[sizes.size() - 1 - d];
  }
  std::vector<i64> values(static_cast<std::size_t>(sizes.product()));
  for (i64& v : values) v = static_cast<i64>(rng() % static_cast<unsigned>(size - least)) + least;
  Tensor t = from_vector(values, stored);
  if (!permuted) return t;
  Dims order;
  for (int d = sizes.size() - 1; d >= 0; --d) order.push_back(d);
  return permute(t, order);
}

// For index and index_put_, where negative ones count from the end.
Tensor signed_indices(const Dims& sizes, i64 size, Rng& rng, bool permuted = false) {
  return indices(sizes, size, rng, permuted, -size);
}

TEST(ShadowIndexing, Reads) {
  Rng rng(21);
  NoGradGuard guard;
  for (const DType t : kAllDTypes) {
    for (const Layout layout : kLayouts) {
      const Tensor x = tensor_in(layout, {5, 6, 8}, t, rng);
      Shadow shadow;
      for (int axis = 0; axis < 3; ++axis) {
        (void)index_select(x, axis, indices({9}, x.size(axis), rng));
        (void)gather(x, axis, indices({4, 5, 7}, x.size(axis), rng, true));
      }
      (void)index_select(x, 1, indices({}, 6, rng));
      (void)index_select(x, 1, slice(indices({20}, 6, rng), 0, 1, 20, 3));
      (void)gather(tensor_in(layout, {}, t, rng), 0, indices({}, 1, rng));
      const Tensor weight = tensor_in(layout, {7, 16}, t, rng);
      (void)embedding(weight, indices({3, 4}, 7, rng, true));
      (void)embedding(weight, indices({}, 7, rng));
      (void)one_hot(indices({3, 4}, 7, rng, true), 7);
      const Tensor two[] = {signed_indices({3, 4}, 6, rng, true), signed_indices({3, 4}, 8, rng)};
      (void)index(x, {1, 2}, two);
      const Tensor three[] = {signed_indices({5}, 5, rng), signed_indices({5}, 6, rng),
                              signed_indices({5}, 8, rng)};
      (void)index(x, {0, 1, 2}, three);
      (void)index(x, {0}, three);
      if (HasFailure()) return;
    }
  }
}

TEST(ShadowIndexing, SumsOfSlices) {
  Rng rng(22);
  NoGradGuard guard;
  int turn = 0;
  for (const i64 count : kCounts) {
    for (const DType t : kAllDTypes) {
      if (left_out(t, count)) continue;
      const Layout layout = kLayouts[turn++ % 5];
      const i64 width = count == kMany ? 3 : 5, rows = turn % 2 == 0 ? 4 : 1000;
      const Tensor x = tensor_in(Layout::permuted, {rows, width}, t, rng);
      const Tensor source = tensor_in(layout, {count, width}, t, rng);
      const Tensor at = indices({count}, rows, rng);
      Shadow shadow;
      (void)index_add(x, 0, at, source);
      (void)index_add(x.t(), 1, at, source.t());
      if (is_floating_point(t)) (void)embedding_backward(source, at, rows);
      if (HasFailure()) return;
    }
  }
  // Wider than a block, and all to one row.
  const Tensor source = tensor_in(Layout::dense, {100, 600}, DType::f16, rng);
  Shadow shadow;
  (void)embedding_backward(source, zeros({100}, dtype(DType::i64)), 2);
  (void)embedding_backward(source.view({4, 25, 600}), indices({4, 25}, 6, rng, true), 6);
}

TEST(ShadowIndexing, SumsOfElements) {
  Rng rng(23);
  NoGradGuard guard;
  int turn = 0;
  for (const i64 count : kCounts) {
    for (const DType t : kAllDTypes) {
      if (left_out(t, count)) continue;
      const Layout layout = kLayouts[turn++ % 5];
      const Tensor x = tensor_in(layout, {3, 9, 2}, t, rng);
      const Tensor source = tensor_in(layout, {2, count, 2}, t, rng);
      Shadow shadow;
      (void)scatter_add(x, 1, indices({2, count, 2}, 9, rng, turn % 3 == 0), source);
      (void)scatter_add(permute(x, {1, 0, 2}), 0, indices({count, 2, 2}, 9, rng),
                        permute(source, {1, 0, 2}));
      // One index for all lanes.
      (void)scatter_add(x, 1, indices({1, count, 1}, 9, rng).expand({2, count, 2}), source);
      if (HasFailure()) return;
    }
  }
  Shadow shadow;
  (void)scatter_add(scalar_tensor(1.5), 0, zeros({}, dtype(DType::i64)), scalar_tensor(2.0));
}

TEST(ShadowIndexing, Writes) {
  Rng rng(24);
  NoGradGuard guard;
  int turn = 0;
  for (const i64 count : kCounts) {
    for (const DType t : kAllDTypes) {
      if (left_out(t, count)) continue;
      const Layout layout = kLayouts[turn++ % 4];  // what is written does not overlap itself
      const Tensor x = tensor_in(layout, {6, 7, 3}, t, rng);
      const Tensor two[] = {signed_indices({count}, 6, rng), signed_indices({count}, 7, rng)};
      const Tensor split[] = {signed_indices({2, count, 2}, 7, rng, turn % 2 == 0)};
      const Tensor values = tensor_in(kLayouts[turn % 5], {count, 3}, t, rng);
      const Tensor one = tensor_in(Layout::dense, {1, 1}, t, rng);
      const Tensor parted = tensor_in(Layout::permuted, {6, 2, count, 2, 1}, t, rng);
      Shadow shadow;
      for (const bool add : {false, true}) {
        (void)index_put(x, {0, 1}, two, values, add);
        (void)index_put(x, {0, 1}, two, one, add);
        (void)index_put(x, {1}, split, parted, add);
      }
      if (HasFailure()) return;
    }
  }
}

TEST(ShadowIndexing, WritesFromAndThroughItself) {
  Rng rng(25);
  NoGradGuard guard;
  Tensor x = from_vector(std::vector<i64>{3, 1, 2, 0, 4, 1}, {6});
  Tensor y = tensor_in(Layout::dense, {6, 6}, DType::f32, rng);
  Shadow shadow;
  x.index_put_({x}, arange(6, dtype(DType::i64)));
  y.index_put_({from_vector(std::vector<i64>{1, 2, 3, 4, 5, 0}, {6})}, y.t());
}

TEST(ShadowIndexing, MoreTilesThanAScanHoldsAtOnce) {
  Rng rng(26);
  NoGradGuard guard;
  const i64 n = 530000, rows = 70000;
  const Tensor x = tensor_in(Layout::dense, {rows}, DType::f32, rng);
  const Tensor source = tensor_in(Layout::dense, {n}, DType::f32, rng);
  Shadow shadow;
  (void)index_add(x, 0, indices({n}, rows, rng), source);
}

// Kernels on host memory, with results that were garbage.
Tensor run(const char* op, const std::vector<Tensor>& in, Attrs attrs, const Tensor& out) {
  std::vector<BufferView> views;
  for (const Tensor& t : in) views.push_back({t.get().data(), &t.meta()});
  const BufferView result{out.get().data(), &out.meta()};
  const OpInfo& info = *find_op(op);
  isa_emulated::cuda_kernel(info)(
      {info, views.data(), static_cast<int>(views.size()), &result, 1, attrs, {}});
  return out;
}

std::string fault() {
  try {
    cuda::check_fault(0);
  } catch (const IndexError& e) {
    return e.what();
  }
  return "";
}

std::vector<double> values(const Tensor& t) { return t.to(DType::f64).to_vector<double>(); }

TEST(EmulatedFaults, ReadsGiveZeroAndAnError) {
  cuda::set_fault_line(Loc::here("net.cpp", 9));
  const Tensor x = arange(1, 6, 1, dtype(DType::f32));
  const Tensor at = from_vector(std::vector<i64>{4, 5, 3, 7, 0}, {5});
  EXPECT_EQ(values(run("index_select", {x, at}, {}, full({5}, 9.0))),
            (std::vector<double>{5, 0, 4, 0, 1}));
  EXPECT_EQ(fault(), "index_select: index 5 is out of range for dim 0 of size 5; at net.cpp:9");
  EXPECT_EQ(fault(), "");
  (void)run("embedding", {x.view({5, 1}), slice(at, 0, 3, 4)}, {}, full({1, 1}, 9.0));
  EXPECT_EQ(fault(), "embedding: index 7 is out of range for 5 rows; at net.cpp:9");
  (void)run("gather", {x, slice(at, 0, 2, 3)}, {}, full({1}, 9.0));
  EXPECT_EQ(fault(), "");
}

TEST(EmulatedFaults, NegativeIndicesCountFromTheEndOnlyInIndexAndIndexPut) {
  cuda::set_fault_line(Loc::here("net.cpp", 9));
  const Tensor x = arange(1, 6, 1, dtype(DType::f32)), rows = x.view({5, 1});
  const Tensor at = from_vector(std::vector<i64>{0, -1}, {2});
  const auto refused = [](const std::string& op, const std::string& of) {
    return op + ": index -1 is out of range for " + of +
           " and does not count from the end; at net.cpp:9";
  };
  EXPECT_EQ(values(run("index_select", {x, at}, {}, full({2}, 9.0))), (std::vector<double>{1, 0}));
  EXPECT_EQ(fault(), refused("index_select", "dim 0 of size 5"));
  EXPECT_EQ(values(run("gather", {x, at}, {}, full({2}, 9.0))), (std::vector<double>{1, 0}));
  EXPECT_EQ(fault(), refused("gather", "dim 0 of size 5"));
  EXPECT_EQ(values(run("embedding", {rows, at}, {}, full({2, 1}, 9.0))),
            (std::vector<double>{1, 0}));
  EXPECT_EQ(fault(), refused("embedding", "5 rows"));
  const Tensor classes = arange(5, dtype(DType::i64)).view({5, 1});
  (void)run("one_hot", {classes, at}, {}, zeros({2, 1}, dtype(DType::i64)));
  EXPECT_EQ(fault(), refused("one_hot", "5 classes"));
  for (const char* op : {"index_add", "scatter_add"}) {
    const Tensor sum = run(op, {zeros({5}), at, ones({2})}, {}, full({5}, 9.0));
    EXPECT_EQ(values(sum), (std::vector<double>{1, 0, 0, 0, 0})) << op;
    EXPECT_EQ(fault(), refused(op, "dim 0 of size 5"));
  }
  (void)run("embedding_dense_backward", {ones({2, 1}), at}, {}, full({5, 1}, 9.0));
  EXPECT_EQ(fault(), refused("embedding_dense_backward", "5 rows"));

  Attrs first;
  first.dims = {0};
  EXPECT_EQ(values(run("index", {x, at}, first, full({2}, 9.0))), (std::vector<double>{1, 5}));
  const Tensor y = zeros({5});
  (void)run("index_put_", {y, ones({2}), at}, first, y);
  EXPECT_EQ(values(y), (std::vector<double>{1, 0, 0, 0, 1}));
  EXPECT_EQ(fault(), "");
}

// No thread runs over a row without elements: its index is looked at all the same.
TEST(EmulatedFaults, IndicesOfEmptyRowsAreFound) {
  cuda::set_fault_line(Loc::here("net.cpp", 9));
  const Tensor rows = zeros({3, 0}), nothing = zeros({0});
  const Tensor good = from_vector(std::vector<i64>{2, 0}, {2});
  const Tensor bad = from_vector(std::vector<i64>{0, 3}, {2});
  Attrs first;
  first.dims = {0};
  const auto expect_checked = [&](const char* op, const Tensor& x, auto f, const Attrs& attrs) {
    (void)run(op, f(good), attrs, x);
    EXPECT_EQ(fault(), "") << op;
    (void)run(op, f(bad), attrs, x);
    const std::string text = fault();
    EXPECT_TRUE(text.starts_with(std::string(op) + ": index 3 is out of range for ")) << text;
    EXPECT_TRUE(text.ends_with("; at net.cpp:9")) << text;
  };
  using Operands = std::vector<Tensor>;
  const Tensor out = zeros({2, 0});
  expect_checked("index_select", out, [&](const Tensor& i) { return Operands{rows, i}; }, {});
  expect_checked("embedding", out, [&](const Tensor& i) { return Operands{rows, i}; }, {});
  expect_checked(
      "index", out,
      [&](const Tensor& i) {
        return Operands{rows, i};
      },
      first);
  expect_checked("index_add", zeros({3, 0}),
                 [&](const Tensor& i) {
                   return Operands{rows, i, out};
                 },
                 {});
  expect_checked("embedding_dense_backward", zeros({3, 0}),
                 [&](const Tensor& i) {
                   return Operands{out, i};
                 },
                 {});
  expect_checked(
      "index_put_", rows,
      [&](const Tensor& i) {
        return Operands{rows, out, i};
      },
      first);
  // The tensor itself has no elements.
  (void)run("scatter_add", {nothing, bad, zeros({2})}, {}, zeros({0}));
  EXPECT_EQ(fault(), "scatter_add: index 0 is out of range for dim 0 of size 0; at net.cpp:9");
  // A strided index, and one without dims.
  const Tensor every = from_vector(std::vector<i64>{0, 9, 3, 9}, {4});
  (void)run("index_select", {rows, slice(every, 0, 0, 4, 2)}, {}, out);
  EXPECT_EQ(fault(), "index_select: index 3 is out of range for dim 0 of size 3; at net.cpp:9");
  (void)run("index_select", {rows, select(bad, 0, 1)}, {}, zeros({1, 0}));
  EXPECT_NE(fault(), "");
}

TEST(EmulatedFaults, WritesLeaveOutWhatDoesNotExist) {
  for (const i64 count : {5, 200, 4000}) {
    // Position 1 is bad, and so is 3 by its second index.
    std::vector<i64> first(static_cast<std::size_t>(count), 0), second(first);
    first[1] = 3;
    second[3] = -3;
    const Dims shape = {count};
    Attrs attrs;
    attrs.dims = {0, 1};
    attrs.a = 1;
    const Tensor x = zeros({3, 2});
    (void)run("index_put_", {x, ones(shape), from_vector(first, shape), from_vector(second, shape)},
              attrs, x);
    EXPECT_EQ(values(x), (std::vector<double>{static_cast<double>(count - 2), 0, 0, 0, 0, 0}));
    const std::string text = fault();
    EXPECT_TRUE(text.starts_with("index_put_: index 3 is out of range for dim 0 of size 3") ||
                text.starts_with("index_put_: index -3 is out of range for dim 1 of size 2"))
        << text;
    const Tensor sum = run("embedding_dense_backward",
                           {ones({count, 1}), from_vector(first, shape)}, {}, full({2, 1}, 9.0));
    EXPECT_EQ(values(sum), (std::vector<double>{static_cast<double>(count - 1), 0}));
    EXPECT_TRUE(
        fault().starts_with("embedding_dense_backward: index 3 is out of range for 2 rows"));
    const Tensor place = run("scatter_add", {zeros({2}), from_vector(first, shape), ones(shape)},
                             {}, full({2}, 9.0));
    EXPECT_EQ(values(place), (std::vector<double>{static_cast<double>(count - 1), 0}));
    EXPECT_NE(fault(), "");
  }
}

}  // namespace
}  // namespace ingot
