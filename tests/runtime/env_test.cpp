// What the environment's reader says of values that it cannot use. It reads once in a process, so
// each case is a process of its own.
#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>

#include <ingot/kernels/core/error.h>
#include <ingot/kernels/cpu/threads.h>
#include <ingot/runtime/env.h>
#include <ingot/runtime/ops.h>

namespace ingot {
namespace {

[[noreturn]] void read_with(const char* variable, const char* value) {
  setenv(variable, value, 1);
  try {
    (void)env();
  } catch (const Error& error) {
    std::fputs(error.what(), stderr);
    std::exit(1);
  }
  std::exit(0);
}

void expect_error(const char* variable, const char* value, const char* text) {
  EXPECT_EXIT(read_with(variable, value), testing::ExitedWithCode(1), text)
      << variable << '=' << value;
}

class EnvDeathTest : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(EnvDeathTest, AnErrorNamesWhatIsAllowed) {
  expect_error("INGOT_THREADS", "x", "INGOT_THREADS=x is not a number of threads from 1 to 256");
  expect_error("INGOT_THREADS", "0", "INGOT_THREADS=0 is not a number of threads from 1 to 256");
  expect_error("INGOT_THREADS", "257", "INGOT_THREADS=257 is not a number");
  expect_error("INGOT_ISA", "V3", "INGOT_ISA=V3 is none of base, v3, v4");
  expect_error("INGOT_COMPILE", "yes", "INGOT_COMPILE=yes is neither 0 nor 1");
  expect_error("INGOT_VERIFY", "2", "INGOT_VERIFY=2 is neither 0 nor 1");
  expect_error("INGOT_DETECT_ANOMALY", "nan", "INGOT_DETECT_ANOMALY=nan is none of 0, 1, inf");
  expect_error(
      "INGOT_DISABLE", "fusion, codegen",
      "INGOT_DISABLE: \" codegen\" is none of fusion, epilogue, codegen, disk_cache, cuda_graph");
  for (const char* with_an_empty_item : {"fusion,", ",", ",fusion", "fusion,,codegen"}) {
    expect_error("INGOT_DISABLE", with_an_empty_item, "INGOT_DISABLE: \"\" is none of fusion, ");
  }
  expect_error("INGOT_DEVICE", "gpu", "INGOT_DEVICE=gpu is none of cpu, cuda, cuda:0");
}

TEST_F(EnvDeathTest, AnUnknownNameWarns) {
  EXPECT_EXIT(read_with("INGOT_THREAD", "2"), testing::ExitedWithCode(0),
              "the environment variable INGOT_THREAD is not known");
}

TEST_F(EnvDeathTest, KernelSettingsCountUntilTheFirstKernel) {
  EXPECT_EXIT(
      {
        (void)env();
        setenv("INGOT_CACHE_DIR", "/tmp/one", 1);
        const bool used = kernel_env().cache_dir == "/tmp/one";
        warn_of_late_changes();
        std::exit(used ? 0 : 1);
      },
      testing::ExitedWithCode(0), "^$");
}

TEST_F(EnvDeathTest, ASettingThatComesTooLateIsSaid) {
  EXPECT_EXIT(
      {
        setenv("INGOT_CACHE_DIR", "/tmp/one", 1);
        setenv("INGOT_THREADS", "2", 1);
        (void)env();
        (void)kernel_env();
        setenv("INGOT_CACHE_DIR", "/tmp/two", 1);
        setenv("INGOT_THREADS", "3", 1);
        for (int time = 0; time < 2; ++time) warn_of_late_changes();
        std::exit(kernel_env().cache_dir == "/tmp/one" ? 0 : 1);
      },
      testing::ExitedWithCode(0),
      "^ingot: INGOT_CACHE_DIR is now \"/tmp/two\", which is too late: it was \"/tmp/one\" when it "
      "was first needed, and that stays\ningot: INGOT_THREADS is now \"3\".*\n$");
}

TEST_F(EnvDeathTest, TheProgramsThreadsOverruleTheEnvironments) {
  EXPECT_EXIT(
      {
        setenv("INGOT_THREADS", "7", 1);
        set_num_threads(3);
        (void)(ones({2}) + 1);
        std::exit(num_threads() == 3 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
  EXPECT_EXIT(
      {
        setenv("INGOT_THREADS", "7", 1);
        (void)num_threads();
        (void)(ones({2}) + 1);
        std::exit(num_threads() == 7 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace ingot
