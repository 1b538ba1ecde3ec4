// A launch on the host: blocks one after another on each thread of the pool, a block's threads as
// fibres that switch where they wait for one another.
// Owns: run_grid(), what a thread of a block knows of itself, barriers, the exchange of values in a
// warp, errors of kernels that would hang. A thread that waits for nobody costs no switch: one
// fibre runs threads in turn until one waits. Must not know: CUDA's spelling, kernels.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "cuda_on_host/place.h"

namespace ingot::emulation {

inline constexpr unsigned kWarpSize = 32;

struct Index3 {
  unsigned x = 0, y = 0, z = 0;
};
extern constinit thread_local Index3 t_thread, t_block, t_block_size, t_grid_size;

// A kernel that a GPU would not end, or with no defined result. what(): the kernel's launch, the
// block, and the threads that wait.
class KernelError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The order in which a block's threads and the grid's blocks take their turns. What a kernel leaves
// to chance differs between them: a missing barrier shows as different bits.
enum class Order { ascending, descending };
void set_order(Order order);  // of this thread's launches

struct Launch {
  std::int64_t blocks;
  unsigned threads;
  unsigned shared;       // bytes of dynamic shared memory
  const char* function;  // that launches
  Place place;
};
void run_grid(const Launch& launch, void (*body)(void*), void* context);

// Launches so far, of all threads.
std::int64_t launches();
// What was launched last by this thread; for those who report crashes.
const Launch& last_launch();

// For the threads of a block.
void sync_block(Place place);
// Waits for all lanes of `mask`; result: the value that lane `source` brought.
std::uint64_t exchange(unsigned mask, std::uint64_t value, int source, Place place);
// The lanes of `mask` that brought true.
unsigned ballot(unsigned mask, bool value, Place place);
// How many threads of the block brought true.
int count_in_block(bool value, Place place);
unsigned lane_id();
void* dynamic_shared();

}  // namespace ingot::emulation
