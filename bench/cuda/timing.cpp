#include "timing.h"

#include <algorithm>
#include <chrono>
#include <cuda_runtime_api.h>
#include <stdexcept>

#include <fmt/format.h>

#include <ingot/kernels/cuda/check.h>
#include <ingot/kernels/cuda/graph.h>

#include "limits/cuda/launches.h"

namespace bench::gpu {

namespace cuda = ingot::cuda;

namespace {

using Clock = std::chrono::steady_clock;

double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

class Event {
 public:
  Event() { INGOT_CUDA_CHECK(cudaEventCreate(&event_)); }
  ~Event() { (void)cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  void record() const { INGOT_CUDA_CHECK(cudaEventRecord(event_, cuda::current_stream())); }
  double since_us(const Event& start) const {
    INGOT_CUDA_CHECK(cudaEventSynchronize(event_));
    float ms = 0;
    INGOT_CUDA_CHECK(cudaEventElapsedTime(&ms, start.event_, event_));
    return static_cast<double>(ms) * 1000;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

// One contender with what is known of it before the race.
struct Runner {
  const Call* call;
  int batch = 1, next = 0;
  double host_us = 0, wall_us = 0;  // of one call, roughly
  Series series = {};

  void run() {
    for (int i = 0; i < batch; ++i) (*call)(next++);
  }
};

std::vector<Runner> warm(const std::vector<Call>& contenders) {
  // A plan is recorded at its first call and becomes a graph at the second with the same
  // addresses; buffers rotate by less than half of this.
  constexpr int kWarmUp = 12, kRough = 4;
  std::vector<Runner> runners;
  for (const Call& call : contenders) {
    Runner& runner = runners.emplace_back(Runner{&call});
    for (int i = 0; i < kWarmUp; ++i) call(runner.next++);
    cuda::synchronize_stream();
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < kRough; ++i) call(runner.next++);
    runner.host_us = microseconds_since(start) / kRough;
    cuda::synchronize_stream();
    runner.wall_us = microseconds_since(start) / kRough;
  }
  return runners;
}

// Each round begins with another contender: nobody always runs after the same neighbour.
template <class Measure>
std::vector<Series> race_of(std::vector<Runner>& runners, Effort effort, const Measure& measure) {
  const Clock::time_point start = Clock::now();
  for (int round = 0; round < effort.rounds || microseconds_since(start) < effort.seconds * 1e6;
       ++round) {
    for (std::size_t i = 0; i < runners.size(); ++i) {
      Runner& runner = runners[(i + static_cast<std::size_t>(round)) % runners.size()];
      runner.series.add(measure(runner) / runner.batch);
    }
  }
  std::vector<Series> series;
  for (Runner& runner : runners) series.push_back(std::move(runner.series));
  return series;
}

int batch_of(double whole_us, double one_us, int most) {
  return static_cast<int>(std::clamp(whole_us / one_us, 1.0, static_cast<double>(most)));
}

}  // namespace

std::vector<Series> host_race(const std::vector<Call>& contenders, Effort effort) {
  constexpr int kMost = 64;  // of some ten launches each: below the queue's 1024
  std::vector<Runner> runners = warm(contenders);
  for (Runner& runner : runners) runner.batch = batch_of(5000, runner.wall_us, kMost);
  return race_of(runners, effort, [](Runner& runner) {
    const Clock::time_point start = Clock::now();
    runner.run();
    const double us = microseconds_since(start);
    cuda::synchronize_stream();
    return us;
  });
}

std::vector<Series> wall_race(const std::vector<Call>& contenders, Effort effort) {
  constexpr int kMost = 64;
  std::vector<Runner> runners = warm(contenders);
  for (Runner& runner : runners) runner.batch = batch_of(5000, runner.wall_us, kMost);
  return race_of(runners, effort, [](Runner& runner) {
    const Clock::time_point start = Clock::now();
    runner.run();
    cuda::synchronize_stream();
    return microseconds_since(start);
  });
}

std::vector<Series> device_race(const std::vector<Call>& contenders, Effort effort) {
  constexpr int kMost = 32;
  std::vector<Runner> runners = warm(contenders);
  for (Runner& runner : runners) runner.batch = batch_of(4000, runner.wall_us, kMost);
  const Event begin, end;
  return race_of(runners, effort, [&](Runner& runner) {
    // The GPU is kept busy until the host has given it the whole batch.
    constexpr double kMargin = 1.5, kLeast_us = 30;
    spin(kLeast_us + kMargin * runner.host_us * runner.batch);
    begin.record();
    runner.run();
    end.record();
    return end.since_us(begin);
  });
}

InGraph::InGraph(const Call& call, int times) {
  int next = 0;
  graph_ = cuda::Graph::record([&] {
    for (int i = 0; i < times; ++i) call(next++);
  });
  if (graph_ == nullptr) throw std::runtime_error("a call cannot be recorded as a CUDA graph");
}
InGraph::~InGraph() = default;
void InGraph::launch() const { graph_->launch(); }

std::vector<Series> graph_race(const std::vector<Call>& contenders, Effort effort) {
  constexpr int kTimes = 32, kBefore = 3;
  std::vector<std::unique_ptr<InGraph>> graphs;
  std::vector<Call> launches;
  for (const Call& call : contenders) {
    for (int i = 0; i < kBefore; ++i) call(i);  // all code is loaded before it is recorded
    graphs.push_back(std::make_unique<InGraph>(call, kTimes));
    launches.emplace_back([graph = graphs.back().get()](int) { graph->launch(); });
  }
  std::vector<Series> per_call;
  for (const Series& whole : device_race(launches, effort)) {
    per_call.push_back(whole.scaled(1.0 / kTimes));
  }
  return per_call;
}

Row row_of(const char* name, const Series& ours, const Series& limit, const char* limit_name) {
  Row row{.name = name, .unit = "us"};
  row.ours = ours;
  row.limit = limit.median();
  row.limit_least = limit.least();
  row.limit_name = limit_name;
  return row;
}

void judge(Row& row, double allowed) {
  row.target = fmt::format("<= {:.3g} x", allowed);
  row.met = row.ratio() <= allowed;
}

}  // namespace bench::gpu
