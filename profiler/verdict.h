// What limits a piece of code, with the evidence.
// Owns: Verdict and the rules below, their public statement. Must not know: how events were
// recorded.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace ingot::profiler {

struct Spread {
  double median = 0, p95 = 0, least = 0;
  int n = 0;  // 0: not measured
};

// What one step would take if ...; computed from the timeline, not measured.
struct WhatIf {
  std::string what;
  double step_us = 0, speedup = 1;
};

// A unit is a step (ProfilerStep#N) or one pass through a named range. Per unit, wall time = device
// time (some kernel body ran) + host time (none did); the recorder's own cost is taken off the host
// time. The rules:
//  1. Fewer than 3 units, or no event in them: not_enough_data. Units with compile phases, and a
//     first unit that took over twice the median of the others, are cold: left out when 3 others
//     remain, else named.
//  2. A unit with host >= 2 x device is overhead_bound (the reading "Self CPU >> Self CUDA" of the
//     PyTorch profiler tutorials).
//  3. A unit with device >= 2 x host is judged by the arithmetic intensity of each kernel against
//     the ridge of the roofline (Williams, Waterman, Patterson 2009), weighted with its time: two
//     thirds on one side make it memory_bound or compute_bound. A transcendental function counts as
//     16 operations, the length of our polynomials. Kernels that reach less than 5 % of the
//     roofline, which then is not what limits them, and kernels of unknown cost count for no side.
//  4. Any other unit is mixed.
//  5. The verdict is what two thirds of the units are; mixed when there is no such majority.
// Where a GPU was recorded it works beside the host, which may be steps ahead of it. Then a unit's
// wall time is what it added to the time until all work so far was done, and its device time that
// in which work ran that it launched, whenever that was. Rules 2 and 3 become: a GPU that works
// less than 75 % of the wall time waits for the host, overhead_bound; one that works 85 % or more
// is judged by the roofline, products by the peak of the units for their dtype.
struct Verdict {
  enum Kind { overhead_bound, memory_bound, compute_bound, mixed, not_enough_data };
  Kind kind = not_enough_data;
  std::string why;                    // one sentence
  std::vector<std::string> evidence;  // one sentence each
  std::vector<WhatIf> what_ifs;       // largest gain first
  std::string next;                   // what to try
  // Sums over the warm units, microseconds, observer included: the table's footer restricted to
  // them. device_busy is the share of their wall time in which some kernel body ran.
  double self_cpu_us = 0, self_device_us = 0, device_busy = 0;
  Spread step_us;  // of one unit
  int cold = 0;    // units left out
};

const char* to_string(Verdict::Kind kind);  // "overhead-bound"
std::string to_string(const Verdict& verdict);
std::ostream& operator<<(std::ostream& out, const Verdict& verdict);

}  // namespace ingot::profiler
