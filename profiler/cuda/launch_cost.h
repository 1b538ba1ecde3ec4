// What a launch costs its thread more while it is observed.
// Owns: the measurement, by the process's first session that finds a GPU in use: launches of an
// empty kernel and of graphs of such, before the observer is there and after. Some 5 ms. Must not
// know: the observer.
#pragma once

#include <memory>

#include <ingot/profiler/gpu_records.h>

namespace ingot::cuda {
class Graph;
}

namespace ingot::profiler {

class LaunchCostMeter {
 public:
  LaunchCostMeter();  // measures without the observer
  ~LaunchCostMeter();
  LaunchCostMeter(const LaunchCostMeter&) = delete;
  LaunchCostMeter& operator=(const LaunchCostMeter&) = delete;

  // Measures with it. `begin` and `end` are what it does around each launch.
  void observed(void (*begin)(), void (*end)());
  static LaunchCost known();

 private:
  struct Times {
    double kernel = 0, short_graph = 0, long_graph = 0;
  };
  Times measure(void (*begin)(), void (*end)()) const;

  std::unique_ptr<cuda::Graph> short_, long_;
  Times before_;
  bool ready_ = false;
};

}  // namespace ingot::profiler
