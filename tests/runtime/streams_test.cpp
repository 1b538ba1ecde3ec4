// Streams, events and page-locked memory: what they say without a GPU, and what they do on one.
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ingot/kernels/cuda/device.h>
#include <ingot/runtime/allocator.h>
#include <ingot/runtime/config.h>
#include <ingot/runtime/ops.h>
#include <ingot/runtime/stream.h>

namespace ingot {
namespace {

TEST(Streams, WithoutAGpuAreOneSentence) {
  if (cuda::is_available()) GTEST_SKIP() << "there is a GPU";
  cuda::Event event;
  const Tensor x = ones({3}, kCPU);
  const std::vector<std::pair<const char*, std::function<void()>>> calls = {
      {"cuda::Stream: ", [] { (void)cuda::Stream(); }},
      {"cuda::Stream: ", [] { (void)cuda::Stream::current(); }},
      {"cuda::Stream: ", [] { (void)cuda::Stream::default_stream(Device(kCUDA, 3)); }},
      {"Event::record: ", [&] { event.record(); }},
      {"pin_memory: ", [&] { (void)x.pin_memory(); }},
      {"cuda::synchronize: ", [] { cuda::synchronize(); }},
      {"cuda::set_memory_limit: ", [] { cuda::set_memory_limit(0.5); }},
  };
  for (const auto& [start, call] : calls) {
    try {
      call();
      ADD_FAILURE() << start;
    } catch (const DeviceError& error) {
      const std::string text = error.what();
      EXPECT_EQ(text.find(start + cuda::unavailable_reason()), 0u) << text;
      EXPECT_NE(text.find("; at streams_test.cpp:"), std::string::npos) << text;
    }
  }
  // What was never recorded is waited for by nobody.
  EXPECT_TRUE(event.query());
  event.synchronize();
  event.wait();
  EXPECT_THROW((void)cuda::Event(true).elapsed_time(event), Error);
  EXPECT_FALSE(x.is_pinned());
}

TEST(Streams, OfTheHostAreErrors) {
  EXPECT_THROW((void)cuda::Stream(kCPU), Error);
  EXPECT_THROW((void)cuda::Stream::current(kCPU), Error);
}

TEST(Streams, DevicesHaveIndicesThatExist) {
  EXPECT_EQ(Device(kCUDA, 99).str(), "cuda:99");
  // Stored in fewer bits these would be another device.
  for (const int index : {-1, 100, 256, 300}) EXPECT_THROW((void)Device(kCUDA, index), Error);
  EXPECT_THROW((void)Device(kCPU, 1), Error);
  EXPECT_THROW((void)ones({2}).cuda(256), Error);
}

TEST(Streams, CopiesOnTheHostDoNotCareForNonBlocking) {
  const Tensor x = randn({5, 7});
  Tensor y = empty({5, 7});
  y.copy_(x, true);
  EXPECT_TRUE(equal(x, y));
  EXPECT_TRUE(equal(x.to(kDouble, true).to(kFloat), x));
}

#define NEEDS_GPU() \
  if (!cuda::is_available()) GTEST_SKIP() << "no GPU: " << cuda::unavailable_reason()

// Something that takes the GPU a while.
Tensor long_work(const Tensor& x, int steps = 20) {
  Tensor t = x;
  for (int i = 0; i < steps; ++i) t = matmul(t, x) * 1e-3;
  return t;
}

TEST(StreamsGpu, AGuardSetsTheStreamOfItsThreadAndPutsItBack) {
  NEEDS_GPU();
  const cuda::Stream shared = cuda::Stream::default_stream(), own;
  EXPECT_EQ(cuda::Stream::current(), shared);
  {
    const cuda::StreamGuard guard(own);
    EXPECT_EQ(cuda::Stream::current(), own);
    {
      const cuda::StreamGuard back(shared);
      EXPECT_EQ(cuda::Stream::current(), shared);
    }
    EXPECT_EQ(cuda::Stream::current(), own);
  }
  EXPECT_EQ(cuda::Stream::current(), shared);
}

TEST(StreamsGpu, WorkBehindAnEventSeesWhatCameBefore) {
  NEEDS_GPU();
  const Tensor x = randn({1024, 1024}, kCUDA);
  const Tensor expected = long_work(x) + 1;
  const cuda::Stream producer, consumer;
  for (int i = 0; i < 20; ++i) {
    producer.wait_stream(cuda::Stream::current());
    Tensor y, z;
    cuda::Event done;
    {
      const cuda::StreamGuard guard(producer);
      y = long_work(x);
      done.record();
    }
    done.wait(consumer);
    {
      const cuda::StreamGuard guard(consumer);
      z = y + 1;
      y = Tensor();  // freed while the consumer may still read it
    }
    {
      const cuda::StreamGuard guard(producer);
      for (int k = 0; k < 4; ++k) (void)full({1024, 1024}, k, kCUDA);  // who would get its memory
    }
    consumer.synchronize();
    EXPECT_TRUE(equal(z, expected));
    producer.synchronize();
  }
}

TEST(StreamsGpu, ElapsedTimeNeedsTiming) {
  NEEDS_GPU();
  cuda::Event a, b(true), c(true);
  a.record();
  b.record();
  EXPECT_THROW((void)b.elapsed_time(a), Error);
  EXPECT_THROW((void)b.elapsed_time(c), Error);
  const Tensor t = long_work(randn({1024, 1024}, kCUDA));
  c.record();
  EXPECT_GT(b.elapsed_time(c), 0);
  EXPECT_TRUE(b.query());
}

TEST(StreamsGpu, EventsAreMovedWithTheirTiming) {
  NEEDS_GPU();
  cuda::Event plain, begin(true), end(true);
  plain.record();
  begin.record();
  end.record();
  plain = std::move(begin);
  EXPECT_GE(plain.elapsed_time(end), 0);
  begin.record();  // what `plain` was: without timing
  EXPECT_THROW((void)begin.elapsed_time(end), Error);
}

TEST(StreamsGpu, ProductsOfShortLivedThreadsKeepNoMemory) {
  NEEDS_GPU();
  const Tensor x = randn({1024, 1024}, kCUDA);
  const auto product = [&] {
    (void)matmul(x, x);
    cuda::synchronize();
  };
  product();
  std::thread(product).join();
  const i64 allocated = memory_stats(kCUDA).allocated, free = cuda::memory_info().free;
  for (int i = 0; i < 8; ++i) std::thread(product).join();
  EXPECT_EQ(memory_stats(kCUDA).allocated, allocated);
  EXPECT_GT(cuda::memory_info().free, free - (i64{64} << 20));  // eight workspaces are 256 MiB
}

TEST(StreamsGpu, PinnedMemoryIsCopiedWithoutWaiting) {
  NEEDS_GPU();
  const Tensor host = randn({2048, 1024}, kCPU), pinned = host.pin_memory();
  EXPECT_FALSE(host.is_pinned());
  EXPECT_TRUE(pinned.is_pinned());
  EXPECT_TRUE(equal(pinned, host));
  const Tensor square = randn({2048, 2048}, kCUDA);
  for (int i = 0; i < 2; ++i) {
    const Tensor busy = long_work(square, 40);
    const Tensor up = pinned.to(kCUDA, true);
    const Tensor down = (up + 1).to(kCPU, true);
    EXPECT_TRUE(down.is_pinned());
    // Nobody has waited. The first time memory came from the system, which may wait.
    EXPECT_TRUE(i == 0 || !cuda::Stream::current().query());
    cuda::synchronize();
    EXPECT_TRUE(equal(down, host + 1));
    EXPECT_TRUE(equal(up.cpu(), host));
  }
}

TEST(StreamsGpu, APinnedSourceMayBeWrittenAfterABlockingCopy) {
  NEEDS_GPU();
  Tensor pinned = randn({1024, 1024}, kCPU).pin_memory();
  const Tensor before = pinned.clone();
  const Tensor busy = long_work(randn({2048, 2048}, kCUDA), 20);
  const Tensor up = pinned.to(kCUDA);
  pinned.fill_(0);
  EXPECT_TRUE(equal(up.cpu(), before));
}

TEST(StreamsGpu, PinnedMemoryIsNotReusedBeforeItIsCopied) {
  NEEDS_GPU();
  const Tensor busy = long_work(randn({2048, 2048}, kCUDA), 40);
  Tensor pinned = full({1024, 1024}, 7, kCPU).pin_memory();
  const Tensor up = pinned.to(kCUDA, true);
  pinned = Tensor();
  const Tensor other = full({1024, 1024}, 3, kCPU).pin_memory();
  EXPECT_TRUE(equal(up.cpu(), full({1024, 1024}, 7, kCPU)));
}

}  // namespace
}  // namespace ingot
