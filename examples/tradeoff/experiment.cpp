#include "experiment.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

using namespace ingot;

Tensor matmul_add(const Tensor& x, const Tensor& w, const Tensor& b) { return matmul(x, w) + b; }

namespace {

using Clock = std::chrono::steady_clock;

struct Operands {
  Tensor x, w, b;
  bool on_gpu;
  Operands(i64 n, const Setup& setup)
      : x(randn({n, n}, setup.options())),
        w(randn({n, n}, setup.options())),
        b(randn({n, n}, setup.options())),
        on_gpu(setup.device.is_cuda()) {}
  // One call; the result is dropped, as in a loop whose last result alone matters.
  template <class F>
  void call(const F& f) const {
    (void)f(x, w, b);
  }
  void wait() const {
    if (on_gpu) cuda::synchronize(x.device());
  }
};

double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Records as the schedule says and returns its one window; call_ms gets the time of the first call.
template <class F>
Window profile(const F& f, const Operands& operands, const profiler::Schedule& schedule,
               double* call_ms = nullptr) {
  profiler::Options options;
  options.schedule = schedule;
  profiler::Session session(options);
  const int calls = schedule.skip_first + schedule.wait + schedule.warmup + schedule.active;
  for (int i = 0; i < calls; ++i) {
    const Clock::time_point start = Clock::now();
    operands.call(f);
    if (i == 0 && call_ms != nullptr) *call_ms = microseconds_since(start) / 1000;
    session.step();
  }
  session.stop();
  const profiler::Averages averages = session.key_averages();
  return {averages.self_cpu_us(), averages.self_device_us(), session.verdict()};
}

// The first calls ever at this size: no wait, no warm-up.
template <class F>
void measure_cold(const F& f, const Operands& operands, Row& row) {
  const profiler::Schedule schedule{.wait = 0, .warmup = 0, .active = Window::kCalls};
  row.cold = profile(f, operands, schedule, &row.first_call_ms);
}

Window middle_of(std::vector<Window> windows) {
  const auto middle = windows.begin() + static_cast<std::ptrdiff_t>(windows.size() / 2);
  std::nth_element(windows.begin(), middle, windows.end(), [](const Window& a, const Window& b) {
    return a.self_cpu_us + a.self_device_us < b.self_cpu_us + b.self_device_us;
  });
  return *middle;
}

// Eager and compiled in turn, so that a drift of the machine meets both. Short calls are timed in
// batches, or the clock would be part of the result.
template <class F, class G>
void measure_calls(const F& eager, const G& compiled, const Operands& operands, Pair& pair) {
  // A batch on a GPU is longer: the wait at its end is part of it.
  const double batch_us = operands.on_gpu ? 500 : 50;
  constexpr double kBudget_us = 500'000;
  constexpr std::size_t kLeastRounds = 5;
  operands.wait();
  const Clock::time_point probe = Clock::now();
  operands.call(eager);
  operands.wait();
  const int calls = static_cast<int>(std::clamp(batch_us / microseconds_since(probe), 1.0, 100.0));
  struct Times {
    std::vector<double> host, call;
  };
  const auto time = [&](const auto& f, Times& times) {
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < calls; ++i) operands.call(f);
    times.host.push_back(microseconds_since(start) / calls);
    operands.wait();
    times.call.push_back(operands.on_gpu ? microseconds_since(start) / calls : times.host.back());
  };
  Times of_eager, of_compiled;
  int wins = 0;
  const Clock::time_point start = Clock::now();
  while (of_eager.call.size() < kLeastRounds || microseconds_since(start) < kBudget_us) {
    time(eager, of_eager);
    time(compiled, of_compiled);
    wins += of_compiled.call.back() < of_eager.call.back() ? 1 : 0;
  }
  pair.eager.host_us = median(of_eager.host);
  pair.compiled.host_us = median(of_compiled.host);
  pair.eager.call_us = median(of_eager.call);
  pair.compiled.call_us = median(of_compiled.call);
  pair.compiled.speedup = pair.eager.call_us / pair.compiled.call_us;
  pair.compiled.wins = wins / static_cast<double>(of_eager.call.size());
}

// Of several windows the middle one: a call that the system interrupts spoils a sum of three. The
// calls before each window bring the threads of the pool back to work, as in the loop of
// measure_calls(); they had gone to sleep.
template <class F, class G>
void measure_warm(const F& eager, const G& compiled, const Operands& operands, Pair& pair) {
  const bool slow = pair.eager.cold.self_device_us > 50'000;  // all sizes share a minute
  const int count = slow ? 3 : 15;
  constexpr double kSettle_us = 2000;
  const profiler::Schedule schedule{
      .wait = 1,
      .warmup = 1,
      .active = Window::kCalls,
      .skip_first = static_cast<int>(std::clamp(kSettle_us / pair.eager.call_us, 1.0, 2000.0))};
  std::vector<Window> of_eager, of_compiled;
  for (int i = 0; i < count; ++i) {
    of_eager.push_back(profile(eager, operands, schedule));
    of_compiled.push_back(profile(compiled, operands, schedule));
  }
  pair.eager.warm = middle_of(std::move(of_eager));
  pair.compiled.warm = middle_of(std::move(of_compiled));
  for (Row* row : {&pair.eager, &pair.compiled}) {
    row->device_us = row->warm.self_device_us / Window::kCalls;
  }
}

}  // namespace

Pair measure(i64 n, const Setup& setup) {
  const Operands operands(n, setup);
  const auto compiled = compile(matmul_add, {.name = "matmul_add_" + std::to_string(n)});
  Pair pair;
  pair.eager.n = pair.compiled.n = n;
  pair.compiled.compiled = true;
  measure_cold(matmul_add, operands, pair.eager);
  measure_cold(compiled, operands, pair.compiled);
  measure_calls(matmul_add, compiled, operands, pair);
  measure_warm(matmul_add, compiled, operands, pair);

  // compare() times both ways too, call by call, for the ledger's break-even.
  Ledger ledger = compare(compiled, operands.x, operands.w, operands.b);
  if (!pair.compiled.is_faster()) ledger.break_even_calls = {};
  if (ledger.variants > 0) {
    pair.eager.launches = ledger.launches_eager;
    pair.compiled.launches = ledger.launches_compiled;
  }
  pair.compiled.ledger = ledger;
  return pair;
}

void write_trace(const std::string& path, const std::vector<i64>& sizes, const Setup& setup) {
  constexpr int kCalls = 5;
  profiler::Options options;
  options.record_shapes = true;
  profiler::Session session(options);
  for (const i64 n : sizes) {
    const Operands operands(n, setup);
    const auto compiled = compile(matmul_add);  // a new one: its first call is in the trace
    const auto record = [&](const std::string& mode, const auto& f) {
      for (int i = 0; i < kCalls; ++i) {
        {
          const profiler::record_function range(mode + ", n = " + std::to_string(n));
          operands.call(f);
        }
        session.step();
      }
    };
    record("eager", matmul_add);
    record("compiled", compiled);
  }
  session.stop();
  session.export_chrome_trace(path);
}
