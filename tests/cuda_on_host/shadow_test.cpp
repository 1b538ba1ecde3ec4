// The shadow on programs of its own, and proofs that it finds what it is there for.
#include "cuda_on_host/shadow.h"

#include <iostream>
#include <set>

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <ingot/ingot.h>
#include <ingot/kernels/ops/registry.h>

#include "compiler/fuzz_program.h"
#include "cuda_on_host/emulated.h"
#include "cuda_on_host/probe_kernels.h"
#include "support/tensor_checks.h"

namespace ingot {
namespace {

using namespace testing_support;
using emulation::Shadow;

// Ops without a CUDA kernel. A name leaves this list with its kernel, and none may come back.
const std::set<std::string>& ops_without_kernel() {
  static const std::set<std::string> names = {};
  return names;
}

TEST(Shadow, OpsWithoutAKernelAreListed) {
  for (const OpInfo* op : all_ops()) {
    if (op->kind == OpKind::view) continue;
    const bool listed = ops_without_kernel().count(op->name) != 0;
    const bool present = isa_emulated::cuda_kernel(*op) != nullptr;
    if (present) {
      EXPECT_FALSE(listed) << op->name << " has a kernel: take it off the list";
    } else {
      EXPECT_TRUE(listed) << op->name << " has no kernel for CUDA";
    }
  }
}

Kernel g_wrong = nullptr;
Kernel wrong_kernel(const OpInfo& op) {
  return std::string(op.name) == "add" ? g_wrong : isa_emulated::cuda_kernel(op);
}

template <int place>
void change(const KernelArgs& args) {
  isa_emulated::cuda_kernel(args.op)(args);
  static_cast<char*>(args.out[0].data)[4 * place + 2] ^= 1;
}
void write_operand(const KernelArgs& args) {
  isa_emulated::cuda_kernel(args.op)(args);
  if (args.in[1].data != nullptr) static_cast<float*>(args.in[1].data)[0] += 1;
}
void hang(const KernelArgs&) { isa_emulated::probe_exit_before_barrier(32); }

void add_under_shadow(Kernel kernel) {
  g_wrong = kernel;
  const Tensor x = iota({8}), y = iota({8});
  Tensor whole = iota({16});
  Shadow shadow(&wrong_kernel);
  (void)add(x, y);
  whole[{Slice(4, 8)}].add_(1.0);
}

TEST(Shadow, FindsWhatIsWrong) {
  const Shadow::Tally before = Shadow::tally();
  add_under_shadow(isa_emulated::cuda_kernel(*find_op("add")));
  EXPECT_EQ(Shadow::tally().failures, before.failures);
  // As two failures: both calls of add are wrong.
  const auto finds = [](Kernel kernel, const char* text) {
    ::testing::TestPartResultArray failures;
    {
      ::testing::ScopedFakeTestPartResultReporter reporter(&failures);
      add_under_shadow(kernel);
    }
    ASSERT_GT(failures.size(), 0) << text;
    EXPECT_TRUE(contains(failures.GetTestPartResult(0).message(), text));
  };
  finds(change<3>, "result 0 element 3");
  finds(hang, "have ended");
#if !defined(__SANITIZE_ADDRESS__)
  finds(change<8>, "byte 34 of 32 bytes was written");
  finds(change<-1>, "before the start");
#endif
  finds(write_operand, "an operand of 32 bytes was written");
  Shadow::tally() = before;
}

TEST(Shadow, FindsWritesBesideAView) {
  g_wrong = change<5>;
  Tensor whole = iota({16});
  const Shadow::Tally before = Shadow::tally();
  ::testing::TestPartResultArray failures;
  {
    ::testing::ScopedFakeTestPartResultReporter reporter(&failures);
    Shadow shadow(&wrong_kernel);
    whole[{Slice(4, 8)}].add_(1.0);
  }
  ASSERT_EQ(failures.size(), 1);
  EXPECT_TRUE(contains(failures.GetTestPartResult(0).message(), "bytes outside of result 0"));
  Shadow::tally() = before;
}

TEST(Shadow, TrainingStepsOfAnMlp) {
  for (const DType t : {DType::f32, DType::f64}) {
    manual_seed(3);
    Tensor w1 = (randn({20, 33}) * 0.2).to(t), w2 = (randn({33, 10}) * 0.2).to(t);
    Tensor b1 = zeros({33}, dtype(t)), b2 = zeros({10}, dtype(t));
    for (Tensor* p : {&w1, &b1, &w2, &b2}) p->requires_grad_();
    const Tensor x = noise({17, 20}, 4, t);
    const Tensor target = (arange(17) * 7).remainder(10);
    Shadow shadow;
    for (int step = 0; step < 2; ++step) {
      const Tensor hidden = gelu(matmul(x, w1) + b1);
      const Tensor loss = cross_entropy(matmul(dropout(hidden, 0.25), w2) + b2, target);
      loss.backward();
      NoGradGuard guard;
      for (Tensor* p : {&w1, &b1, &w2, &b2}) {
        p->sub_(p->grad() * 0.1);
        p->mutable_grad() = Tensor();
      }
    }
  }
  EXPECT_GT(Shadow::tally().compared["matmul"], 0);
}

void run_programs(fuzz::Features features, std::uint64_t count) {
  features.nested = features.errors = features.dtypes = false;
  int threw = 0;
  for (std::uint64_t seed = 1; seed <= count; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const fuzz::Program program(seed, features);
    manual_seed(seed);
    fuzz::World world;
    fuzz::fill_world(world, seed, features);
    for (int call = 0; call < 2; ++call) {
      Shadow shadow;
      try {
        program.run(world, call);
      } catch (const std::exception&) {
        ++threw;  // some programs do
      }
      fuzz::between_calls(world, seed, features, call);
    }
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_LT(threw * 4, static_cast<int>(count));
}

TEST(Shadow, RandomPrograms) { run_programs({.throws = false}, 300); }
TEST(Shadow, RandomProgramsAlongRows) {
  run_programs({.throws = false, .rows = 3, .cols = 520, .rowwise = true}, 30);
}
TEST(Shadow, RandomProgramsOfOddSizes) {
  run_programs({.throws = false, .rows = 7, .cols = 33, .rowwise = true}, 100);
}

}  // namespace
}  // namespace ingot
