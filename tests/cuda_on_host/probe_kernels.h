// Kernels that only try the emulation out.
// Owns: their launches. Must not know: what the tests expect.
#pragma once

#include <ingot/kernels/ops/isa.h>

namespace ingot {
inline namespace isa_emulated {

// out[block] = the sum of in[block * threads ...], over shared memory and barriers.
void probe_block_sums(float* out, const float* in, int blocks, int threads);
// The same without the barrier that it needs.
void probe_missing_barrier(float* out, const float* in, int threads);
// out[i] = the sum over the warp of i, by shuffles; f64 and 64-bit integers too.
void probe_warp_sums(double* out, const double* in, long long* counts, int threads);
// Each shuffle once, of the thread's number: 4 results a thread.
void probe_shuffles(int* out, int threads, int width);
// Two halves of a warp wait for themselves alone.
void probe_half_warps(int* out);
// atomicAdd, atomicMax and the order that atomicInc gives.
void probe_atomics(int* sum, int* most, unsigned* turn, int blocks, int threads);
// Dynamic shared memory, reversed through it.
void probe_dynamic_shared(int* out, int threads, int written);

// Loads 16 bytes from `in`, at once.
void probe_vector_load(float* out, const float* in);

void probe_exit_before_barrier(int threads);
void probe_different_barriers(int threads);
void probe_lane_outside_mask();
void probe_lost_lane();

}  // namespace isa_emulated
}  // namespace ingot
