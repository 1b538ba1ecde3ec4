#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include <ingot/kernels/core/error.h>
#include <ingot/kernels/cpu/gemm.h>
#include <ingot/kernels/cpu/isa_level.h>

namespace ingot {
namespace {

TEST(IsaLevel, NamesAreReadBack) {
  for (const IsaLevel level : {IsaLevel::base, IsaLevel::v3, IsaLevel::v4}) {
    EXPECT_EQ(isa_from_name(isa_name(level)), level);
  }
  EXPECT_EQ(isa_from_name("v3"), IsaLevel::v3);
  EXPECT_EQ(isa_from_name("v4"), IsaLevel::v4);
  for (const char* name : {"", "v5", "native", "x86-64", "V3", "se"}) {
    EXPECT_THROW(isa_from_name(name), Error) << name;
  }
}

TEST(IsaLevel, TheChosenLevelRunsHere) {
  const IsaLevel level = isa_level();
  EXPECT_LE(level, detected_isa_level());
  EXPECT_EQ(&gemm_table(), gemm_table(level));
  // No built level lies between the chosen one and the CPU's.
  for (const IsaLevel other : {IsaLevel::v3, IsaLevel::v4}) {
    if (other > level && other <= detected_isa_level()) {
      EXPECT_EQ(gemm_table(other), nullptr) << isa_name(other);
    }
  }
}

TEST(IsaLevel, FeaturesSpellTheLevelOut) {
  const std::string features = isa_features();
  EXPECT_EQ(features.find(std::string(isa_name(isa_level())) + ": "), 0u) << features;
  EXPECT_EQ(features.find("native"), std::string::npos);
  if (isa_level() >= IsaLevel::v3) {
    EXPECT_NE(features.find(" fma"), std::string::npos) << features;
  }
  EXPECT_EQ(features.find("avx512vl") != std::string::npos, isa_level() == IsaLevel::v4);
}

TEST(IsaLevel, ACapThatComesTooLateIsAnError) {
  const IsaLevel level = isa_level();
  set_isa_cap(IsaLevel::v4);  // changes nothing
  EXPECT_EQ(isa_level(), level);
  if (level != IsaLevel::base && gemm_table(IsaLevel::base)) {
    EXPECT_THROW(set_isa_cap(IsaLevel::base), Error);
  }
  EXPECT_EQ(isa_level(), level);
}

class IsaLevelDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { ::testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

TEST_F(IsaLevelDeathTest, ACapBeforeTheFirstUseHolds) {
  if (!gemm_table(IsaLevel::base)) GTEST_SKIP() << "base is not in this build";
  EXPECT_EXIT(
      {
        set_isa_cap(IsaLevel::base);
        std::_Exit(
            isa_level() == IsaLevel::base && &gemm_table() == gemm_table(IsaLevel::base) ? 7 : 1);
      },
      ::testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace ingot
