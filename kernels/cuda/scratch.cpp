#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cuda/scratch.h>

namespace ingot {

namespace {
ScratchProvider g_provider{};
}  // namespace

void set_scratch_provider(ScratchProvider provider) { g_provider = provider; }

inline namespace INGOT_ISA {

DeviceScratch::DeviceScratch(std::size_t bytes) : data_(nullptr), bytes_(bytes) {
  INGOT_BUG(g_provider.take != nullptr, "device scratch before the runtime is there");
  if (bytes > 0) data_ = g_provider.take(bytes);
}
DeviceScratch::~DeviceScratch() {
  if (data_ != nullptr) g_provider.give(data_, bytes_);
}

}  // namespace INGOT_ISA
}  // namespace ingot
