// What a profiler session adds to an op on a GPU, beside what CUPTI alone adds to a raw launch.
#include <fmt/format.h>

#include <ingot/ingot.h>

#include "benchmarks.h"
#include "limits/cuda/cupti.h"
#include "limits/cuda/launches.h"
#include "rows.h"
#include "timing.h"

namespace bench::gpu {

using namespace ingot;

namespace {

constexpr int kBatches = 10, kCalls = 100;  // a batch is far from filling the launch queue

// Host microseconds per call: the median over batches with the stream idle before each.
template <class F>
double per_call_us(const F& call) {
  Series batches;
  for (int i = 0; i < kBatches; ++i) {
    cuda::synchronize();
    batches.add(time_us([&] {
                  for (int k = 0; k < kCalls; ++k) call();
                }) /
                kCalls);
  }
  cuda::synchronize();
  return batches.median();
}

}  // namespace

std::vector<Row> profiler_cost() {
  constexpr int kSamples = 9;
  constexpr double kAbove_us = 0.3;
  const Tensor a = randn({64, 64}, kCUDA), b = randn({64, 64}, kCUDA);
  Tensor out = empty({64, 64}, kCUDA);
  const float *pa = a.data_ptr<float>(), *pb = b.data_ptr<float>();
  float* po = out.data_ptr<float>();
  const auto op = [&] { (void)(a + b); };
  const auto raw = [&] { add(pa, pb, po, 64 * 64); };
  const auto op_race = [&] { return host_race({[&](int) { op(); }})[0]; };
  const Series before = op_race();

  Series session, client, op_off, op_on;
  std::uint64_t id = 0;
  for (int i = 0; i < kSamples; ++i) {
    const double raw_off = per_call_us(raw);
    {
      const CuptiClient cupti;
      client.add(per_call_us([&] {
                   cupti.push(++id);
                   raw();
                   cupti.pop();
                 }) -
                 raw_off);
    }
    op_off.add(per_call_us(op));
    {
      profiler::Session recorded;
      op_on.add(per_call_us(op));
      recorded.stop();
    }
    session.add(op_on.last() - op_off.last());
  }
  const Series after = op_race();
  Row on = row_of("profiler_on", session, client,
                  "CUPTI alone around a raw launch: kernels, runtime, external correlation");
  on.target = "<= limit + 0.3 us";
  on.met = on.ours.median() <= on.limit + kAbove_us;
  on.note = fmt::format(
      "added host time per op; an op {:.2f} us, recorded {:.2f}; CUPTI's client saw {} records of "
      "{} launches; left after {} sessions: {:+.3f} us an op (medians), {:+.3f} (least)",
      op_off.median(), op_on.median(), CuptiClient::records(), id, kSamples,
      after.median() - before.median(), after.least() - before.least());
  return {bench::profiler_off(), on};
}

}  // namespace bench::gpu
