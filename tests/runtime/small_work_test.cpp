// Small work stays on the thread that asks for it, however many the pool may have.
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iterator>

#include <gtest/gtest.h>

#include <ingot/kernels/cpu/threads.h>
#include <ingot/runtime/nn/nn.h>
#include <ingot/runtime/ops.h>
#include <ingot/runtime/optim/optim.h>

namespace ingot {
namespace {

namespace fs = std::filesystem;

std::ptrdiff_t threads_of_this_process() {
  return std::distance(fs::directory_iterator("/proc/self/task"), fs::directory_iterator());
}

// 12 layers, 64 wide, batch 8, Adam.
void train_steps(int steps) {
  std::vector<nn::Linear> layers;
  std::vector<Tensor> parameters;
  for (int i = 0; i < 12; ++i) {
    layers.emplace_back(64, 64);
    for (const Tensor& p : layers.back()->parameters()) parameters.push_back(p);
  }
  optim::Adam adam(parameters);
  const Tensor x = randn({8, 64}), y = randn({8, 64});
  for (int step = 0; step < steps; ++step) {
    adam.zero_grad();
    Tensor h = x;
    for (const nn::Linear& layer : layers) h = relu(layer(h));
    mean((h - y) * (h - y)).backward();
    adam.step();
  }
}

// In a process of its own: the pool starts its threads when it first needs them.
void expect_one_thread(const std::function<void()>& work) {
  if (!fs::exists("/proc/self/task")) GTEST_SKIP() << "counts threads in /proc";
  EXPECT_EXIT(
      {
        set_num_threads(16);
        work();
        std::exit(threads_of_this_process() == 1 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

class SmallWorkDeathTest : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(SmallWorkDeathTest, ATrainingStep) {
  expect_one_thread([] { train_steps(3); });
}

// Each takes one core less than some 30 us.
TEST_F(SmallWorkDeathTest, Ops) {
  expect_one_thread([] {
    const Tensor a = randn({128, 256}), b = randn({128, 256}), t = randn({96, 128});
    (void)(a + b), (void)(a > b), (void)(a * 2), (void)relu(a), (void)a.to(kFloat64);
    (void)where(a > 0, a, b), (void)sum(a), (void)sum(a, {0}), (void)sum(a, {1}), (void)argmax(a);
    (void)a.t().contiguous(), (void)cat({a, b}, 0), (void)zeros({128, 256});
    (void)tanh(t), (void)exp(t), (void)softmax(t, -1), (void)gelu(t), (void)rand({64, 64});
    (void)matmul(randn({64, 64}), randn({64, 64})), (void)matmul(randn({8, 256}), randn({256, 64}));
    (void)layer_norm(t, {128}), (void)index_select(a, 0, arange(64));
  });
}

TEST_F(SmallWorkDeathTest, LargeWorkHasAllThreads) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer has a thread of its own";
#endif
  EXPECT_EXIT(
      {
        set_num_threads(4);
        const Tensor a = randn({1 << 22});
        (void)exp(a);
        std::exit(threads_of_this_process() == 4 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace ingot
