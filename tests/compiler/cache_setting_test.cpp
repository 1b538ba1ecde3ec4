// INGOT_CACHE_DIR where it comes late or names what cannot be used: each case is a process of its
// own, since the setting counts for a whole process.
#include <cstdlib>
#include <filesystem>
#include <sys/wait.h>

#include <gtest/gtest.h>

#include <ingot/compiler/compile.h>
#include <ingot/runtime/ops.h>

namespace ingot {
namespace {

// Compiled and stored, found in the folder, or neither.
enum Outcome { kStored = 0, kFound = 10, kNeither = 11 };

[[noreturn]] void compile_and_exit(const std::string& folder, bool uses_the_library_first) {
  if (uses_the_library_first) (void)(ones({64}) + 1);
  setenv("INGOT_CACHE_DIR", folder.c_str(), 1);
  const auto f = compile([](const Tensor& x) { return tanh(x * 3 + 1) * x; });
  const Tensor x = ones({64});
  if (!equal(f(x), tanh(x * 3 + 1) * x)) std::exit(1);
  const Ledger ledger = f.ledger();
  std::exit(ledger.disk_hits > 0 ? kFound : ledger.compiles > 0 ? kStored : kNeither);
}

class CacheSettingDeathTest : public testing::Test {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const char* compiler = std::getenv("INGOT_CXX");
    if (compiler != nullptr && std::string(compiler) == "none") GTEST_SKIP() << "needs a compiler";
  }
};

TEST_F(CacheSettingDeathTest, CountsAfterTheFirstUseOfTheLibrary) {
  // The processes come here too, and take the folder that the first of them has made.
  if (std::getenv("CACHE_SETTING_FOLDER") == nullptr) {
    std::string made = testing::TempDir() + "ingot-cache-setting-XXXXXX";
    ASSERT_NE(mkdtemp(made.data()), nullptr);
    setenv("CACHE_SETTING_FOLDER", made.c_str(), 1);
  }
  const std::string folder = std::getenv("CACHE_SETTING_FOLDER");
  EXPECT_EXIT(compile_and_exit(folder, true), testing::ExitedWithCode(kStored), "");
  EXPECT_EXIT(compile_and_exit(folder, true), testing::ExitedWithCode(kFound), "");
  unsetenv("CACHE_SETTING_FOLDER");
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

TEST_F(CacheSettingDeathTest, IsNamedWhereTheFolderCannotBeUsed) {
  for (const char* folder : {"/proc/none", "/dev/null", "/dev/null/below"}) {
    EXPECT_EXIT(compile_and_exit(folder, false), testing::ExitedWithCode(kStored),
                "kernel cache \\(INGOT_CACHE_DIR\\): folder .*; kernels are kept in memory only");
  }
}

TEST_F(CacheSettingDeathTest, OfAnOpenCacheIsSaidToBeTooLate) {
  EXPECT_EXIT(
      {
        const auto first = compile([](const Tensor& x) { return x * 2 + 1; });
        (void)first(ones({64}));
        compile_and_exit("/tmp/ingot-too-late", false);
      },
      [](int status) { return WIFEXITED(status) && WEXITSTATUS(status) != 1; },
      "INGOT_CACHE_DIR is now \"/tmp/ingot-too-late\", which is too late");
}

}  // namespace
}  // namespace ingot
