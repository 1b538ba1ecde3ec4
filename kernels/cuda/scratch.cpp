#include <utility>

#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cuda/device.h>
#include <ingot/kernels/cuda/scratch.h>

namespace ingot {

namespace {
ScratchProvider g_provider{};
constinit thread_local ScratchHold* t_hold = nullptr;
}  // namespace

void set_scratch_provider(ScratchProvider provider) { g_provider = provider; }

ScratchHold::~ScratchHold() {
  // A graph that goes while this thread records another one does not leave its memory to that.
  ScratchHold* const recording = std::exchange(t_hold, nullptr);
  for (const Block& b : blocks_) {
    if (b.free) g_provider.give(b.data, b.bytes, b.device);
  }
  t_hold = recording;
}
ScratchHold::Use::Use(ScratchHold& hold) : outer_(t_hold) { t_hold = &hold; }
ScratchHold::Use::~Use() { t_hold = outer_; }

bool ScratchHold::keep(void* block, std::size_t bytes, int device) {
  if (t_hold == nullptr) [[likely]]
    return false;
  for (Block& b : t_hold->blocks_) {
    if (b.data != block || b.device != device) continue;
    b.bytes = bytes;
    b.free = true;
    return true;
  }
  t_hold->blocks_.push_back({block, bytes, device, true});
  return true;
}

void* ScratchHold::take(std::size_t bytes, int device) {
  if (t_hold == nullptr) [[likely]]
    return nullptr;
  for (Block& b : t_hold->blocks_) {
    if (!b.free || b.bytes != bytes || b.device != device) continue;
    b.free = false;
    return b.data;
  }
  return nullptr;
}

void ScratchHold::note(void* block, std::size_t bytes, int device) {
  if (t_hold != nullptr) t_hold->blocks_.push_back({block, bytes, device, false});
}

inline namespace INGOT_ISA {

DeviceScratch::DeviceScratch(std::size_t bytes)
    : data_(nullptr), bytes_(bytes), device_(cuda::current_device()) {
  INGOT_BUG(g_provider.take != nullptr, "device scratch before the runtime is there");
  if (bytes == 0) return;
  data_ = ScratchHold::take(bytes, device_);
  if (data_ != nullptr) return;
  data_ = g_provider.take(bytes);
  ScratchHold::note(data_, bytes, device_);
}
DeviceScratch::~DeviceScratch() {
  if (data_ != nullptr) g_provider.give(data_, bytes_, device_);
}

}  // namespace INGOT_ISA
}  // namespace ingot
