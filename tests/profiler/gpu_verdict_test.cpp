// What the verdict makes of a GPU that works beside the host.
#include <functional>

#include <gtest/gtest.h>

#include <ingot/profiler/aggregate.h>
#include <ingot/profiler/judge.h>

#include "fake_gpu.h"

namespace ingot::profiler {
namespace {

const OpInfo kMatmul{.name = "matmul", .kind = OpKind::product, .n_in = 2};
const OpInfo kAdd{.name = "add", .kind = OpKind::elementwise, .n_in = 2};
const Roofline kRoofline{4e12, 60e12, "given"};  // about an H200's; ridge: 15 operations a byte

Cost product(double n) { return {.flops = 2 * n * n * n, .bytes = 12 * n * n}; }

// n steps whose body launches; the GPU takes what it is given in order, when it is there.
class Steps {
 public:
  Steps& run(int n, const std::function<void(Steps&)>& body) {
    for (int i = 0; i < n; ++i) {
      const std::int64_t begin = from_us(gpu.host().now());
      body(*this);
      steps.push_back({i, begin, from_us(gpu.host().now())});
    }
    return *this;
  }

  // A launch of 4 us on the host whose kernel begins 2 us later at the earliest.
  void op(const OpInfo& info, double us, Cost cost) {
    const double start = std::max(free, gpu.host().now() + 6);
    gpu.op(info, start, us, cost);
    free = start + us;
  }
  void synchronize() {
    gpu.call("cudaStreamSynchronize", std::max(free + 2 - gpu.host().now(), 1.0));
  }

  Verdict verdict(std::string_view range = {}) {
    const Timeline t = gpu.take(steps);
    return judge(units_of(t, range, kRoofline), range, kRoofline);
  }

