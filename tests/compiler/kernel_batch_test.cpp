// The kernels of many plans, compiled together.
#include <vector>

#include <gtest/gtest.h>

#include <ingot/compiler/kernel_batch.h>
#include <ingot/ingot.h>

namespace ingot {
namespace {

// The i-th of some functions whose kernels differ, called twice.
Ledger run(int i, bool* right) {
  const auto f = compile(
      [i](const Tensor& x) {
        Tensor y = tanh(x) * 0.5;
        for (int k = 0; k < i; ++k) y = sigmoid(y) + x;
        return y;
      },
      {.disable = {"disk_cache"}});
  const Tensor x = rand({3, 50});
  const Tensor first = f(x), second = f(x);
  *right = equal(first, second);  // eager's, and the plan's
  return f.ledger();
}

TEST(KernelBatch, PlansFindWhatWasCompiledTogether) {
  constexpr int kFunctions = 6;
  bool right = false;
  {
    compiler::KernelBatch batch;
    EXPECT_EQ(compiler::KernelBatch::current(), &batch);
    for (int i = 0; i < kFunctions; ++i) {
      const Ledger ledger = run(i, &right);
      EXPECT_TRUE(right) << i;
      EXPECT_EQ(ledger.compiles + ledger.memory_hits, 0) << i;
      EXPECT_EQ(ledger.fused.size(), 1u);
    }
    EXPECT_EQ(batch.compile(), static_cast<std::size_t>(kFunctions));
    EXPECT_EQ(batch.compile(), 0u) << "it was forgotten";
  }
  EXPECT_EQ(compiler::KernelBatch::current(), nullptr);
  i64 found = 0;
  for (int i = 0; i < kFunctions; ++i) {
    const Ledger ledger = run(i, &right);
    EXPECT_TRUE(right) << i;
    EXPECT_EQ(ledger.compiles, 0) << i;
    found += ledger.memory_hits;
  }
  EXPECT_EQ(found, kFunctions);
}

}  // namespace
}  // namespace ingot
