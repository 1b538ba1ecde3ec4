// Memory that is held while sizes change: little more than what was ever in use at once.
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <ingot/runtime/memory_pool.h>

namespace ingot {
namespace {

// Of the host and of a GPU the pool is the same; here it takes from the host and counts.
void* take_block(Device, std::size_t bytes, std::size_t alignment) {
  return std::aligned_alloc(alignment, bytes);
}
void give_block(Device, void* block) noexcept { std::free(block); }

class MemoryGrowth : public ::testing::Test {
 protected:
  // Tensors of f32 that live at the same time, then all end.
  void live_together(std::initializer_list<i64> lengths) {
    std::vector<std::pair<void*, std::size_t>> blocks;
    i64 bytes = 0;
    for (const i64 n : lengths) {
      blocks.emplace_back(pool_.take(static_cast<std::size_t>(4 * n)), 4 * n);
      bytes += 4 * n;
    }
    live_ = std::max(live_, bytes);
    check();
    for (const auto& [block, size] : blocks) pool_.give(block, size);
    check();
  }
  void check() {
    // Below a few blocks' size their rounding decides.
    if (live_ < 16 * static_cast<i64>(kStorageAlignment)) return;
    EXPECT_LT(static_cast<double>(pool_.stats().reserved), 1.5 * static_cast<double>(live_));
  }
  void TearDown() override {
    const MemoryStats stats = pool_.stats();
    EXPECT_EQ(stats.allocated, 0);
    if (live_ > 0) {
      EXPECT_LT(stats.from_system, stats.requests / 20) << "requests reach the system too often";
    }
    pool_.clear();
    EXPECT_EQ(pool_.stats().reserved, 0);
  }

  MemoryPool pool_{kCPU, {take_block, give_block}, true};
  i64 live_ = 0;
};

TEST_F(MemoryGrowth, PairsThatGrowByOne) {
  for (i64 n = 1; n <= 10000; ++n) live_together({n, n});
}

TEST_F(MemoryGrowth, LargePairsThatGrow) {
  for (i64 n = 300000; n <= 3000000; n += 1000) live_together({n, n});
}

TEST_F(MemoryGrowth, PairsThatShrink) {
  for (i64 n = 10000; n > 0; --n) live_together({n, n});
}

TEST_F(MemoryGrowth, Sawtooth) {
  for (int sweep = 0; sweep < 6; ++sweep) {
    for (i64 n = 1; n <= 10000; n += 3) live_together({n, n});
  }
}

TEST_F(MemoryGrowth, OneGrowsAndOneShrinks) {
  for (i64 n = 1; n <= 10000; ++n) live_together({n, 10001 - n});
}

TEST_F(MemoryGrowth, OneGrowsBesideOneThatStays) {
  for (i64 n = 1; n <= 10000; ++n) live_together({n, 4000});
}

// cat(cache, row): the old and the new one live at once.
TEST_F(MemoryGrowth, AGrowingCopy) {
  void* old = pool_.take(256);
  i64 length = 64;
  for (i64 n = 128; n <= 64 * 3000; n += 64) {
    void* next = pool_.take(static_cast<std::size_t>(4 * n));
    live_ = std::max(live_, 4 * (n + length));
    check();
    pool_.give(old, static_cast<std::size_t>(4 * length));
    old = next, length = n;
  }
  pool_.give(old, static_cast<std::size_t>(4 * length));
}

// What lived in small blocks lives in large ones next, and back.
TEST_F(MemoryGrowth, PhasesOfOtherSizes) {
  const auto phase = [&](int count, std::size_t bytes) {
    std::vector<void*> blocks;
    for (int i = 0; i < count; ++i) blocks.push_back(pool_.take(bytes));
    live_ = std::max(live_, static_cast<i64>(bytes) * count);
    check();
    for (void* block : blocks) pool_.give(block, bytes);
  };
  for (int round = 0; round < 100; ++round) {
    phase(100, 20000);
    phase(50, 40000);
  }
}

TEST_F(MemoryGrowth, ManyThreads) {
  constexpr int kThreads = 4;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (i64 n = 1; n <= 4000; ++n) {
        const auto bytes = static_cast<std::size_t>(4 * n);
        void *a = pool_.take(bytes), *b = pool_.take(bytes);
        *static_cast<i64*>(a) = n, *static_cast<i64*>(b) = -n;
        EXPECT_EQ(*static_cast<i64*>(a), n);
        pool_.give(a, bytes), pool_.give(b, bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  // The peak depends on how the threads met, by some blocks.
  const MemoryStats stats = pool_.stats();
  EXPECT_LT(static_cast<double>(stats.reserved),
            1.5 * static_cast<double>(stats.peak_allocated) + (64 << 10));
}

TEST_F(MemoryGrowth, WhatIsCutFromALargeBlockHasItsOwnMemory) {
  std::vector<std::pair<unsigned char*, std::size_t>> blocks;
  unsigned seed = 1;
  for (int step = 0; step < 20000; ++step) {
    seed = seed * 1664525 + 1013904223;
    if (blocks.size() < 40 && (seed >> 16) % 2 == 0) {
      const std::size_t bytes = 1 + (seed >> 8) % (std::size_t{1} << (4 + (seed >> 24) % 18));
      auto* block = static_cast<unsigned char*>(pool_.take(bytes));
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(block) % block_alignment(bytes), 0u);
      block[0] = block[bytes - 1] = static_cast<unsigned char>(bytes);
      blocks.emplace_back(block, bytes);
    } else if (!blocks.empty()) {
      std::swap(blocks[seed % blocks.size()], blocks.back());
      const auto [block, bytes] = blocks.back();
      ASSERT_EQ(block[0], static_cast<unsigned char>(bytes));
      ASSERT_EQ(block[bytes - 1], static_cast<unsigned char>(bytes));
      pool_.give(block, bytes);
      blocks.pop_back();
    }
  }
  for (const auto& [block, bytes] : blocks) pool_.give(block, bytes);
}

// Free memory of every size goes back before a request fails.
TEST_F(MemoryGrowth, OutOfMemoryComesAfterAllThatIsFree) {
  pool_.set_limit(1 << 20);
  for (int round = 0; round < 100; ++round) {
    void* small[8];
    for (void*& block : small) block = pool_.take(100000);
    for (void* block : small) pool_.give(block, 100000);
    void* large = pool_.take(1000000);
    EXPECT_THROW((void)pool_.take(100000), OutOfMemoryError);
    pool_.give(large, 1000000);
  }
}

}  // namespace
}  // namespace ingot
