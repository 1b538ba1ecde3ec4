// How a figure is measured on a GPU.
// Owns: host time, time with the end awaited, time on the device, time inside a CUDA graph; all of
// them in turns, one series for each contender. Must not know: what is measured.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "harness.h"

namespace ingot::cuda {
class Graph;
}

namespace bench::gpu {

// A call that gives work to the current stream. Its argument counts the calls, for those that take
// another buffer each time so that nothing is left of it in the GPU's cache.
using Call = std::function<void(int)>;

struct Effort {
  double seconds = 0.5;  // of one race
  int rounds = 9;        // at least
};

// Host microseconds per call. The stream is idle before each batch, and a batch is too short to
// fill the launch queue: what is measured is the host's own work, not its waiting.
std::vector<Series> host_race(const std::vector<Call>& contenders, Effort effort = {});

// Microseconds per call from the first call of a batch until the GPU has done the last.
std::vector<Series> wall_race(const std::vector<Call>& contenders, Effort effort = {});

// GPU microseconds per call, by events around a batch that lies complete in the stream before its
// first call starts.
std::vector<Series> device_race(const std::vector<Call>& contenders, Effort effort = {});

// The call, so many times, as one CUDA graph whose nodes each wait for the one before.
class InGraph {
 public:
  // Throws when the call does what cannot be recorded.
  InGraph(const Call& call, int times);
  ~InGraph();
  InGraph(const InGraph&) = delete;
  void launch() const;

 private:
  std::unique_ptr<ingot::cuda::Graph> graph_;
};

// GPU microseconds per call inside a graph.
std::vector<Series> graph_race(const std::vector<Call>& contenders, Effort effort = {});

// A row with a measured limit.
Row row_of(const char* name, const Series& ours, const Series& limit, const char* limit_name);
// As a row of the table says it: "<= 1.15 x".
void judge(Row& row, double allowed);

}  // namespace bench::gpu
