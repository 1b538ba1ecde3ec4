// Compiled functions as CUDA graphs: whatever changes between calls, the result is eager's, and the
// call stays one launch.
#include <deque>
#include <thread>

#include <gtest/gtest.h>

#include <ingot/ingot.h>

#include "support/tensor_checks.h"

namespace ingot {
namespace {

using testing_support::same_bits;

class CudaGraphGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!cuda::is_available()) GTEST_SKIP() << "no GPU: " << cuda::unavailable_reason();
    manual_seed(7);
  }
  static Tensor normal(const Dims& sizes) { return randn(sizes, kCUDA); }
};

// Two kernels, so that there is something to put into a graph.
Tensor two_kernels(const Tensor& x, const Tensor& w) { return (x * w + 1.0).sum(1) * 2.0; }

TEST_F(CudaGraphGpu, EveryCallWithOtherTensors) {
  const auto f = compile([](const Tensor& x, const Tensor& w) { return two_kernels(x, w); });
  std::vector<Tensor> inputs, results;  // all alive: no address comes twice
  const Tensor w = normal({33, 65});
  for (int i = 0; i < 40; ++i) {
    inputs.push_back(normal({33, 65}));
    results.push_back(f(inputs.back(), w));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_TRUE(same_bits(results[i], two_kernels(inputs[i], w)));
  }
  const GraphUse use = f.ledger().graphs;
  EXPECT_LE(use.recorded, 2);
  // Of a plan of one kernel an update may take longer than the launch; which, is measured.
  EXPECT_GE(use.updates, 4) << f.ledger();
}

TEST_F(CudaGraphGpu, InputsInTurnAreAGraphEach) {
  const auto f = compile([](const Tensor& x, const Tensor& w) { return two_kernels(x, w); });
  std::vector<Tensor> ring;
  for (int i = 0; i < 4; ++i) ring.push_back(normal({16, 48}));
  const Tensor w = normal({16, 48});
  for (int round = 0; round < 20; ++round) {
    for (const Tensor& x : ring) EXPECT_TRUE(same_bits(f(x, w), two_kernels(x, w)));
  }
  const GraphUse use = f.ledger().graphs;
  EXPECT_GE(use.launches, 60) << f.ledger();
  EXPECT_LE(use.updates, 20) << f.ledger();
}

TEST_F(CudaGraphGpu, ChangingNumbers) {
  const auto body = [](const Tensor& x, double a) { return ((x * a).sum(1) + a).tanh(); };
  const auto f = compile(body);
  const Tensor x = normal({20, 300});
  for (int i = 0; i < 40; ++i) EXPECT_TRUE(same_bits(f(x, 0.1 * i), body(x, 0.1 * i)));
  EXPECT_EQ(f.ledger().variants, 1);
  // Of a plan of one kernel an update may take longer than the launch; which, is measured.
  EXPECT_GE(f.ledger().graphs.updates, 4) << f.ledger();
}

TEST_F(CudaGraphGpu, RandomNumbersGoOn) {
  const auto body = [](const Tensor& x) {
    return (x + rand({8, 100}, kCUDA)).sum(1) * randn({8, 100}, kCUDA).sum(1);
  };
  const auto f = compile(body);
  const Tensor x = normal({8, 100});
  std::vector<Tensor> ours, eager;
  manual_seed(11);
  for (int i = 0; i < 20; ++i) ours.push_back(f(x));
  manual_seed(11);
  for (int i = 0; i < 20; ++i) eager.push_back(body(x));
  for (std::size_t i = 0; i < ours.size(); ++i) EXPECT_TRUE(same_bits(ours[i], eager[i]));
  EXPECT_GE(f.ledger().graphs.launches, 10) << f.ledger();
}

// Nodes of a library cannot be given new parameters one by one.
TEST_F(CudaGraphGpu, ProductsOfTheLibrary) {
  // Two products and two kernels of ours: with fewer steps recording again would not pay.
  const Tensor w = normal({700, 900}), v = normal({900, 700});
  const auto body = [&](const Tensor& x) { return matmul(relu(matmul(x, w)), v).sum(1) + 1.0; };
  const auto f = compile(body);
  std::vector<Tensor> inputs;
  for (int i = 0; i < 20; ++i) {
    inputs.push_back(normal({500, 700}));
    EXPECT_TRUE(same_bits(f(inputs.back()), body(inputs.back())));
  }
  EXPECT_GE(f.ledger().graphs.launches, 10) << f.ledger();
}

TEST_F(CudaGraphGpu, ATrainingStepThatKeepsItsLosses) {
  struct Net : nn::Module {
    nn::Linear fc1{32, 64}, fc2{64, 10};
    INGOT_MODULE(Net, fc1, fc2)
    Tensor operator()(const Tensor& x) { return fc2(gelu(fc1(x))); }
  };
  const auto losses = [&](bool compiled) {
    manual_seed(3);
    Net net;
    net.to(kCUDA);
    optim::SGD sgd(net.parameters(), {.lr = 0.1});
    const Tensor x = normal({16, 32}), y = randint(0, 10, {16}, kCUDA);
    const auto step = [&](const Tensor& images, const Tensor& labels) {
      sgd.zero_grad();
      Tensor loss = cross_entropy(net(images), labels);
      loss.backward();
      sgd.step();
      return loss;
    };
    const auto f = compile(step);
    std::vector<Tensor> all;
    for (int i = 0; i < 40; ++i) all.push_back(compiled ? f(x, y) : step(x, y));
    if (compiled) {
      EXPECT_GE(f.ledger().graphs.launches, 30) << f.ledger();
    }
    std::vector<float> values;
    for (const Tensor& loss : all) values.push_back(loss.detach().cpu().item<float>());
    return values;
  };
  const std::vector<float> eager = losses(false);
  EXPECT_LT(eager.back(), eager.front() / 2);
  EXPECT_EQ(losses(true), eager);
}

// A request that does not fit takes the graphs with it, also while they run; results stay right.
TEST_F(CudaGraphGpu, AreDroppedBeforeMemoryRunsOut) {
  const Tensor x = normal({2048, 2048});
  const auto body = [](const Tensor& t) { return (matmul(t, t) * 1e-3).sum() + t.sum(); };
  const auto f = compile(body);
  const Tensor expected = body(x);
  const auto run_out = [] {
    empty_cache(kCUDA);
    set_memory_limit(memory_stats(kCUDA).reserved + (64 << 20), kCUDA);
    EXPECT_THROW((void)zeros({1 << 28}, kCUDA), OutOfMemoryError);
    set_memory_limit(0, kCUDA);
  };
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(same_bits(f(x), expected));
  ASSERT_GE(f.ledger().graphs.launches, 4) << f.ledger();
  std::vector<Tensor> results;
  for (int i = 0; i < 4; ++i) results.push_back(f(x));
  run_out();
  EXPECT_GE(f.ledger().graphs.dropped, 1) << f.ledger();
  for (int i = 0; i < 80; ++i) results.push_back(f(x));
  EXPECT_GE(f.ledger().graphs.recorded, 2) << f.ledger();
  // Another thread is in the middle of calls meanwhile.
  std::thread calling([&] {
    for (int i = 0; i < 300; ++i) results.push_back(f(x));
  });
  for (int i = 0; i < 20; ++i) run_out();
  calling.join();
  for (const Tensor& r : results) ASSERT_TRUE(same_bits(r, expected));
}

}  // namespace
}  // namespace ingot
