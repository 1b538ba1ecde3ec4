#include <sstream>

#include <gtest/gtest.h>

#include <ingot/kernels/core/error.h>
#include <ingot/profiler/judge.h>

#include "fake_timeline.h"

namespace ingot::profiler {
namespace {

const OpInfo kMatmul{.name = "matmul", .kind = OpKind::product, .n_in = 2};
const OpInfo kAdd{.name = "add", .kind = OpKind::elementwise, .n_in = 2};
const Roofline kRoofline{10e9, 100e9};  // ridge: 10 operations a byte

// matmul + add over n x n f32 matrices. The host needs a microsecond for each op; the kernels run
// at 80 % of the roofline.
void matmul_add(FakeLane& f, double n) {
  Cost product{.flops = 2 * n * n * n, .bytes = 12 * n * n};
  Cost sum{.flops = n * n, .bytes = 12 * n * n};
  auto us = [](const Cost& c) { return std::max(c.flops / 100e3, c.bytes / 10e3) / 0.8; };
  f.op(kMatmul, 1, us(product), product);
  f.op(kAdd, 1, us(sum), sum);
}

// Eight pointwise ops over 4M floats.
void chain(FakeLane& f) {
  Cost cost{.flops = 4e6, .bytes = 48e6};
  for (int i = 0; i < 8; ++i) f.op(kAdd, 1, 4800 / 0.9, cost);
}

template <class F>
Timeline steps_of(int n, F&& body) {
  FakeLane f;
  std::vector<StepTime> steps;
  for (int i = 0; i < n; ++i) {
    std::int64_t begin = from_us(f.now());
    body(f, i);
    steps.push_back({i, begin, from_us(f.now())});
  }
  return timeline_of({f.take()}, std::move(steps));
}

Verdict verdict_of(const Timeline& t, std::string_view range = {}) {
  return judge(units_of(t, range, kRoofline), range, kRoofline);
}

double speedup(const Verdict& v, const std::string& what) {
  for (const WhatIf& w : v.what_ifs) {
    if (w.what == what) return w.speedup;
  }
  return 0;
}

TEST(Verdict, SmallMatricesAreOverheadBound) {
  Verdict v = verdict_of(steps_of(3, [](FakeLane& f, int) { matmul_add(f, 16); }));
  EXPECT_EQ(v.kind, Verdict::overhead_bound);
  EXPECT_EQ(v.step_us.n, 3);
  EXPECT_NEAR(v.step_us.median, 2.768, 0.002);  // 2 host, 0.384 for the bytes of each op
  EXPECT_NEAR(v.self_cpu_us, 6, 0.01);
  EXPECT_NEAR(v.self_device_us, 2.3, 0.01);
  EXPECT_EQ(v.what_ifs.at(0).what, "half the launches");
  EXPECT_NEAR(v.what_ifs.at(0).step_us, 1.768, 0.002);
  EXPECT_NE(v.next.find("Fewer launches"), std::string::npos);
}

TEST(Verdict, LargeMatricesAreComputeBound) {
  Verdict v = verdict_of(steps_of(3, [](FakeLane& f, int) { matmul_add(f, 4096); }));
  EXPECT_EQ(v.kind, Verdict::compute_bound);
  EXPECT_GT(v.device_busy, 0.99);
  EXPECT_NEAR(speedup(v, "the kernels twice as fast"), 2, 0.01);
  EXPECT_NEAR(speedup(v, "half the launches"), 1, 0.01);
}

TEST(Verdict, PointwiseChainsAreMemoryBound) {
  Verdict v = verdict_of(steps_of(3, [](FakeLane& f, int) { chain(f); }));
  EXPECT_EQ(v.kind, Verdict::memory_bound);
  EXPECT_NEAR(speedup(v, "half the bytes"), 2, 0.01);
  bool reach = false;
  for (const std::string& sentence : v.evidence) {
    reach |= sentence.find("reach 90 % of the roofline") != std::string::npos;
  }
  EXPECT_TRUE(reach);
}

TEST(Verdict, HalfTheBytesStopsAtTheArithmetic) {
  // 8 operations a byte: halving the bytes gains a fifth before arithmetic is the limit.
  Cost cost{.flops = 80e6, .bytes = 10e6};
  Verdict v = verdict_of(steps_of(3, [&](FakeLane& f, int) { f.op(kAdd, 0, 1000, cost); }));
  EXPECT_EQ(v.kind, Verdict::memory_bound);
  EXPECT_NEAR(speedup(v, "half the bytes"), 1.25, 0.001);
}

TEST(Verdict, TranscendentalsAreArithmetic) {
  Cost cost{.flops = 1e6, .transcendentals = 6e6, .bytes = 8e6};
  Verdict v = verdict_of(steps_of(3, [&](FakeLane& f, int) { f.op(kAdd, 1, 1000, cost); }));
  EXPECT_EQ(v.kind, Verdict::compute_bound);
}

TEST(Verdict, Mixtures) {
  Cost memory{.flops = 1, .bytes = 1e6}, compute{.flops = 1e9, .bytes = 1};
  Verdict even = verdict_of(steps_of(3, [&](FakeLane& f, int) { f.op(kAdd, 100, 100, memory); }));
  EXPECT_EQ(even.kind, Verdict::mixed);
  EXPECT_NE(even.why.find("about the same"), std::string::npos);
  Verdict both = verdict_of(steps_of(3, [&](FakeLane& f, int) {
    f.op(kAdd, 1, 100, memory);
    f.op(kMatmul, 1, 100, compute);
  }));
  EXPECT_EQ(both.kind, Verdict::mixed);
  EXPECT_NE(both.why.find("neither memory nor arithmetic"), std::string::npos);
  Verdict unknown = verdict_of(steps_of(3, [&](FakeLane& f, int) { f.op(kAdd, 1, 100); }));
  EXPECT_EQ(unknown.kind, Verdict::mixed);
}

TEST(Verdict, KernelsFarBelowTheRooflineAreNotLimitedByIt) {
  Cost cost{.flops = 1e6, .bytes = 1e6};  // 100 us at best
  Verdict v = verdict_of(steps_of(3, [&](FakeLane& f, int) { f.op(kAdd, 1, 3000, cost); }));
  EXPECT_EQ(v.kind, Verdict::mixed);
  EXPECT_NE(v.why.find("little of the machine"), std::string::npos) << v.why;
  EXPECT_NEAR(speedup(v, "half the bytes"), 1, 0.01);
}

TEST(Verdict, StepsThatDisagreeAreMixed) {
  Cost memory{.flops = 1, .bytes = 1e6};
  Verdict v = verdict_of(steps_of(
      5, [&](FakeLane& f, int i) { f.op(kAdd, i < 2 ? 300 : 100, i < 2 ? 100 : 300, memory); }));
  EXPECT_EQ(v.kind, Verdict::mixed);
  EXPECT_EQ(v.why, "the steps disagree: 2 overhead-bound, 3 memory-bound");
  Verdict most = verdict_of(steps_of(
      6, [&](FakeLane& f, int i) { f.op(kAdd, i < 2 ? 300 : 100, i < 2 ? 100 : 300, memory); }));
  EXPECT_EQ(most.kind, Verdict::memory_bound);
}

TEST(Verdict, TooFewSteps) {
  for (int n : {0, 1, 2}) {
    Verdict v = verdict_of(steps_of(n, [](FakeLane& f, int) { matmul_add(f, 64); }));
    EXPECT_EQ(v.kind, Verdict::not_enough_data);
    EXPECT_EQ(v.step_us.n, n);
    EXPECT_NE(v.next.find("step()"), std::string::npos);
  }
  Verdict idle = verdict_of(steps_of(5, [](FakeLane& f, int) { f.wait(10); }));
  EXPECT_EQ(idle.kind, Verdict::not_enough_data);
  EXPECT_NE(idle.why.find("no event"), std::string::npos);
}

TEST(Verdict, StepsWithoutKernelsAreOverhead) {
  Verdict v = verdict_of(
      steps_of(3, [](FakeLane& f, int) { f.slice(SliceKind::op, "view", [&] { f.wait(1); }); }));
  EXPECT_EQ(v.kind, Verdict::overhead_bound);
}

TEST(Verdict, ColdStepsAreLeftOut) {
  auto body = [](FakeLane& f, int i) {
    if (i == 0) f.slice(SliceKind::compile, "codegen", [&] { f.wait(50'000); });
    if (i == 1) f.wait(1);
    matmul_add(f, 1024);
  };
  Verdict v = verdict_of(steps_of(5, body));
  EXPECT_EQ(v.kind, Verdict::compute_bound);
  EXPECT_EQ(v.cold, 1);
  EXPECT_EQ(v.step_us.n, 4);
  EXPECT_NE(to_string(v).find("Cold, left out: ProfilerStep#0"), std::string::npos);
  Verdict few = verdict_of(steps_of(3, body));
  EXPECT_EQ(few.cold, 0);
  EXPECT_EQ(few.step_us.n, 3);
  EXPECT_NE(to_string(few).find("Cold, not left out: ProfilerStep#0"), std::string::npos);
}

TEST(Verdict, StepsWithCompilePhasesAreCold) {
  Verdict v = verdict_of(steps_of(5, [](FakeLane& f, int i) {
    if (i == 2) f.slice(SliceKind::compile, "load", [&] { f.wait(1); });
    matmul_add(f, 64);
  }));
  EXPECT_EQ(v.cold, 1);
  EXPECT_NE(to_string(v).find("ProfilerStep#2"), std::string::npos);
}

TEST(Verdict, ASlowFirstStepIsCold) {
  Verdict v = verdict_of(steps_of(4, [](FakeLane& f, int i) {
    if (i == 0) f.wait(500);
    matmul_add(f, 64);
  }));
  EXPECT_EQ(v.cold, 1);
  EXPECT_LT(v.step_us.p95, 100);
  Verdict later = verdict_of(steps_of(4, [](FakeLane& f, int i) {
    if (i == 2) f.wait(500);
    matmul_add(f, 64);
  }));
  EXPECT_EQ(later.cold, 0);
  EXPECT_GT(later.step_us.p95, 500);
}

TEST(Verdict, TheRecordersCostIsTakenOff) {
  Timeline t = steps_of(3, [](FakeLane& f, int) { matmul_add(f, 64); });
  Verdict before = verdict_of(t);
  t.event_cost_ns = 100;  // four events a step
  Verdict v = verdict_of(t);
  EXPECT_NEAR(v.step_us.median, before.step_us.median - 0.4, 1e-9);
  EXPECT_DOUBLE_EQ(v.self_cpu_us, before.self_cpu_us);
  EXPECT_NE(to_string(v).find("The recorder's own 0.400 us (4 events) are taken off"),
            std::string::npos)
      << to_string(v);
}

TEST(Verdict, OfNamedRanges) {
  FakeLane f;
  for (int i = 0; i < 3; ++i) {
    f.slice(SliceKind::range, "small", [&] { matmul_add(f, 16); });
    f.slice(SliceKind::module, "large", [&] { matmul_add(f, 4096); });
    f.slice(SliceKind::range, "outer",
            [&] { f.slice(SliceKind::range, "outer", [&] { chain(f); }); });
  }
  f.slice(SliceKind::range, "once", [&] { matmul_add(f, 64); });
  Timeline t = timeline_of({f.take()});
  EXPECT_EQ(verdict_of(t, "small").kind, Verdict::overhead_bound);
  EXPECT_EQ(verdict_of(t, "large").kind, Verdict::compute_bound);
  EXPECT_EQ(verdict_of(t, "outer").kind, Verdict::memory_bound);
  EXPECT_EQ(verdict_of(t, "outer").step_us.n, 3);
  EXPECT_EQ(verdict_of(t, "once").kind, Verdict::not_enough_data);
  EXPECT_EQ(verdict_of(t).kind, Verdict::not_enough_data);
  try {
    (void)verdict_of(t, "smal");
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(std::string(e.what()),
              "verdict: no range is named 'smal'; there are: large, once, outer, small");
  }
}

TEST(Verdict, Printed) {
  Verdict v = verdict_of(steps_of(3, [](FakeLane& f, int) { matmul_add(f, 16); }));
  std::ostringstream out;
  out << v;
  EXPECT_TRUE(out.str().starts_with("Verdict: overhead-bound: the host works 2.000 us for "))
      << out.str();
  EXPECT_NE(out.str().find("  What if (computed): half the launches: 1.768 us (1.57x); "),
            std::string::npos)
      << out.str();
  EXPECT_NE(out.str().find("  Next: "), std::string::npos);
}

// pytorch/pytorch#94972: ranges that end on another thread, or out of order.
TEST(Verdict, PassesThatNestInNothingAreJudgedByWhatBeganDuringThem) {
  FakeLane main(1), worker(2);
  const OpInfo info{.name = "op", .kind = OpKind::elementwise, .n_in = 2};
  for (int pass = 0; pass < 4; ++pass) {
    const auto begin = from_us(main.now());
    main.op(info, 90, 10);
    worker.op(info, 90, 10);
    for (bool elsewhere : {true, false}) {
      Slice s;
      s.kind = SliceKind::range;
      s.name = elsewhere ? "cross" : "out of order";
      s.begin = begin;
      s.end = from_us(main.now());
      s.ended_elsewhere = elsewhere;
      main.lane().across.push_back(s);
    }
  }
  Slice open = main.lane().across.back();
  open.name = "open";
  open.unfinished = true;
  main.lane().across.push_back(open);
  const Timeline t = timeline_of({main.take(), worker.take()});
  const Roofline roofline{10e9, 100e9};
  for (const char* name : {"cross", "out of order"}) {
    const std::vector<Unit> units = units_of(t, name, roofline);
    ASSERT_EQ(units.size(), 4u);
    for (const Unit& u : units) {
      EXPECT_DOUBLE_EQ(u.wall, 100e3);
      EXPECT_DOUBLE_EQ(u.device, 10e3);  // of two threads the kernels ran at once
      EXPECT_EQ(u.launches, std::string_view(name) == "cross" ? 2 : 1);
    }
    const Verdict v = judge(units, name, roofline);
    EXPECT_EQ(v.kind, Verdict::overhead_bound);
    EXPECT_TRUE(std::any_of(v.evidence.begin(), v.evidence.end(), [](const std::string& e) {
      return e.find("4 of 4 passes nest in nothing") != std::string::npos;
    }));
  }
  EXPECT_TRUE(units_of(t, "open", roofline).empty());
  try {
    (void)units_of(t, "unknown", roofline);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("there are: cross, open, out of order"), std::string::npos)
        << e.what();
  }
}

}  // namespace
}  // namespace ingot::profiler