  FakeGpu gpu;
  std::vector<StepTime> steps;
  double free = 0;
};

double speedup(const Verdict& v, const std::string& what) {
  for (const WhatIf& w : v.what_ifs) {
    if (w.what == what) return w.speedup;
  }
  return 0;
}

TEST(GpuVerdict, SmallMatricesAreOverheadBound) {
  Steps s;
  s.run(6, [](Steps& t) {
    t.op(kMatmul, 2, product(64));
    t.op(kAdd, 1.5, {.flops = 4096, .bytes = 3 * 16384});
  });
  const Verdict v = s.verdict();
  EXPECT_EQ(v.kind, Verdict::overhead_bound) << v;
  // The host needs 8 us a step and the GPU 3.5.
  EXPECT_NEAR(v.step_us.median, 8, 0.1);
  EXPECT_NEAR(v.device_busy, 3.5 / 8, 0.05);
  EXPECT_DOUBLE_EQ(speedup(v, "the GPU twice as fast"), 1);
  EXPECT_NEAR(speedup(v, "half the launches"), 2, 0.05);
  EXPECT_NE(v.why.find("waits for the host"), std::string::npos);
}

TEST(GpuVerdict, LargeMatricesAreComputeBoundThoughTheHostIsAhead) {
  Steps s;
  // 4096: 2700 us of the product, 30 us for the sum; the host is done with all six steps before the
  // first product is.
  s.run(6, [](Steps& t) {
    t.op(kMatmul, 2700, product(4096));
    t.op(kAdd, 50, {.flops = 16.8e6, .bytes = 200e6});
  });
  const Verdict v = s.verdict();
  EXPECT_EQ(v.kind, Verdict::compute_bound) << v;
  EXPECT_NEAR(v.step_us.median, 2750, 1);
  EXPECT_GT(v.device_busy, 0.99);
  EXPECT_NEAR(speedup(v, "the GPU twice as fast"), 2, 0.01);
  EXPECT_NEAR(speedup(v, "half the launches"), 1, 0.01);
}

TEST(GpuVerdict, LongChainsAreMemoryBound) {
  Steps s;
  s.run(4, [](Steps& t) {
    for (int i = 0; i < 8; ++i) t.op(kAdd, 190, {.flops = 64e6, .bytes = 750e6});
  });
  const Verdict v = s.verdict();
  EXPECT_EQ(v.kind, Verdict::memory_bound) << v;
  EXPECT_NEAR(speedup(v, "half the bytes"), 2, 0.01);
}

TEST(GpuVerdict, WaitsAreNotTheHostsWork) {
  Steps s;
  s.run(5, [](Steps& t) {
    t.op(kMatmul, 2700, product(4096));
    t.synchronize();
  });
  const Verdict v = s.verdict();
  EXPECT_EQ(v.kind, Verdict::compute_bound) << v;
  EXPECT_NEAR(v.step_us.median, 2708, 1);
  EXPECT_NEAR(speedup(v, "the GPU twice as fast"), 2708.0 / 1358, 0.01);
}

TEST(GpuVerdict, ALaunchThatWaitsForRoomInTheQueueIsNoWorkEither) {
  Steps s;
  s.run(5, [](Steps& t) {
    const double start = std::max(t.free, t.gpu.host().now() + 6);
    t.gpu.op(kMatmul, start, 2700, product(4096), 2690);
    t.free = start + 2700;
  });
  const Verdict v = s.verdict();
  EXPECT_EQ(v.kind, Verdict::compute_bound) << v;
  EXPECT_GT(speedup(v, "the GPU twice as fast"), 1.9);
}

TEST(GpuVerdict, PassesThroughARangeAreJudgedByTheirOwnWork) {
  Steps s;
  s.run(1, [](Steps& t) {
    for (int i = 0; i < 4; ++i) {
      t.gpu.host().slice(SliceKind::range, "small", [&] {
        t.op(kAdd, 1, {.flops = 10, .bytes = 100});
        t.op(kAdd, 1, {.flops = 10, .bytes = 100});
      });
      t.gpu.host().slice(SliceKind::range, "large", [&] { t.op(kMatmul, 2700, product(4096)); });
      t.synchronize();
    }
  });
  const Timeline t = s.gpu.take(s.steps);
  EXPECT_EQ(judge(units_of(t, "small", kRoofline), "small", kRoofline).kind,
            Verdict::overhead_bound);
  EXPECT_EQ(judge(units_of(t, "large", kRoofline), "large", kRoofline).kind,
            Verdict::compute_bound);
}

TEST(GpuVerdict, SmallSlowKernelsAreMixed) {
  Steps s;
  s.run(4, [](Steps& t) { t.op(kAdd, 400, {.flops = 100, .bytes = 1000}); });
  const Verdict v = s.verdict();
  EXPECT_EQ(v.kind, Verdict::mixed);
  EXPECT_NE(v.why.find("reaches little of what it can"), std::string::npos) << v;
}

TEST(GpuVerdict, WhatObservingCostsIsTakenOff) {
  Steps s;
  s.gpu.records().launch_cost.kernel = 1500;
  s.run(6, [](Steps& t) {
    t.op(kMatmul, 2, product(64));
    t.op(kAdd, 1.5, {.flops = 4096, .bytes = 3 * 16384});
  });
  EXPECT_NEAR(s.verdict().step_us.median, 5, 0.1);  // 2 launches of 8 us together
}

TEST(GpuVerdict, WithoutTheGpusRecordsThereIsNone) {
  FakeLane f;
  std::vector<StepTime> steps;
  for (int i = 0; i < 4; ++i) {
    const std::int64_t begin = from_us(f.now());
    f.slice(SliceKind::launch, "matmul", [&] { f.wait(5); });
    steps.push_back({i, begin, from_us(f.now())});
  }
  const Timeline t = timeline_of({f.take()}, steps);
  const Verdict v = judge(units_of(t, "", kRoofline), "", kRoofline);
  EXPECT_EQ(v.kind, Verdict::not_enough_data);
  EXPECT_NE(v.next.find("Activity::CUDA"), std::string::npos) << v;
  EXPECT_NE(aggregate(t, {}, kRoofline).table().find("GPU: not recorded"), std::string::npos);
}

}  // namespace
}  // namespace ingot::profiler
