// The emulation itself: what kernels get from it, and what it finds wrong with them.
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "cuda_on_host/grid.h"
#include "cuda_on_host/guarded.h"
#include "cuda_on_host/probe_kernels.h"

namespace ingot {
namespace {

using namespace isa_emulated;
using emulation::KernelError;
using emulation::Order;

std::vector<float> numbers(int n) {
  std::vector<float> x(static_cast<std::size_t>(n));
  std::iota(x.begin(), x.end(), 0.0f);
  return x;
}

template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const KernelError& e) {
    return e.what();
  }
  return "";
}

class EachOrder : public ::testing::TestWithParam<Order> {
 protected:
  void SetUp() override { emulation::set_order(GetParam()); }
  void TearDown() override { emulation::set_order(Order::ascending); }
};
INSTANTIATE_TEST_SUITE_P(Emulation, EachOrder,
                         ::testing::Values(Order::ascending, Order::descending));

TEST_P(EachOrder, BlocksShareMemoryAndWait) {
  for (int threads : {1, 2, 32, 256, 1024}) {
    const std::vector<float> in = numbers(300 * threads);
    std::vector<float> out(300);
    probe_block_sums(out.data(), in.data(), 300, threads);
    for (int b = 0; b < 300; ++b) {
      std::vector<float> part(in.begin() + b * threads, in.begin() + (b + 1) * threads);
      for (int half = threads / 2; half > 0; half /= 2) {
        for (int t = 0; t < half; ++t) part[t] += part[t + half];
      }
      ASSERT_EQ(out[static_cast<std::size_t>(b)], part[0]) << threads << " threads, block " << b;
    }
  }
}

TEST_P(EachOrder, WarpsExchangeValues) {
  std::vector<double> in(96), out(96);
  std::vector<long long> counts(96);
  std::iota(in.begin(), in.end(), 0.25);
  probe_warp_sums(out.data(), in.data(), counts.data(), 96);
  for (int t = 0; t < 96; ++t) {
    const int first = t / 32 * 32;
    EXPECT_EQ(out[t], 32 * (first + 0.25) + 31 * 16);
    EXPECT_EQ(counts[t], 32ll << 40);
  }
}

TEST_P(EachOrder, ShufflesFollowTheirDefinition) {
  for (int width : {4, 8, 32}) {
    std::vector<int> out(4 * 64);
    probe_shuffles(out.data(), 64, width);
    for (int t = 0; t < 64; ++t) {
      const int within = t % width, first = t - within;
      EXPECT_EQ(out[4 * t], first + 3);
      EXPECT_EQ(out[4 * t + 1], within < 2 ? t : t - 2);
      EXPECT_EQ(out[4 * t + 2], within + 2 >= width ? t : t + 2);
      EXPECT_EQ(out[4 * t + 3], t ^ 1);
    }
  }
}

TEST_P(EachOrder, PartsOfAWarpWaitForThemselves) {
  std::vector<int> out(64);
  // The last lane reads from lane 32, which is not there: as documented it keeps its own value.
  probe_half_warps(out.data());
  for (int t = 0; t < 16; ++t) EXPECT_EQ(out[t], 2);
  for (int t = 16; t < 31; ++t) EXPECT_EQ(out[t], t + 1);
  EXPECT_EQ(out[31], 31);
  for (int t = 0; t < 32; ++t) EXPECT_EQ(static_cast<unsigned>(out[32 + t]), 0xaaaaaaaau);
}

TEST_P(EachOrder, AtomicsLoseNothing) {
  int sum = 0, most = -1;
  unsigned turn = 0;
  probe_atomics(&sum, &most, &turn, 1003, 128);
  EXPECT_EQ(sum, 1003 * (127 * 128 / 2));
  EXPECT_EQ(most, 1002);
  EXPECT_EQ(turn, 1003u * 128 % 10);
}

