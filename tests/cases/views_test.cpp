// Strides, aliasing and in-place writes.
#include <ingot/kernels/cpu/threads.h>

#include "cases/both_modes.h"

namespace ingot {
namespace {

using namespace testing_support;
using Tensors = std::vector<Tensor>;

// A transposed read fused with the write of the same storage reads what it has just written.
TEST(Views, Vw02CopyOfItsOwnTranspose) {
  auto f = [](const Tensor& t) {
    Tensor x = t.clone();
    x.copy_(x.transpose(-2, -1) * 1);
    return x;
  };
  EXPECT_TRUE(has_values(in_both_modes(f, iota({3, 3})), {0, 3, 6, 1, 4, 7, 2, 5, 8}));
  for (const Dims& sizes : {Dims{257, 257}, Dims{800, 5, 5}}) {
    Tensor x = noise(sizes);
    EXPECT_TRUE(same_bits(in_both_modes(f, x), x.transpose(-2, -1)));
  }
  // The same on an argument's memory, where nothing was cloned: interpreted and generated.
  for (const CompileOptions& options : {interpreted(), CompileOptions{}}) {
    for (const Dims& sizes : {Dims{3, 3}, Dims{257, 257}, Dims{80000, 5, 5}}) {
      auto on_argument = compile([](Tensor x) { x.copy_(x.transpose(-2, -1) * 1); }, options);
      for (int call = 0; call < 5; ++call) {
        Tensor x = call == 0 ? iota(sizes) : noise(sizes, static_cast<std::uint64_t>(call));
        const Tensor saved = x.clone();
        on_argument(x);
        EXPECT_TRUE(equal(x, saved.transpose(-2, -1))) << to_string(sizes) << ", call " << call;
      }
      EXPECT_EQ(on_argument.ledger().hits, 4);
    }
  }
}

// A reversed copy into the same buffer taken for a safe in-place op.
TEST(Views, Vw03CopyOfItsOwnReverse) {
  auto f = [](const Tensor& t) {
    Tensor x = t.clone();
    x.copy_(x.flip({0}));
    return x;
  };
  EXPECT_TRUE(has_values(in_both_modes(f, tensor({1, 2, 3, 4, 5})), {5, 4, 3, 2, 1}));
  constexpr i64 kLong = 1 << 20;
  Tensor down = arange(kLong, kFloat) * -1 + (kLong - 1);
  EXPECT_TRUE(equal(in_both_modes(f, arange(kLong, kFloat)), down));
}

// A row kernel that takes the row's length for its stride.
TEST(Views, Vw05RowsOfAColumnSlice) {
  Tensor g = tensor({0, 0, 9, 9, 1, 1, 5, 7, 2, 2, 0, 0, 3, 3, 8, 1}).view({4, 4});
  auto on_slice = [&](auto f) {
    return in_both_modes([f](const Tensor& t) { return f(t[{All, Slice(0, 2)}]); }, g);
  };
  Tensor soft = on_slice([](const Tensor& t) { return softmax(t, -1); });
  EXPECT_TRUE(has_values(soft, {0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5}));
  EXPECT_TRUE(has_values(soft.sum(), {4}));
  EXPECT_TRUE(has_values(on_slice([](const Tensor& t) { return t.sum({-1}); }), {0, 2, 4, 6}));
  EXPECT_TRUE(has_values(on_slice([](const Tensor& t) { return t.amax({-1}); }), {0, 1, 2, 3}));
  EXPECT_TRUE(has_values(on_slice([](const Tensor& t) { return t.argmax(-1); }), {0, 0, 0, 0}));
  EXPECT_TRUE(has_values(on_slice([](const Tensor& t) { return layer_norm(t, {2}); }),
                         {0, 0, 0, 0, 0, 0, 0, 0}));
}

// Right values with indices of the memory order, when a transposed operand is part of the group.
TEST(Views, Vw07IndicesBehindATransposedOperand) {
  Tensor m = tensor({0, 3, 1, 5, 2, 4, 1, 9, 0}).view({3, 3});
  Tensor b = tensor({1, 0, 0, 0, 0, 0, 0, 0, 7}).view({3, 3});
  Ledger ledger = same_as_eager([&] {
    return [&](int) {
      auto [values, indices] = max(m.t() + b, 1);
      EXPECT_EQ(values.dim(), 1);
      return Tensors{values, indices};
    };
  });
  EXPECT_EQ(ledger.hits, 3);
  auto [values, indices] = max(m.t() + b, 1);
  EXPECT_TRUE(has_values(values, {5, 9, 7}));
  EXPECT_TRUE(has_values(indices, {1, 2, 2}));
}

// A flat argmax of a transposed view counts in logical order.
TEST(Views, Vw08FlatArgmaxCountsInLogicalOrder) {
  auto f = [](const Tensor& t) {
    Tensor x = t.clone();
    x.add_(1);
    return argmax(x.t());
  };
  EXPECT_TRUE(has_values(in_both_modes(f, tensor({5, 1, 2, 3, 9, 4}).view({2, 3})), {3}));
}

// An unsqueezed permuted tensor that is given contiguous strides reads past its end.
TEST(Views, Vw10UnsqueezeKeepsStrides) {
  Tensor storage = cat({iota({6}), full({64}, kNaN)});
  Tensor x = storage.narrow(0, 0, 6).view({2, 3}).t();
  auto f = [](const Tensor& t, const Tensor& c) { return t.unsqueeze(1) + c; };
  Tensor y = in_both_modes(f, x, tensor({10, 20}).view({2, 1}));
  EXPECT_EQ(y.sizes(), (Dims{3, 2, 2}));
  EXPECT_TRUE(has_values(y, {10, 13, 20, 23, 11, 14, 21, 24, 12, 15, 22, 25}));
}

// Slicing an axis that a view has split keeps the gap between rows.
TEST(Views, Vw11SliceOfASplitAxis) {
  auto f = [](const Tensor& t) { return t.view({2, 2, 4})[{Ellipsis, Slice(0, 2)}] * 1; };
  EXPECT_TRUE(has_values(in_both_modes(f, iota({2, 8})), {0, 1, 4, 5, 8, 9, 12, 13}));
}

// A number in memory is updated by some threads of a kernel while others still read it.
TEST(Views, Vw13AZeroDimUpdateIsSeenWhole) {
  constexpr i64 kMany = 1 << 22;
  Tensor a = arange(kMany, kFloat), b = arange(kMany, kFloat), right = arange(kMany, kFloat) * 3;
  const auto body = [&](Tensor c) {
    c += 1;
    return a + c * b;
  };
  const int threads = num_threads();
  set_num_threads(4);  // the update and the readers may meet only where several threads run
  for (const CompileOptions& options : {interpreted(), CompileOptions{}}) {
    auto f = compile(body, options);
    Tensor c = ones({});
    for (int call = 0; call < 25; ++call) {
      c.fill_(1);  // the same memory in each call
      EXPECT_EQ((f(c) - right).abs().max().item<float>(), 0) << call;
      EXPECT_EQ(c.item<float>(), 2);
    }
    EXPECT_EQ(f.ledger().hits, 24);
  }
  set_num_threads(threads);
}

// Two operands broadcast along different axes share one index.
TEST(Views, Vw14OperandsBroadcastAlongDifferentAxes) {
  Tensor d = tensor({-1, -0.5, 0, 0.5, 1});
  auto f = [](const Tensor& t) {
    Tensor row = square(t.view({1, 5}).expand({5, 5}));
    return row + square(t.view({5, 1}).expand({5, 5}));
  };
  Tensor y = in_both_modes(f, d);
  EXPECT_TRUE(has_values(y[0], {2, 1.25, 1, 1.25, 2}));
  EXPECT_TRUE(has_values(y[1], {1.25, 0.5, 0.25, 0.5, 1.25}));
  EXPECT_TRUE(has_values(y[2], {1, 0.25, 0, 0.25, 1}));
  EXPECT_TRUE(same_bits(y, y.t()));
}

}  // namespace
}  // namespace ingot
