// From a timeline to a verdict.
// Owns: the units (steps, passes through a range) and what was spent in each; judge(), which
// applies the rules that verdict.h states. Must not know: how events were recorded.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <ingot/profiler/profiler.h>
#include <ingot/profiler/timeline.h>
#include <ingot/profiler/verdict.h>

namespace ingot::profiler {

// Times in ns.
struct Unit {
  std::string name;
  double wall = 0;                           // the recorder's own cost taken off
  double device = 0;                         // some kernel body ran
  double op_host = 0;                        // host time of ops and replays
  double memory_side = 0, compute_side = 0;  // device time by the roofline's sides ...
  double far = 0;                            // ... and far below both
  double roofline = 0;                       // the least time for the kernels of known cost ...
  double known = 0;                          // ... and their device time
  double half_bytes = 0;                     // what half the bytes would save
  double observer = 0;
  std::int64_t events = 0, launches = 0;
  double self_host = 0, self_device = 0;  // as the table counts them
  bool compiles = false;
  // A pass that nests in nothing: what began during it counts, on its thread, or on all threads
  // when it ended on another one.
  bool beside = false;
  bool unseen = false;  // kernels were launched on a GPU that nobody observed

  // Beside a GPU: `device` is the time in which work ran that this unit launched, `wall` what the
  // unit added to the time until all work so far was done, `host_work` the host's time without its
  // waits for the GPU.
  bool gpu = false;
  double host_work = 0;
  std::int64_t graphs = 0, graph_nodes = 0;  // launched graphs, among `launches`, and their nodes
  std::int64_t begin = 0, end = 0, last_work = 0;

  double host() const { return wall > device ? wall - device : 0; }
};

// The steps, or with a name the passes through that range. Throws Error for an unknown name.
std::vector<Unit> units_of(const Timeline& timeline, std::string_view range,
                           const Roofline& roofline);

Verdict judge(const std::vector<Unit>& units, std::string_view range, const Roofline& roofline);

}  // namespace ingot::profiler
