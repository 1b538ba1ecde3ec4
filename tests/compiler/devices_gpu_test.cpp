// Several GPUs: ops, copies, gradients, compiled functions, streams and memory of each.
#include <thread>

#include <gtest/gtest.h>

#include <ingot/ingot.h>
#include <ingot/runtime/allocator.h>

#include "support/tensor_checks.h"

namespace ingot {
namespace {

using testing_support::same_bits;

class DevicesGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!cuda::is_available()) GTEST_SKIP() << "no GPU: " << cuda::unavailable_reason();
    if (cuda::device_count() < 2) GTEST_SKIP() << "no GPU: one alone is not several";
    manual_seed(11);
  }
  const Device first_{"cuda:0"}, second_{"cuda:1"};
};

Tensor layer(const Tensor& x, const Tensor& w) { return softmax(gelu(matmul(x, w) + 0.5), -1); }

bool same_values(const Tensor& a, const Tensor& b) { return same_bits(a.cpu(), b.cpu()); }

TEST_F(DevicesGpu, GiveTheSameBits) {
  for (const i64 n : {16, 300}) {
    const Tensor x = randn({n, n}, kCPU), w = randn({n, n}, kCPU);
    const Tensor a = layer(x.to(first_), w.to(first_)), b = layer(x.to(second_), w.to(second_));
    EXPECT_EQ(a.device(), first_);
    EXPECT_EQ(b.device(), second_);
    EXPECT_TRUE(same_values(a, b));
    EXPECT_TRUE(same_values(x.to(second_).sum(), x.to(first_).sum()));
    EXPECT_TRUE(same_values(x.to(second_).argmax(1), x.to(first_).argmax(1)));
  }
}

TEST_F(DevicesGpu, HaveRandomNumbersOfTheirOwn) {
  manual_seed(3);
  const Tensor a = randn({1000}, first_), b = randn({1000}, second_);
  EXPECT_TRUE(same_values(a, b));
  manual_seed(3);
  EXPECT_TRUE(same_values(randn({1000}, second_), b));
}

TEST_F(DevicesGpu, OperandsOfTwoAreRefused) {
  const Tensor x = ones({3}, first_), y = ones({3}, second_);
  try {
    (void)(x + y);
    FAIL() << "no Error";
  } catch (const Error& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("cuda:0"), text.npos) << text;
    EXPECT_NE(text.find("cuda:1"), text.npos) << text;
  }
}

TEST_F(DevicesGpu, CopiesWaitForTheWorkBeforeThem) {
  const Tensor x = randn({1024, 1024}, first_);
  for (int i = 0; i < 8; ++i) {
    Tensor t = x;
    for (int k = 0; k < 10; ++k) t = matmul(t, x) * 1e-3;
    const Tensor there = t.to(second_), plus = there + 1.0;
    const Tensor back = plus.to(first_);
    EXPECT_TRUE(same_values(back, t + 1.0));
    // Strides, a cast and a broadcast on the way.
    Tensor into = zeros({2, 1024, 1024}, {kDouble, second_});
    into.copy_(t.t());
    EXPECT_TRUE(same_values(into[1], t.t().to(kDouble)));
  }
}

TEST_F(DevicesGpu, GradientsGoBackTheWayTheyCame) {
  const Tensor x = randn({64, 64}, first_), w = randn({64, 64}, first_);
  const auto gradient = [&](Device where) {
    Tensor leaf = w.detach().clone().requires_grad_(true);
    (gelu(matmul(x, leaf)).to(where) * 2.0).sum().backward();
    return leaf.grad();
  };
  const Tensor g = gradient(second_);
  EXPECT_EQ(g.device(), first_);
  EXPECT_TRUE(same_values(g, gradient(first_)));
}

TEST_F(DevicesGpu, OneCompiledFunctionServesBoth) {
  const auto f = compile([](const Tensor& x, const Tensor& w) { return layer(x, w); });
  const Tensor x = randn({64, 64}, first_), w = randn({64, 64}, first_);
  const Tensor x2 = x.to(second_), w2 = w.to(second_);
  const Tensor expected = layer(x, w);
  for (int i = 0; i < 8; ++i) {
    const Tensor a = f(x, w), b = f(x2, w2);
    EXPECT_EQ(b.device(), second_);
    EXPECT_TRUE(same_bits(a, expected));
    EXPECT_TRUE(same_values(b, expected));
  }
  EXPECT_GE(f.ledger().graphs.launches, 8) << f.ledger();
}

TEST_F(DevicesGpu, ACompiledFunctionMayCrossOver) {
  const auto body = [this](const Tensor& x) {
    const Tensor h = relu(x * 2.0 + 1.0).to(second_);
    return (exp(h * 0.1) + h).to(first_).sum(1) + 1.0;
  };
  const auto f = compile(body);
  for (int i = 0; i < 6; ++i) {
    const Tensor x = randn({50, 70}, first_);
    EXPECT_TRUE(same_bits(f(x), body(x)));
  }
}

struct OneLayer : nn::Module {
  nn::Linear fc{32, 10};
  INGOT_MODULE(OneLayer, fc)
  Tensor operator()(const Tensor& x) { return gelu(fc(x)); }
};

