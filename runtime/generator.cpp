#include <mutex>

#include <ingot/runtime/generator.h>

namespace ingot {

namespace {
std::mutex g_mutex;
Ticket g_state;
}  // namespace

void manual_seed(std::uint64_t seed) { set_generator_state({seed, 0}); }

Ticket draw_ticket(Device, i64 blocks) {
  std::lock_guard lock(g_mutex);
  Ticket ticket = g_state;
  g_state.offset += static_cast<std::uint64_t>(blocks);
  return ticket;
}

Ticket generator_state(Device) {
  std::lock_guard lock(g_mutex);
  return g_state;
}

void set_generator_state(Ticket state, Device) {
  std::lock_guard lock(g_mutex);
  g_state = state;
}

}  // namespace ingot
