// Scratch memory of kernels on the host, guarded.
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include <ingot/kernels/cuda/scratch.h>

#include "cuda_on_host/guarded.h"

namespace ingot {

namespace {
std::mutex g_mutex;
std::map<void*, emulation::GuardedMemory> g_live;
std::string g_damage;
}  // namespace

std::string emulation::scratch_damage() {
  const std::lock_guard lock(g_mutex);
  return std::exchange(g_damage, "");
}

inline namespace INGOT_ISA {

DeviceScratch::DeviceScratch(std::size_t bytes) : data_(nullptr), bytes_(bytes) {
  if (bytes == 0) return;
  emulation::GuardedMemory memory(bytes);
  data_ = memory.data();
  const std::lock_guard lock(g_mutex);
  g_live.emplace(data_, std::move(memory));
}

DeviceScratch::~DeviceScratch() {
  if (data_ == nullptr) return;
  const std::lock_guard lock(g_mutex);
  const auto it = g_live.find(data_);
  if (const std::string damage = it->second.damage(); !damage.empty()) {
    g_damage = "scratch memory: " + damage;
  }
  g_live.erase(it);
}

}  // namespace INGOT_ISA
}  // namespace ingot
