// The tests of other folders that this program holds too run under a shadow: each op that they call
// eagerly is compared with its CUDA kernel on the host.
#include <cstring>
#include <iostream>
#include <optional>

#include <gtest/gtest.h>

#include <ingot/kernels/cpu/isa_level.h>
#include <ingot/runtime/config.h>

#include "cuda_on_host/shadow.h"

namespace ingot::emulation {
namespace {

class UnderShadow : public ::testing::EmptyTestEventListener {
  void OnTestStart(const ::testing::TestInfo& test) override {
    // This folder's own tests say themselves what is shadowed.
    for (const char* own : {"Emulation", "EmulatedFaults", "Shadow"}) {
      if (std::strstr(test.test_suite_name(), own) != nullptr) return;
    }
    shadow_.emplace();
  }
  void OnTestEnd(const ::testing::TestInfo&) override { shadow_.reset(); }
  void OnTestProgramEnd(const ::testing::UnitTest&) override {
    const Shadow::Tally& tally = Shadow::tally();
    i64 calls = 0;
    for (const auto& [name, n] : tally.compared) calls += n;
    if (calls > 0) {
      std::cout << calls << " calls of " << tally.compared.size() << " ops compared, "
                << tally.failures << " differ\n";
    }
    for (const auto& [name, part] : tally.used) {
      std::cout << name << ": at most " << part << " of the allowed difference\n";
    }
    for (const auto& [name, n] : tally.missing) {
      std::cout << name << ": no CUDA kernel for " << n << " calls\n";
    }
  }

  std::optional<Shadow> shadow_;
};

// The environment's settings first, for some tests ask kernels before they call an op.
class CpuRunsTheUnits : public ::testing::Environment {
  void SetUp() override {
    (void)build_info();
#if defined(INGOT_EMULATION_NEEDS_V3)
    if (detected_isa_level() < IsaLevel::v3) {
      GTEST_SKIP() << "the kernels' units were built for x86-64-v3, which this CPU is not";
    }
#endif
  }
};

[[maybe_unused]] const bool kRegistered = [] {
  ::testing::AddGlobalTestEnvironment(new CpuRunsTheUnits);
  ::testing::UnitTest::GetInstance()->listeners().Append(new UnderShadow);
  return true;
}();

}  // namespace
}  // namespace ingot::emulation
