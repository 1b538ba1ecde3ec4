// Arguments that make no sense: each is one sentence that names the op and the caller's
// line, and nothing is written.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include <ingot/kernels/cuda/fault.h>
#include <ingot/runtime/arguments.h>
#include <ingot/runtime/generator.h>

#include "support/tensor_checks.h"

namespace ingot {
namespace {

using namespace testing_support;

struct Refusal {
  std::string what;  // the sentence holds this
  std::function<void()> call;
};

void expect_refused(const std::vector<Refusal>& refusals) {
  for (const Refusal& r : refusals) {
    std::string text;
    try {
      r.call();
    } catch (const Error& e) {
      text = e.what();
    }
    EXPECT_TRUE(contains(text, r.what)) << "wanted: " << r.what << "\ngot: " << text;
    EXPECT_TRUE(contains(text, "; at arguments_test.cpp:")) << text;
  }
}

TEST(Arguments, AnUndefinedOperandIsRefused) {
  const Tensor none, x = ones({2, 2}), i = zeros({1}, kInt64);
  Tensor y = ones({2, 2}), written;
  expect_refused({
      {"matmul: operand 0 is an undefined Tensor", [&] { (void)matmul(none, x); }},
      {"matmul: operand 1 is an undefined Tensor", [&] { (void)matmul(x, none); }},
      {"linear: operand 1", [&] { (void)linear(x, none); }},
      {"addmm: operand 0", [&] { (void)addmm(none, x, x); }},
      {"embedding: operand 0", [&] { (void)embedding(none, i); }},
      {"clone: operand 0", [&] { (void)none.clone(); }},
      {"copy_: operand 1", [&] { (void)y.copy_(none); }},
      {"zero_: operand 0", [&] { (void)written.zero_(); }},
      {"dropout: operand 0", [&] { (void)dropout(none); }},
      {"relu: an undefined Tensor", [&] { (void)relu(none); }},
      {"add: an undefined Tensor", [&] { (void)(x + none); }},
      {"mul: an undefined Tensor", [&] { (void)(2.0 * none); }},
      {"sum: an undefined Tensor", [&] { (void)sum(none); }},
      {"reshape: an undefined Tensor", [&] { (void)reshape(none, {1}); }},
      {"select: an undefined Tensor", [&] { (void)select(none, 0, 0); }},
      {"where: an undefined Tensor", [&] { (void)where(x > 0, none, 1); }},
      {"cat: an undefined Tensor",
       [&] {
         (void)cat({x, none});
       }},
      {"zeros_like: an undefined Tensor", [&] { (void)zeros_like(none); }},
      {"rand_like: an undefined Tensor", [&] { (void)rand_like(none); }},
      {"randn_like: an undefined Tensor", [&] { (void)randn_like(none); }},
      {"rand_like: needs a floating dtype, got i64", [&] { (void)rand_like(arange(3)); }},
      {"to: an undefined Tensor", [&] { (void)none.to(kFloat64); }},
      {"item: an undefined Tensor", [&] { (void)none.item<float>(); }},
      {"equal: an undefined Tensor", [&] { (void)equal(x, none); }},
      {"backward: an undefined Tensor", [&] { none.backward(); }},
      {"index_select: operand 1 is an undefined Tensor", [&] { (void)index_select(x, 0, none); }},
  });
  EXPECT_TRUE(has_values(y.sum(), {4}));
}

// Products of sizes wrap: a shape whose product comes out right need not be one.
TEST(Arguments, ShapesThatNoTensorHasAreRefused) {
  constexpr i64 kMost = std::numeric_limits<i64>::max(), kHalf = i64{1} << 32;
  const Tensor x = arange(4.0), one = ones({1});
  const std::vector<float> six(6), nothing;
  float bytes[6] = {};
  expect_refused({
      {"from_vector: negative size",
       [&] {
         (void)from_vector(six, {-2, -3});
       }},
      {"more elements than can be counted",
       [&] {
         (void)from_vector(nothing, {kHalf, kHalf});
       }},
      {"from_blob: the address is no multiple of 4 bytes, the size of f32",
       [&] { (void)from_blob(reinterpret_cast<char*>(bytes) + 1, {1}); }},
      {"from_blob: negative size",
       [&] {
         (void)from_blob(bytes, {-2, -3});
       }},
      {"more elements than can be counted",
       [&] {
         (void)from_blob(bytes, {kMost, 4});
       }},
      {"view: shape [4611686018427387905, 4]",
       [&] {
         (void)view(x, {kMost / 2 + 2, 4});
       }},
      {"view: negative size",
       [&] {
         (void)view(x, {-2, -2});
       }},
      {"more elements than can be counted",
       [&] {
         (void)reshape(x, {kMost / 2 + 1, -1, 4});
       }},
      {"expand: negative size", [&] { (void)expand(one.squeeze(), {-3}); }},
      {"more elements than can be counted",
       [&] {
         (void)expand(one, {kMost, kMost});
       }},
      {"narrow: ", [&] { (void)narrow(x, 0, 1, kMost); }},
      {"arange: from 0 to inf by 1 is more", [&] { (void)arange(0, INFINITY); }},
      {"arange: from 0 to 1e+30 by 1 is more", [&] { (void)arange(0, 1e30); }},
      {"is more than can be counted", [&] { (void)arange(-kMost, kMost); }},
      {"arange: bounds 0 and 10 do not fit", [&] { (void)arange(0, 10, -1); }},
  });
  EXPECT_TRUE(has_values(slice(x, 0, 1, {}, kMost), {1}));
  EXPECT_TRUE(has_values(arange(0, kMost, kMost), {0}));
  EXPECT_TRUE(has_values(arange(kMost - 2, kMost).sub(kMost - 2), {0, 1}));
  EXPECT_TRUE(has_values(arange(-kMost, kMost, kMost).add(kMost), {0, -1 + kMost * 1.0}));
}

TEST(Arguments, AMaskMustFitTheAxesThatItSpans) {
  Tensor x = arange(12.0).reshape({3, 4});
  expect_refused({
      {"index: a mask of size 2 does not fit dim 0 of f32[3, 4]",
       [&] { (void)x.index({ones({2}, kBool)}); }},
      {"index: a mask of size 5 does not fit dim 0", [&] { (void)x.index({zeros({5}, kBool)}); }},
      {"index: a mask of size 3 does not fit dim 1",
       [&] {
         (void)x.index({zeros({3, 3}, kBool)});
       }},
      {"index: a mask of size 3 does not fit dim 1",
       [&] {
         (void)x.index({All, zeros({3}, kBool)});
       }},
      {"index_put_: a mask of size 2 does not fit", [&] { x.index_put_({ones({2}, kBool)}, 9); }},
      {"index: a 0-d mask", [&] { (void)x.index({ones({}, kBool)}); }},
      {"more than one Ellipsis",
       [&] {
         (void)x.index({Ellipsis, Ellipsis, 0});
       }},
      {"masked_select: the mask must be bool", [&] { (void)masked_select(x, ones({4})); }},
      {"masked_select: shapes [3, 4] and [5]", [&] { (void)masked_select(x, ones({5}, kBool)); }},
  });
  EXPECT_TRUE(has_values(x.sum(), {66}));
  EXPECT_TRUE(has_values(x.index({Ellipsis, tensor({0, 1, 0, 1}, kBool)}), {1, 3, 5, 7, 9, 11}));
  EXPECT_TRUE(has_values(x.index({1, tensor({0, 1, 0, 1}, kBool)}), {5, 7}));
}

TEST(Arguments, IndicesOfOtherShapesAreRefused) {
  const Tensor x = zeros({3, 4}), v = zeros({4}), pair = zeros({1, 2}, kInt64);
  expect_refused({
      {"scatter_add: index i64[5, 1] is larger than f32[3, 4] in dim 0",
       [&] {
         (void)scatter_add(x, 1, zeros({5, 1}, kInt64), ones({5, 1}));
       }},
      {"scatter_add: index i64[2, 5] is larger than f32[3, 4] in dim 1",
       [&] {
         (void)scatter_add(x, 0, zeros({2, 5}, kInt64), ones({2, 5}));
       }},
      {"index_add: the index must be 1-d", [&] { (void)index_add(v, 0, pair, ones({2})); }},
      {"one_hot: the class numbers must be integers", [&] { (void)one_hot(v, 3); }},
      {"flip: dim -1 appears twice",
       [&] {
         (void)flip(v, {0, -1});
       }},
      {"index_select: dim 2 is out of range",
       [&] { (void)index_select(x, 2, zeros({1}, kInt64)); }},
      {"index: shapes [2] and [3] do not broadcast",
       [&] {
         (void)x.index({zeros({2}, kInt64), zeros({3}, kInt64)});
       }},
      {"sum: dim 2 is out of range", [&] { (void)sum(x, {2}); }},
      {"softmax: dim 2 is out of range", [&] { (void)softmax(x, 2); }},
      {"cat: dim 2 is out of range",
       [&] {
         (void)cat({x, x}, 2);
       }},
      {"stack: no tensors given", [&] { (void)stack({}); }},
      {"allclose: shapes", [&] { (void)allclose(x, zeros({5})); }},
      {"gelu: approximate must be", [&] { (void)gelu(x, "exact"); }},
      {"randint: [0, 100000) does not fit f16", [&] { (void)randint(0, 100000, {2}, kFloat16); }},
      {"cross_entropy: logits f32[3, 4] need targets i64[3], got i64[1, 2]",
       [&] { (void)cross_entropy(x, pair); }},
      {"randperm: -1 is negative", [&] { (void)randperm(-1); }},
  });
  Tensor grown = scatter_add(x, 1, zeros({2, 9}, kInt64), ones({2, 9}));  // longer along the axis
  EXPECT_TRUE(has_values(grown.sum({1}), {9, 9, 0}));
}

// A kernel of an earlier op has found an index out of range: the error is that op's.
TEST(Arguments, AFaultIsOfTheOpThatLeftIt) {
  cuda::set_fault_line(Loc::here("net.cpp", 14));
  const FaultSite site = cuda::fault_site("embedding", 0, "rows");
  for (int turn = 0; turn < 2; ++turn) {
    *site.record = {FaultRecord::filled, 0, 14, -1, 5, site.op, site.unit, site.file};
    const auto read = [] { cuda::check_fault(0); };
    const std::string text = error_of(
        [&] { return turn == 0 ? as_op("cpu", read) : with_line("cpu", Loc::here(), read); });
    EXPECT_EQ(text,
              "embedding: index -1 is out of range for 5 rows and does not count from the end; at "
              "net.cpp:14");
  }
}

TEST(Arguments, RandpermIsAPermutationOfTheGenerators) {
  manual_seed(5);
  Tensor a = randperm(100), b = randperm(100), f = randperm(3, kFloat32), none = randperm(0);
  EXPECT_EQ(a.dtype(), DType::i64);
  EXPECT_EQ(f.dtype(), DType::f32);
  EXPECT_EQ(none.numel(), 0);
  EXPECT_FALSE(equal(a, b));
  std::vector<i64> order = a.to_vector<i64>();
  std::sort(order.begin(), order.end());
  for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], static_cast<i64>(i));
  manual_seed(5);
  EXPECT_TRUE(equal(a, randperm(100)));
}

// The numbers of rand and randn, for the sizes, dtype and device of a tensor.
TEST(Arguments, RandomLikeATensor) {
  const Tensor x = zeros({3, 4}, kFloat64).t();
  manual_seed(5);
  Tensor a = rand_like(x), b = randn_like(x, kFloat32);
  EXPECT_EQ(b.dtype(), DType::f32);
  manual_seed(5);
  EXPECT_TRUE(equal(a, rand({4, 3}, kFloat64)));
  EXPECT_TRUE(equal(b, randn({4, 3})));
  EXPECT_TRUE(rand_like(x, TensorOptions().requires_grad()).requires_grad());
}

}  // namespace
}  // namespace ingot
