// Memory that runs out half-way through a step: all that was held comes back, and the next step is
// right.
#include <ingot/runtime/allocator.h>
#include <ingot/runtime/autograd.h>

#include "cases/both_modes.h"

namespace ingot {
namespace {

using namespace testing_support;
using Tensors = std::vector<Tensor>;

constexpr i64 kBytes = 4 << 20, kElements = kBytes / 4;

struct Weights {
  Tensors all;
  Weights() {
    for (int i = 0; i < 6; ++i) all.push_back(full({kElements}, 0.5 + 0.25 * i).requires_grad_());
  }
  void drop_gradients() {
    for (Tensor& w : all) w.mutable_grad() = Tensor();
  }
};

// Keeps a result of every op.
Tensor deep(const Weights& weights) {
  Tensor y = weights.all[0];
  for (const Tensor& w : weights.all) y = tanh(y * w);
  return y.sum();
}

// Needs one temporary forward, and backward a gradient for each weight.
Tensor wide(const Weights& weights) {
  Tensor loss = zeros({});
  for (const Tensor& w : weights.all) loss = loss + (w * w).sum();
  return loss;
}

Tensor small_step(const Tensor& values) {
  Tensor x = values.clone().requires_grad_();
  (x * x).sum().backward();
  return x.grad();
}

// 50 steps that fail with this much room, each followed by one that fits. known: how many went well
// before, so that a compiled step fails while it is recorded or in a replay.
template <class Step>
void expect_recovery(Step step, i64 room, int known = 0) {
  Weights weights;
  auto fitting = compile(small_step, verified());
  const Tensor x = tensor({1, 2, 3});
  for (int call = 0; call < 3; ++call) (void)fitting(x);
  for (int call = 0; call < known; ++call) {
    step(weights);
    weights.drop_gradients();
  }
  // What a first failure makes once, a recorded path, say, is there before live bytes are compared.
  i64 live = -1;
  for (int i = 0; i < 50; ++i) {
    SCOPED_TRACE(i);
    empty_cache();
    set_memory_limit(memory_stats().reserved + room);
    EXPECT_THROW(step(weights), OutOfMemoryError);
    weights.drop_gradients();
    EXPECT_TRUE(has_values(small_step(x), {2, 4, 6}));
    EXPECT_TRUE(has_values(fitting(x), {2, 4, 6}));
    set_memory_limit(0);
    const i64 now = memory_stats().allocated;
    if (i < 2) continue;
    if (i == 2) live = now;
    ASSERT_EQ(now, live);
  }
  // The same step with room is right.
  EXPECT_EQ(error_of([&] { step(weights); }), "");
  for (const Tensor& w : weights.all) EXPECT_TRUE(w.grad().defined());
}

// The step itself, compiled afresh, and compiled and known.
template <class Loss>
void expect_recovery_in_both_modes(Loss loss_of, i64 room) {
  auto step = [&](const Weights& weights) {
    Tensor loss = loss_of(weights);
    loss.backward();
    return loss;
  };
  {
    SCOPED_TRACE("eager");
    expect_recovery([&](const Weights& w) { (void)step(w); }, room);
  }
  for (const int known : {0, 3}) {
    SCOPED_TRACE("compiled, known " + std::to_string(known));
    auto compiled = compile(step, interpreted());
    expect_recovery([&](const Weights& w) { (void)compiled(w); }, room, known);
  }
}

TEST(MemoryCases, Me05OutOfMemoryInTheForwardPass) {
  expect_recovery_in_both_modes(deep, 5 * kBytes);
}

TEST(MemoryCases, Me05OutOfMemoryInTheBackwardPass) {
  const i64 room = 4 * kBytes + kBytes / 2;
  const Weights weights;
  empty_cache();
  set_memory_limit(memory_stats().reserved + room);
  EXPECT_EQ(error_of([&] { (void)wide(weights); }), "") << "it is backward() that fails";
  set_memory_limit(0);
  expect_recovery_in_both_modes(wide, room);
}

}  // namespace
}  // namespace ingot
