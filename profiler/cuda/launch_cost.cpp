#include <algorithm>
#include <atomic>
#include <cstdint>

#include <ingot/kernels/cuda/device.h>
#include <ingot/kernels/cuda/graph.h>
#include <ingot/kernels/cuda/timing.h>
#include <ingot/profiler/clock.h>
#include <ingot/profiler/cuda/launch_cost.h>

namespace ingot::profiler {
namespace {

constexpr int kLaunchBatches = 5, kLaunches = 48;
constexpr int kShort = 1, kLong = 9;  // nodes

std::atomic<bool> g_known{false};
LaunchCost g_cost;

template <class F>
double least_ns(void (*begin)(), void (*end)(), F&& launch) {
  std::int64_t best = INT64_MAX;
  for (int batch = 0; batch < kLaunchBatches; ++batch) {
    cuda::synchronize_stream();
    const std::int64_t start = monotonic_ns();
    for (int i = 0; i < kLaunches; ++i) {
      if (begin != nullptr) begin();
      launch();
      if (end != nullptr) end();
    }
    best = std::min(best, monotonic_ns() - start);
  }
  cuda::synchronize_stream();
  return static_cast<double>(best) / kLaunches;
}

std::unique_ptr<cuda::Graph> graph_of(int nodes) {
  return cuda::Graph::record([nodes] {
    for (int i = 0; i < nodes; ++i) isa_cuda::launch_empty();
  });
}

}  // namespace

LaunchCostMeter::LaunchCostMeter() {
  if (g_known || !cuda::in_use(cuda::current_device())) return;
  isa_cuda::launch_empty();  // its code is loaded from here on
  short_ = graph_of(kShort);
  long_ = graph_of(kLong);
  ready_ = short_ != nullptr && long_ != nullptr;
  if (ready_) before_ = measure(nullptr, nullptr);
}

LaunchCostMeter::~LaunchCostMeter() = default;

void LaunchCostMeter::observed(void (*begin)(), void (*end)()) {
  if (!ready_) return;
  const Times after = measure(begin, end);
  const double kernel = after.kernel - before_.kernel;
  const double one = after.short_graph - before_.short_graph;
  const double many = after.long_graph - before_.long_graph;
  g_cost.kernel = std::max(kernel, 0.0);
  g_cost.graph_node = std::max((many - one) / (kLong - kShort), 0.0);
  g_cost.graph = std::max(one - kShort * g_cost.graph_node, 0.0);
  g_known = true;
}

LaunchCost LaunchCostMeter::known() { return g_known ? g_cost : LaunchCost{}; }

LaunchCostMeter::Times LaunchCostMeter::measure(void (*begin)(), void (*end)()) const {
  return {least_ns(begin, end, [] { isa_cuda::launch_empty(); }),
          least_ns(begin, end, [&] { short_->launch(); }),
          least_ns(begin, end, [&] { long_->launch(); })};
}

}  // namespace ingot::profiler
