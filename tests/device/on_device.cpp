// Test programs that are run once more with INGOT_DEVICE=cuda report their tests as skipped, with
// the reason, where there is no GPU.
#include <gtest/gtest.h>

#include <ingot/runtime/config.h>
#include <ingot/runtime/tensor.h>

namespace {

class DeviceIsThere : public ::testing::Environment {
  void SetUp() override {
    if (ingot::default_device().is_cuda() && !ingot::cuda::is_available()) {
      GTEST_SKIP() << "no GPU: " << ingot::cuda::unavailable_reason();
    }
  }
};

[[maybe_unused]] const auto* const kRegistered =
    ::testing::AddGlobalTestEnvironment(new DeviceIsThere);

}  // namespace
