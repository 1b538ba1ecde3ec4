// Views: what x[{...}] gives, writes through it, and which bad inputs are refused whole. Also the
// allocator's limit and its cache.
#include <functional>
#include <utility>

#include <ingot/runtime/allocator.h>
#include <ingot/runtime/ops.h>

#include "support/tensor_checks.h"

namespace ingot {
namespace {

using namespace testing_support;

TEST(Views, IndexingFollowsNumPy) {
  Tensor x = iota({2, 3, 4});
  EXPECT_TRUE(has_values(x[1][{2, Slice(1, 3)}], {21, 22}));
  EXPECT_TRUE((x[{All, None, -1}].sizes() == Dims{2, 1, 4}));
  EXPECT_TRUE(has_values(x[{Ellipsis, -1}], {3, 7, 11, 15, 19, 23}));
  EXPECT_TRUE(has_values(x[{0, All, Slice({}, {}, 3)}], {0, 3, 4, 7, 8, 11}));
  EXPECT_EQ((x[{All, Slice(5, 9)}].numel()), 0);
}

TEST(Views, WritesReachTheBaseAndCountAsVersions) {
  Tensor x = zeros({2, 3});
  Tensor column = x[{All, 1}];
  const auto before = x.get().storage->version;
  column = column;  // rebinds, writes nothing
  EXPECT_EQ(x.get().storage->version, before);
  column.add_(tensor({1, 2}));
  x[{1, Slice(1, 3)}] = 7;
  EXPECT_TRUE(has_values(x, {0, 1, 0, 0, 7, 7}));
  EXPECT_EQ(x.get().storage->version, before + 2);
  EXPECT_EQ(x.t().get().storage.get(), x.get().storage.get());
}

TEST(Views, OverlappingCopiesReadBeforeTheyWrite) {
  Tensor x = iota({6});
  x[{Slice(1, 6)}].copy_(x[{Slice(0, 5)}]);
  EXPECT_TRUE(has_values(x, {0, 0, 1, 2, 3, 4}));
}

// The line is that of the brackets, as everywhere, and so is the one a compiled function reports.
TEST(Errors, OfBracketsNameTheirLine) {
  Tensor x = iota({2, 3});
  const auto line = [](int l) { return "; at views_test.cpp:" + std::to_string(l); };
  EXPECT_TRUE(contains(error_of([&] { (void)x[2]; }), line(__LINE__)));
  EXPECT_TRUE(contains(error_of([&] { (void)x[0][-4]; }), line(__LINE__)));
  EXPECT_TRUE(contains(error_of([&] { (void)x[{1, 3}]; }), line(__LINE__)));
  EXPECT_TRUE(contains(error_of([&] { (void)x[{All, All, 0}]; }), line(__LINE__)));
  EXPECT_TRUE(contains(error_of([&] { (void)x[{Ellipsis, Ellipsis}]; }), line(__LINE__)));
  EXPECT_TRUE(contains(error_of([&] { (void)x[{Slice(0, 2, -1)}]; }), line(__LINE__)));
  EXPECT_TRUE(contains(error_of([&] { (void)x[tensor({5}, kInt64)]; }), line(__LINE__)));
  EXPECT_TRUE(contains(error_of([&] { (void)x[ones({3, 3}) > 0]; }), line(__LINE__)));
  EXPECT_TRUE(contains(error_of([&] { x[5] = 1; }), line(__LINE__)));
  EXPECT_THROW((void)x[2], IndexError);
}

TEST(Errors, NameTheOpAndLeaveTensorsAsTheyWere) {
  Tensor x = iota({2, 3}), copy = x.clone();
  const auto version = x.get().storage->version;
  const std::vector<std::pair<std::string, std::function<void()>>> mistakes = {
      {"add", [&] { x.add_(ones({4})); }},
      {"copy_",
       [&] {
         x.copy_(ones({2, 2}));
       }},
      {"matmul", [&] { (void)matmul(x, x); }},
      {"select", [&] { (void)select(x, 0, 2); }},
      {"index_put_",
       [&] {
         x.index_put_({tensor({0, 9}, kInt64)}, 5);
       }},
      {"mean", [&] { (void)mean(x.to(kInt64)); }},
      // Refused before there is an op.
      {"sum", [&] { (void)x.sum({2}); }},
      {"sum",
       [&] {
         (void)x.sum({0, 0});
       }},
      {"logsumexp", [&] { (void)x.logsumexp(2); }},
      {"softmax", [&] { (void)x.softmax(-3); }},
      {"cat",
       [&] {
         (void)cat({x, x}, 2);
       }},
      {"flip", [&] { (void)x.flip({2}); }},
      {"gather",
       [&] {
         (void)x.gather(2, zeros({1, 1}, kInt64));
       }},
      {"gelu", [&] { (void)gelu(x, "exact"); }},
      {"masked_select", [&] { (void)masked_select(x, ones({5}) > 0); }},
      {"size", [&] { (void)x.size(2); }},
      {"requires_grad_", [&] { x.to(kInt64).requires_grad_(); }},
      {"retain_grad", [&] { x.retain_grad(); }},
      {"register_hook", [&] { x.register_hook([](const Tensor& dy) { return dy; }); }},
  };
  for (const auto& [op, act] : mistakes) {
    const std::string error = error_of(act);
    EXPECT_TRUE(contains(error, op));
    EXPECT_TRUE(contains(error, "; at views_test.cpp:")) << op;
    EXPECT_TRUE(same_bits(x, copy)) << op;
    EXPECT_EQ(x.get().storage->version, version) << op;
  }
}

TEST(Allocator, BlocksAreReusedUntilTheCacheIsEmptied) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "under AddressSanitizer every block comes from the system";
#endif
  empty_cache();
  const i64 in_use = memory_stats().reserved;  // by tensors of the process
  { Tensor x = zeros({1 << 18}); }
  const MemoryStats first = memory_stats();
  { Tensor x = zeros({1 << 18}); }
  EXPECT_EQ(memory_stats().from_system, first.from_system);
  EXPECT_GT(memory_stats().reserved, memory_stats().allocated);
  empty_cache();
  EXPECT_EQ(memory_stats().reserved, in_use);
}

TEST(Allocator, OutOfMemoryIsAnErrorAndTheNextRequestWorks) {
  empty_cache();
  set_memory_limit(memory_stats().reserved + (4 << 20));
  EXPECT_THROW((void)zeros({1 << 24}), OutOfMemoryError);
  Tensor small = ones({1 << 10});
  EXPECT_EQ(small.sum().item<float>(), 1024);
  set_memory_limit(0);
  EXPECT_EQ(zeros({1 << 24}).numel(), 1 << 24);
  EXPECT_THROW(set_memory_limit(-1), Error);
}

// What somebody else keeps to save time, until memory runs out.
void* g_kept = nullptr;
constexpr std::size_t kKept = 8 << 20;

TEST(Allocator, HooksGiveUpWhatTheyKeepBeforeMemoryRunsOut) {
  on_memory_shortage([](Device device) noexcept {
    if (device.is_cpu()) deallocate(std::exchange(g_kept, nullptr), kKept, device);
  });
  g_kept = allocate(kKept, kCPU);
  empty_cache();
  set_memory_limit(memory_stats().reserved + (1 << 20));
  EXPECT_EQ(zeros({1 << 18}).numel(), 1 << 18);  // fits
  EXPECT_NE(g_kept, nullptr);
  const Tensor x = zeros({1 << 20});
  EXPECT_EQ(g_kept, nullptr);
  EXPECT_THROW((void)zeros({1 << 24}), OutOfMemoryError);
  set_memory_limit(0);
}

}  // namespace
}  // namespace ingot