TEST_P(EachOrder, DynamicSharedMemoryIsGuarded) {
  std::vector<int> out(64);
  probe_dynamic_shared(out.data(), 64, 64);
  for (int t = 0; t < 64; ++t) EXPECT_EQ(out[t], 63 - t);
  EXPECT_NE(error_of([&] {
              probe_dynamic_shared(out.data(), 64, 65);
            }).find("byte 256 of 256 bytes of shared memory was written"),
            std::string::npos);
  // What nobody wrote is not zero.
  probe_dynamic_shared(out.data(), 64, 63);
  EXPECT_EQ(out[0], -1);
}

TEST_P(EachOrder, KernelsThatWouldHangAreErrors) {
  const std::string exited = error_of([] { probe_exit_before_barrier(64); });
  EXPECT_NE(exited.find("the kernel that probe_exit_before_barrier launches at "
                        "tests/cuda_on_host/probe_kernels.cu:"),
            std::string::npos)
      << exited;
  EXPECT_NE(exited.find("63 wait at the barrier of tests/cuda_on_host/probe_kernels.cu:"),
            std::string::npos)
      << exited;
  EXPECT_NE(exited.find("1 have ended (thread 5 the first)"), std::string::npos) << exited;
  const std::string lost = error_of([] { probe_lost_lane(); });
  EXPECT_NE(lost.find("31 wait for their warp"), std::string::npos) << lost;
  EXPECT_NE(lost.find("1 have ended (thread 7 the first)"), std::string::npos) << lost;
  const std::string apart = error_of([] { probe_different_barriers(64); });
  EXPECT_NE(apart.find(" is at the barrier of "), std::string::npos) << apart;
  const std::string outside = error_of([] { probe_lane_outside_mask(); });
  EXPECT_NE(outside.find("thread 31: its lane is not in the mask 0x7fffffff"), std::string::npos)
      << outside;
  // The next kernel runs as ever.
  probe_half_warps(std::vector<int>(64).data());
}

TEST(Emulation, MissingBarrierShowsBetweenOrders) {
  const std::vector<float> in = numbers(64);
  std::vector<float> up(64), down(64);
  probe_missing_barrier(up.data(), in.data(), 64);
  emulation::set_order(Order::descending);
  probe_missing_barrier(down.data(), in.data(), 64);
  emulation::set_order(Order::ascending);
  EXPECT_NE(up, down);
}

TEST(Emulation, LaunchesThatNoGpuTakesAreErrors) {
  float x = 0;
  EXPECT_NE(error_of([&] { probe_block_sums(&x, &x, 1, 1025); }).find("1025 threads a block"),
            std::string::npos);
  EXPECT_NE(error_of([&] { probe_block_sums(&x, &x, -1, 32); }).find("-1 blocks"),
            std::string::npos);
  probe_block_sums(nullptr, nullptr, 0, 32);
}

TEST(Emulation, MisalignedVectorLoadsAreFound) {
  alignas(16) float in[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  float out[4];
  probe_vector_load(out, in + 4);
  EXPECT_EQ(out[3], 7);
#if defined(INGOT_TRAPS_ON_MISALIGNMENT)
  EXPECT_DEATH(probe_vector_load(out, in + 1),
               "misaligned access in or after the kernel that probe_vector_load launches");
#endif
}

TEST(Emulation, WritesBeyondGuardedMemoryAreFound) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "AddressSanitizer finds them";
#endif
  emulation::GuardedMemory memory(10, 4);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % 256, 4u);
  auto* bytes = static_cast<unsigned char*>(memory.data());
  EXPECT_EQ(bytes[9], 0xff);
  EXPECT_EQ(memory.damage(), "");
  bytes[-1] = 1;
  EXPECT_EQ(memory.damage(), "byte 1 before the start of 10 bytes was written");
  bytes[-1] = bytes[-2];
  bytes[10] = 1;
  EXPECT_EQ(memory.damage(), "byte 10 of 10 bytes was written");
}

}  // namespace
}  // namespace ingot
