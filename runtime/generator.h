// The random state of a device: a seed and a counter offset. Never seeded means seed 0.
// Owns: tickets. A random op of n blocks (structured/random.h) advances the offset by n, whatever
// runs it. Must not know: Philox, tensors.
#pragma once

#include <ingot/kernels/core/attrs.h>
#include <ingot/kernels/core/dtype.h>

namespace ingot {

void manual_seed(std::uint64_t seed);  // every device's generator
Ticket draw_ticket(Device device, i64 blocks);

// To save and restore around a piece of work.
Ticket generator_state(Device device = kCPU);
void set_generator_state(Ticket state, Device device = kCPU);

}  // namespace ingot
