// Gradients through every method that writes its tensor: against differences, and compiled with
// eager's bits. The written value may be one that the gradient reads.
#include <fstream>
#include <functional>
#include <regex>
#include <set>

#include <ingot/runtime/gradcheck.h>
#include <ingot/runtime/ops.h>

#include "support/eager_and_compiled.h"

namespace ingot {
namespace {

using namespace testing_support;
using Tensors = std::vector<Tensor>;

struct Write {
  const char* name;
  // Writes y, which has the history of an op; a and b have y's sizes.
  std::function<void(Tensor& y, const Tensor& a, const Tensor& b)> f;
};

#define INGOT_WRITE(name, ...)                                            \
  {                                                                       \
#name, [](Tensor & y, const Tensor& a,                                \
              const Tensor& b) { (void)a, (void)b, (void)(__VA_ARGS__); } \
  }

// Operands lie in [0.5, 1.5): each op is smooth there, given the numbers it gets here.
const Write kWrites[] = {
    INGOT_WRITE(neg_, y.neg_()),
    INGOT_WRITE(abs_, y.sub_(1.7).abs_()),
    INGOT_WRITE(exp_, y.exp_()),
    INGOT_WRITE(log_, y.log_()),
    INGOT_WRITE(sqrt_, y.sqrt_()),
    INGOT_WRITE(rsqrt_, y.rsqrt_()),
    INGOT_WRITE(square_, y.square_()),
    INGOT_WRITE(reciprocal_, y.reciprocal_()),
    INGOT_WRITE(tanh_, y.tanh_()),
    INGOT_WRITE(sigmoid_, y.sigmoid_()),
    INGOT_WRITE(relu_, y.sub_(10).neg_().relu_()),
    INGOT_WRITE(floor_, y.floor_().add_(a)),
    INGOT_WRITE(ceil_, y.ceil_().add_(a)),
    INGOT_WRITE(round_, y.mul_(0.1).round_().add_(a)),
    INGOT_WRITE(add_, y.add_(a)),
    INGOT_WRITE(sub_, y.sub_(a)),
    INGOT_WRITE(mul_, y.mul_(a)),
    INGOT_WRITE(div_, y.div_(a)),
    INGOT_WRITE(pow_, y.pow_(a)),
    INGOT_WRITE(clamp_, y.clamp_(0.01, 100)),
    INGOT_WRITE(lerp_, y.lerp_(a, b)),
    INGOT_WRITE(addcmul_, y.addcmul_(a, b, 0.5)),
    INGOT_WRITE(addcdiv_, y.addcdiv_(a, b, 0.5)),
    INGOT_WRITE(copy_, y.copy_(a)),
    INGOT_WRITE(fill_, y.fill_(2).add_(a)),
    INGOT_WRITE(zero_, y.zero_().add_(a)),
    INGOT_WRITE(uniform_, (manual_seed(3), y.uniform_().mul_(a))),
    INGOT_WRITE(normal_, (manual_seed(3), y.normal_().mul_(a))),
    INGOT_WRITE(index_put_, y.index_put_({Index(arange(2))}, a[{Slice(1, 3)}])),
};
// More ways to write with the same methods.
const Write kForms[] = {
    INGOT_WRITE(clamp_ from below, y.clamp_(0.01)),
    INGOT_WRITE(clamp_ from above, y.clamp_({}, 100)),
    INGOT_WRITE(clamp_ to a constant, y.clamp_(5, 6).add_(a)),
    INGOT_WRITE(mul_ by a number, y.mul_(3)),
    INGOT_WRITE(mul_ by itself, y.mul_(y)),
    INGOT_WRITE(div_ by itself, y.div_(y).add_(a)),
    INGOT_WRITE(pow_ of itself, y.pow_(y)),
    INGOT_WRITE(pow_ of a number, y.pow_(3)),
    INGOT_WRITE(mul_ by a part of itself, y.mul_(y[1])),
    INGOT_WRITE(mul_ by itself transposed, y[{All, Slice(0, 3)}].mul_(y[{All, Slice(0, 3)}].t())),
    INGOT_WRITE(lerp_ with itself, y.lerp_(a, y)),
    INGOT_WRITE(addcmul_ of itself, y.addcmul_(y, y)),
    INGOT_WRITE(into a row, y[1].mul_(a[0])),
    INGOT_WRITE(into a column, y.select(1, 2).mul_(b.select(1, 0)).square_()),
    INGOT_WRITE(through two views, y[1].reshape({2, 2})[0].mul_(a[{0, Slice(0, 2)}])),
    INGOT_WRITE(accumulated, y.index_put_({Index(arange(2))}, a[{Slice(1, 3)}], true)),
    INGOT_WRITE(the same buffer again and again, y.mul_(a).mul_(b).mul_(a).square_().div_(b)),
};
#undef INGOT_WRITE

Tensor positive(std::uint64_t seed) { return noise({3, 4}, seed, kDouble) * 0.25 + 1.0; }

// Two results: of the written tensor, and of what was made from it before the write.
Tensor written(const Write& w, const Tensors& x) {
  Tensor y = x[0] * 1.25;
  Tensor before = y + 1;
  w.f(y, x[1], x[2]);
  return y * 0.5 + before;
}

void check(const Write& w) {
  SCOPED_TRACE(w.name);
  const Tensors x{positive(1).requires_grad_(), positive(2).requires_grad_(),
                  positive(3).requires_grad_()};
  try {
    const GradcheckResult result =
        gradcheck([&](const Tensors& in) { return written(w, in); }, x, {});
    EXPECT_TRUE(result) << result.text;
  } catch (const std::exception& e) {
    ADD_FAILURE() << e.what();
    return;
  }
  struct World {
    const Write* w;
    Tensors operator()(int call) {
      const auto seed = static_cast<std::uint64_t>(call);
      Tensors in{positive(seed).requires_grad_(), positive(seed + 9).requires_grad_(),
                 positive(seed + 20).requires_grad_()};
      Tensor y = written(*w, in);
      y.sum().backward();
      return {y.detach(), in[0].grad(), in[1].grad(), in[2].grad()};
    }
  };
  const Ledger ledger = same_as_eager([&] { return World{&w}; }, 4);
  EXPECT_EQ(ledger.hits, 3) << ledger.table();
}

TEST(WritesInPlace, GradientsOfEveryMethod) {
  for (const Write& w : kWrites) check(w);
}

TEST(WritesInPlace, GradientsOfOtherForms) {
  for (const Write& w : kForms) check(w);
}

TEST(WritesInPlace, NoMethodIsWithoutACase) {
  std::ifstream file(INGOT_SOURCE_DIR "/runtime/tensor.h");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  std::set<std::string> tested{"requires_grad_"};  // writes no element
  for (const Write& w : kWrites) tested.insert(w.name);
  const std::regex method(R"(Tensor& (\w+_)\()");
  int found = 0;
  for (std::sregex_iterator i(text.begin(), text.end(), method), end; i != end; ++i, ++found) {
    EXPECT_EQ(tested.count((*i)[1].str()), 1u) << (*i)[1];
  }
  EXPECT_GT(found, 25);
}

// The written tensor has no history of its own; the other operand's gradient reads its old value.
TEST(WritesInPlace, ABufferWithoutHistory) {
  Tensor w = tensor({3, 4}, kDouble).requires_grad_();
  Tensor y = tensor({1, 2}, kDouble);
  y.mul_(w);
  y.sum().backward();
  EXPECT_TRUE(has_values(w.grad(), {1, 2}));
}

// A value that the gradient reads is copied only where a gradient is asked for.
TEST(WritesInPlace, NothingIsKeptWithoutGradients) {
  struct World {
    Tensors operator()(int call) {
      Tensor y = noise({3}, static_cast<std::uint64_t>(call), kDouble);
      y.mul_(noise({3}, 5, kDouble)).clamp_(-1, 1).square_();
      return {y};
    }
  };
  const Ledger ledger = same_as_eager([] { return World(); });
  EXPECT_EQ(ledger.launches_eager, 3) << ledger.table();
}

// What is overwritten after the op that reads it stays an error.
TEST(WritesInPlace, ALaterWriteToASavedValueIsAnError) {
  Tensor x = tensor({1, 2}, kDouble).requires_grad_();
  Tensor y = x * 1;
  y.tanh_();
  y.add_(1);
  EXPECT_TRUE(contains(error_of([&] { y.sum().backward(); }), "tanh"));
}

}  // namespace
}  // namespace ingot