TEST_F(DevicesGpu, ATrainingStepRunsOnTheSecond) {
  const auto losses = [&](Device device, bool compiled) {
    manual_seed(5);
    OneLayer net;
    net.to(device);
    optim::AdamW adam(net.parameters(), {.lr = 0.01});
    const Tensor x = randn({16, 32}, kCPU).to(device);
    const Tensor y = randint(0, 10, {16}, kCPU).to(device);
    const auto step = [&](const Tensor& images) {
      adam.zero_grad();
      Tensor loss = cross_entropy(net(images), y);
      loss.backward();
      adam.step();
      return loss.detach();
    };
    const auto f = compile(step);
    std::vector<float> values;
    for (int i = 0; i < 12; ++i) {
      values.push_back((compiled ? f(x) : step(x)).cpu().item<float>());
    }
    return values;
  };
  const std::vector<float> expected = losses(first_, false);
  EXPECT_LT(expected.back(), expected.front());
  EXPECT_EQ(losses(second_, false), expected);
  EXPECT_EQ(losses(second_, true), expected);
}

// Ops that make a tensor beside their operands make it where those are.
TEST_F(DevicesGpu, OperandsSayWhereAnOpMakesItsOwn) {
  for (const Device d : {first_, second_}) {
    const Tensor index = tensor({2, 0, 1}, {kInt64, d});
    EXPECT_TRUE(same_values(one_hot(index, 4), one_hot(index.cpu(), 4)));
    EXPECT_EQ(rand_like(ones({3}, d)).device(), d);
  }
}

// A graph's memory goes back to the device it is on, whichever is current then.
TEST_F(DevicesGpu, MemoryGoesBackToItsDevice) {
  const auto make = [&] {
    const auto f = compile([](const Tensor& x) { return (x * 2.0).sum(0) + x.sum(1) * 3.0; });
    for (int i = 0; i < 6; ++i) (void)f(randn({700, 700}, second_));
  };
  make();
  cuda::synchronize(second_);
  const i64 before = memory_stats(second_).allocated, other = memory_stats(first_).allocated;
  for (int i = 0; i < 3; ++i) make();
  cuda::synchronize(second_);
  EXPECT_EQ(memory_stats(second_).allocated, before);
  EXPECT_EQ(memory_stats(first_).allocated, other);
  // What the pools hand out next lies where it should.
  for (const Device d : {first_, second_}) {
    const Tensor a = randn({700, 700}, d), b = randn({700, 700}, d);
    EXPECT_TRUE(same_values(a + b, a.cpu() + b.cpu()));
  }
}

TEST_F(DevicesGpu, LimitsAreOfADevice) {
  cuda::set_memory_limit(0.01, second_);
  const i64 quarter = i64{1} << 30;  // 4 GiB as f32
  EXPECT_THROW((void)empty({quarter}, second_), OutOfMemoryError);
  EXPECT_NO_THROW((void)empty({quarter}, first_));
  cuda::set_memory_limit(1.0, second_);
  EXPECT_NO_THROW((void)empty({quarter}, second_));
}

TEST_F(DevicesGpu, StreamsAndEventsCross) {
  const Tensor x = randn({1024, 1024}, first_);
  const cuda::Stream s(second_);
  EXPECT_EQ(s.device(), second_);
  Tensor y;
  {
    const cuda::StreamGuard guard(s);
    Tensor t = x.to(second_);
    for (int i = 0; i < 10; ++i) t = matmul(t, t) * 1e-3;
    y = t;
  }
  const cuda::Event done = s.record_event();
  done.wait(cuda::Stream::current(second_));
  Tensor expected = x;
  for (int i = 0; i < 10; ++i) expected = matmul(expected, expected) * 1e-3;
  EXPECT_TRUE(same_values(y + 0.0, expected + 0.0));
  cuda::Stream::current(first_).wait_event(done);
  cuda::Stream::current(first_).wait_stream(s);
}

TEST_F(DevicesGpu, ThreadsUseOneEach) {
  const Tensor x = randn({200, 200}, kCPU), w = randn({200, 200}, kCPU);
  const auto f = compile([](const Tensor& a, const Tensor& b) { return layer(a, b); });
  const Tensor expected = layer(x.to(first_), w.to(first_)).cpu();
  bool right[2] = {true, true};
  std::thread threads[2];
  for (int t = 0; t < 2; ++t) {
    threads[t] = std::thread([&, t] {
      const Device d = t == 0 ? first_ : second_;
      const Tensor a = x.to(d), b = w.to(d);
      for (int i = 0; i < 30; ++i) right[t] = right[t] && same_bits(f(a, b).cpu(), expected);
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_TRUE(right[0]);
  EXPECT_TRUE(right[1]);
}

TEST_F(DevicesGpu, AProfileSeesBoth) {
  const Tensor x = randn({256, 256}, first_), y = randn({256, 256}, second_);
  (void)(x * 2.0);
  (void)(y * 2.0);
  cuda::synchronize(second_);
  profiler::Session session;
  for (int i = 0; i < 5; ++i) {
    (void)(x * 2.0);
    (void)(y * 2.0);
  }
  session.stop();
  const auto row = session.key_averages().find("aten::mul");
  ASSERT_TRUE(row.has_value());
  EXPECT_EQ(row->calls, 10);
  EXPECT_EQ(row->gpu_work, 10);
}

}  // namespace
}  // namespace ingot
