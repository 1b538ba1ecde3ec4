#include <array>
#include <mutex>

#include <ingot/kernels/cuda/device.h>
#include <ingot/runtime/generator.h>

namespace ingot {

namespace {

std::mutex g_mutex;
Ticket g_host;
std::array<Ticket, cuda::kMaxDevices> g_cuda;

Ticket& state_of(Device device) {
  if (device.is_cpu()) return g_host;
  return g_cuda[static_cast<std::size_t>(device.index()) % cuda::kMaxDevices];
}

}  // namespace

void manual_seed(std::uint64_t seed) {
  std::lock_guard lock(g_mutex);
  g_host = {seed, 0};
  g_cuda.fill({seed, 0});
}

Ticket draw_ticket(Device device, i64 blocks) {
  std::lock_guard lock(g_mutex);
  Ticket& state = state_of(device);
  Ticket ticket = state;
  state.offset += static_cast<std::uint64_t>(blocks);
  return ticket;
}

Ticket generator_state(Device device) {
  std::lock_guard lock(g_mutex);
  return state_of(device);
}

void set_generator_state(Ticket state, Device device) {
  std::lock_guard lock(g_mutex);
  state_of(device) = state;
}

}  // namespace ingot
