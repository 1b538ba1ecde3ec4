// What CUPTI sees of replayed CUDA graphs, session after session.
#include <gtest/gtest.h>

#include <ingot/ingot.h>

namespace ingot {
namespace {

class ProfiledGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!cuda::is_available()) GTEST_SKIP() << "no GPU: " << cuda::unavailable_reason();
    manual_seed(7);
  }
};

// Two functions whose graphs have equally many nodes, so that counts alone would not tell a launch
// of the one from a launch of the other.
TEST_F(ProfiledGpu, NodesOfGraphsHaveTheirOpsInEverySession) {
  const Tensor x = randn({256, 1024}, kCUDA), w = randn({1024, 1024}, kCUDA);
  const auto first =
      compile([&] { return (matmul(x, w).tanh() * 0.5).flip({1}); }, {.name = "first"});
  const auto second = compile([&] { return exp(matmul(x, w)).flip({1}); }, {.name = "second"});
  constexpr int kCalls = 20;
  for (int i = 0; i < 6; ++i) (void)first(), (void)second();
  cuda::synchronize();
  std::int64_t per_call = 0;
  for (int number = 1; number <= 3; ++number) {
    SCOPED_TRACE(number);
    profiler::Session session;
    for (int i = 0; i < kCalls; ++i) (void)first(), (void)second();
    session.stop();
    const profiler::Averages a = session.key_averages();
    if (a.gpu_source().find("CUPTI") == std::string::npos) GTEST_SKIP() << a.table();
    ASSERT_GE(first.ledger().graphs.launches, kCalls) << first.ledger();
    ASSERT_GE(second.ledger().graphs.launches, kCalls) << second.ledger();
    const std::string table = a.table();
    EXPECT_EQ(table.find("with other nodes"), std::string::npos) << table;
    EXPECT_EQ(table.find("THE COUNTS DIFFER"), std::string::npos) << table;
    for (const char* op : {"matmul", "fused", "exp", "flip"}) {
      const auto row = a.find(op);
      ASSERT_TRUE(row.has_value()) << op << '\n' << table;
      const bool of_both = op == std::string("matmul") || op == std::string("flip");
      EXPECT_EQ(row->calls, of_both ? 2 * kCalls : kCalls) << op;
      EXPECT_EQ(row->gpu_work % row->calls, 0) << op;
      EXPECT_GT(row->self_device_us, 0) << op;
    }
    EXPECT_EQ(a.find("fused")->fused_from, "tanh mul");
    const std::int64_t work = a.find("matmul")->gpu_work;
    if (number == 1) per_call = work;
    EXPECT_EQ(work, per_call);
  }
}

}  // namespace
}  // namespace ingot
