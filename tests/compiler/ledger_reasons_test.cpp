// The ledger names the environment where that is why nothing was compiled, and the program's own
// lines. The environment is read once in a process, so each case is a process of its own.
#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>

#include <ingot/ingot.h>

namespace ingot {
namespace {

[[noreturn]] void print_ledger_with(const char* variable, const char* value) {
  setenv(variable, value, 1);
  const auto f = compile([](const Tensor& a) { return tanh(a * 2 + 1); });
  for (int i = 0; i < 2; ++i) (void)f(ones({64}));
  std::fputs(f.ledger().table().c_str(), stderr);
  std::exit(0);
}

class LedgerReasonsDeathTest : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(LedgerReasonsDeathTest, CompilingIsSwitchedOff) {
  EXPECT_EXIT(print_ledger_with("INGOT_COMPILE", "0"), testing::ExitedWithCode(0),
              "INGOT_COMPILE=0: the call was eager .at ledger_reasons_test.cpp:[0-9]+., 2 times");
}

TEST_F(LedgerReasonsDeathTest, ThereIsNoHostCompiler) {
  EXPECT_EXIT(print_ledger_with("INGOT_CXX", "none"), testing::ExitedWithCode(0),
              "INGOT_CXX is 'none' .at ledger_reasons_test.cpp:[0-9]+.");
}

}  // namespace
}  // namespace ingot
