// Streams and events around and inside compiled functions.
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include <ingot/ingot.h>

namespace ingot {
namespace {

#define NEEDS_GPU() \
  if (!cuda::is_available()) GTEST_SKIP() << "no GPU: " << cuda::unavailable_reason()

TEST(CompiledStreamsGpu, CompiledPlansRunOnTheStreamOfTheCall) {
  NEEDS_GPU();
  const Tensor x = randn({512, 512}, kCUDA), w = randn({512, 512}, kCUDA);
  const auto f = [](const Tensor& a, const Tensor& b) { return relu(matmul(a, b) * 0.1 + 1) + a; };
  const auto compiled = compile(f, {.name = "on_streams"});
  const Tensor expected = f(x, w);
  const cuda::Stream one, two;
  cuda::synchronize();
  for (int i = 0; i < 12; ++i) {
    const cuda::Stream& s = i % 2 == 0 ? one : two;
    Tensor y;
    {
      const cuda::StreamGuard guard(s);
      y = compiled(x, w);
    }
    s.synchronize();
    EXPECT_TRUE(equal(y, expected));
  }
}

TEST(CompiledStreamsGpu, AnEventInsideACompiledFunctionIsACut) {
  NEEDS_GPU();
  const Tensor x = randn({256, 256}, kCUDA);
  cuda::Event begin(true), end(true);
  const auto f = compile([&](const Tensor& a) {
    begin.record();
    Tensor t = matmul(a, a);
    end.record();
    return t * 2;
  });
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(equal(f(x), matmul(x, x) * 2));
    EXPECT_GT(begin.elapsed_time(end), 0);
  }
  EXPECT_FALSE(f.ledger().cuts.empty());
}

TEST(CompiledStreamsGpu, AGuardMayEndInsideACompiledFunction) {
  NEEDS_GPU();
  const Tensor x = randn({512, 512}, kCUDA);
  const cuda::Stream own;
  std::optional<cuda::StreamGuard> guard;
  const auto f = compile([&](const Tensor& a) {
    const Tensor t = matmul(a, a) * 2;  // given to `own`
    guard.reset();
    own.synchronize();
    return t + 1;
  });
  const Tensor expected = matmul(x, x) * 2 + 1;
  cuda::synchronize();
  for (int i = 0; i < 6; ++i) {
    guard.emplace(own);
    EXPECT_TRUE(equal(f(x), expected));
  }
}

TEST(CompiledStreamsGpu, RecordStreamDoesNotEndReplay) {
  NEEDS_GPU();
  const Tensor x = randn({64, 64}, kCUDA);
  const cuda::Stream other;
  const auto f = compile([&](const Tensor& a) {
    const Tensor t = a * 2;
    t.record_stream(other);
    return t + 1;
  });
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(equal(f(x), x * 2 + 1));
  for (const Ledger::Event& miss : f.ledger().misses) {
    EXPECT_EQ(miss.what.find("StreamGuard"), std::string::npos) << miss.what;
  }
}

TEST(CompiledStreamsGpu, SynchronizeWaitsForWhatIsPending) {
  NEEDS_GPU();
  const Tensor x = randn({4, 4}, kCUDA), index = full({1}, 9, {kLong, kCUDA});
  bool caught = false;
  const auto f = compile([&](const Tensor& a, const Tensor& i) {
    caught = false;
    const Tensor rows = index_select(a, 0, i);
    try {
      cuda::synchronize();
    } catch (const IndexError&) {
      caught = true;
    }
    return a * 2;
  });
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(equal(f(x, index), x * 2));
    EXPECT_TRUE(caught);
  }
}

}  // namespace
}  // namespace ingot
