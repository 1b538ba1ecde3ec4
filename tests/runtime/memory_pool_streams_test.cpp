// Reuse of memory that several streams use. The streams are made up: no GPU is needed.
#include <cstdlib>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include <ingot/runtime/memory_pool.h>

namespace ingot {
namespace {

using cuda::EventHandle;
using cuda::StreamHandle;

StreamHandle stream(std::uintptr_t n) { return reinterpret_cast<StreamHandle>(n); }

// What the made-up GPU knows: where the thread works, and which streams have work left.
struct Gpu {
  StreamHandle current = nullptr;
  std::set<StreamHandle> busy;
  std::map<EventHandle, StreamHandle> events;
  std::uintptr_t next_event = 1;
  int awaited = 0;
};
Gpu g_gpu;

void* take_block(Device, std::size_t bytes, std::size_t alignment) {
  return std::aligned_alloc(alignment, bytes);
}
void give_block(Device, void* block) noexcept { std::free(block); }

constexpr MemoryOrder kOrder = {
    .current = [](Device) { return g_gpu.current; },
    .mark =
        [](StreamOf of) {
          const auto event = reinterpret_cast<EventHandle>(g_gpu.next_event++);
          g_gpu.events[event] = of.stream;
          return event;
        },
    .passed = [](EventHandle event) { return !g_gpu.busy.contains(g_gpu.events.at(event)); },
    .await =
        [](EventHandle event) {
          ++g_gpu.awaited;
          g_gpu.busy.erase(g_gpu.events.at(event));
        },
    .drop = [](EventHandle event) noexcept { g_gpu.events.erase(event); },
};

constexpr MemoryOrder host_order() {
  MemoryOrder order = kOrder;
  order.current = nullptr;
  return order;
}
constexpr MemoryOrder kHostOrder = host_order();

constexpr std::size_t kBytes = 4096;

class MemoryPoolStreams : public ::testing::Test {
 protected:
  void SetUp() override { g_gpu = {}; }
  void TearDown() override {
    pool_.clear();
    EXPECT_TRUE(g_gpu.events.empty());
    EXPECT_EQ(pool_.stats().reserved, 0);
  }
  MemoryPool pool_{kCUDA, {take_block, give_block}, true, &kOrder};
};

TEST_F(MemoryPoolStreams, AFreedBlockIsReusedAtOnceOnItsOwnStream) {
  for (const StreamHandle s : {StreamHandle(nullptr), stream(1)}) {
    g_gpu.current = s;
    g_gpu.busy = {nullptr, stream(1)};
    void* block = pool_.take(kBytes);
    pool_.used(block, {0, s});
    pool_.give(block, kBytes);
    void* again = pool_.take(kBytes);
    EXPECT_EQ(again, block);
    pool_.give(again, kBytes);
  }
  EXPECT_EQ(g_gpu.next_event, 1u);  // no event was needed
}

TEST_F(MemoryPoolStreams, AnotherStreamGetsAnotherBlock) {
  void* block = pool_.take(kBytes);
  pool_.give(block, kBytes);
  g_gpu.current = stream(1);
  void* other = pool_.take(kBytes);
  EXPECT_NE(other, block);
  pool_.give(other, kBytes);
  g_gpu.current = nullptr;
  EXPECT_EQ(pool_.take(kBytes), block);
  pool_.give(block, kBytes);
  g_gpu.current = stream(1);
  EXPECT_EQ(pool_.take(kBytes), other);
  pool_.give(other, kBytes);
}

TEST_F(MemoryPoolStreams, ABlockGoesBackToItsOwnStreamWhoeverFreesIt) {
  g_gpu.current = stream(1);
  void* block = pool_.take(kBytes);
  g_gpu.current = stream(2);
  pool_.give(block, kBytes);
  void* other = pool_.take(kBytes);
  EXPECT_NE(other, block);
  pool_.give(other, kBytes);
  g_gpu.current = stream(1);
  EXPECT_EQ(pool_.take(kBytes), block);
  pool_.give(block, kBytes);
}

TEST_F(MemoryPoolStreams, WhatAnotherStreamUsesWaitsForIt) {
  void* block = pool_.take(kBytes);
  pool_.used(static_cast<char*>(block) + 128, {0, stream(1)});  // a view of it
  g_gpu.busy = {stream(1)};
  pool_.give(block, kBytes);
  EXPECT_EQ(pool_.stats().allocated, 0);
  void* other = pool_.take(kBytes);
  EXPECT_NE(other, block);
  g_gpu.busy.clear();
  EXPECT_EQ(pool_.take(kBytes), block);
  pool_.give(block, kBytes);
  pool_.give(other, kBytes);
  EXPECT_EQ(g_gpu.awaited, 0);
}

TEST_F(MemoryPoolStreams, AUseIsForgottenWithTheBlock) {
  void* block = pool_.take(kBytes);
  pool_.used(block, {0, stream(1)});
  pool_.give(block, kBytes);
  EXPECT_EQ(pool_.take(kBytes), block);
  g_gpu.busy = {stream(1)};
  pool_.give(block, kBytes);  // this time nobody else used it
  EXPECT_EQ(pool_.take(kBytes), block);
  pool_.give(block, kBytes);
}

TEST_F(MemoryPoolStreams, AStreamOfAnotherDeviceIsAnother) {
  void* block = pool_.take(kBytes);
  pool_.used(block, {1, nullptr});
  g_gpu.busy = {nullptr};
  pool_.give(block, kBytes);
  void* other = pool_.take(kBytes);
  EXPECT_NE(other, block);
  pool_.give(other, kBytes);
}

TEST_F(MemoryPoolStreams, OutOfMemoryWaitsForTheOthers) {
  pool_.set_limit(static_cast<i64>(kBytes));
  void* block = pool_.take(kBytes);
  pool_.used(block, {0, stream(1)});
  g_gpu.busy = {stream(1)};
  pool_.give(block, kBytes);
  void* again = pool_.take(kBytes);
  EXPECT_NE(again, nullptr);
  EXPECT_EQ(g_gpu.awaited, 1);
  pool_.give(again, kBytes);
}

TEST_F(MemoryPoolStreams, MemoryOfTheHostWaitsForEveryStream) {
  MemoryPool pinned(kCPU, {take_block, give_block}, true, &kHostOrder);
  void* block = pinned.take(kBytes);
  pinned.used(block, {0, nullptr});
  g_gpu.busy = {nullptr};
  pinned.give(block, kBytes);
  void* other = pinned.take(kBytes);
  EXPECT_NE(other, block);
  g_gpu.busy.clear();
  EXPECT_EQ(pinned.take(kBytes), block);
  pinned.give(block, kBytes);
  pinned.give(other, kBytes);
  pinned.clear();
}

}  // namespace
}  // namespace ingot
