// Test programs that are run once more with INGOT_DEVICE=cuda report their tests as skipped, with
// the reason, where there is no GPU.
#include <cstdlib>
#include <cstring>

#include <gtest/gtest.h>

#include <ingot/runtime/config.h>

namespace {

class DeviceIsThere : public ::testing::Environment {
  void SetUp() override {
    // Asked here and not of the library: tests of the environment must find it unread.
    const char* device = std::getenv("INGOT_DEVICE");
    const bool on_gpu = device != nullptr && std::strncmp(device, "cuda", 4) == 0;
    if (on_gpu && !ingot::cuda::is_available()) {
      GTEST_SKIP() << "no GPU: " << ingot::cuda::unavailable_reason();
    }
  }
};

[[maybe_unused]] const auto* const kRegistered =
    ::testing::AddGlobalTestEnvironment(new DeviceIsThere);

}  // namespace
