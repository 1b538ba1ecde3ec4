#include <gtest/gtest.h>

#include "fake_timeline.h"

namespace ingot::profiler {
namespace {

const OpInfo kMatmul{.name = "matmul", .kind = OpKind::product, .n_in = 2};
const OpInfo kAdd{.name = "add", .kind = OpKind::elementwise, .n_in = 2};

const Slice& named(const Lane& lane, std::string_view name) {
  for (const Slice& s : lane.slices) {
    if (s.name == name) return s;
  }
  throw std::out_of_range(std::string(name));
}

std::int64_t outermost(const Lane& lane) {
  std::int64_t sum = 0;
  for (const Slice& s : lane.slices) {
    if (s.parent < 0) sum += s.duration();
  }
  return sum;
}

TEST(Timeline, HostAndDeviceTimesApart) {
  FakeLane f;
  f.slice(SliceKind::range, "forward", [&] {
    f.wait(1);
    f.op(kMatmul, 2, 10);
    f.wait(3);
    f.op(kAdd, 1, 4);
  });
  Timeline t = timeline_of({f.take()});
  const Lane& lane = t.lanes[0];
  EXPECT_EQ(named(lane, "forward").self, from_us(4));
  EXPECT_EQ(named(lane, "forward").device, from_us(14));
  EXPECT_EQ(named(lane, "matmul").self, from_us(2));
  EXPECT_EQ(named(lane, "matmul").device, from_us(10));
  EXPECT_EQ(t.self_host, from_us(7));
  EXPECT_EQ(t.self_device, from_us(14));
}

TEST(Timeline, EveryNanosecondHasOneOwner) {
  std::uint32_t state = 7;
  auto draw = [&](std::uint32_t n) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % n;
  };
  for (int round = 0; round < 50; ++round) {
    FakeLane f;
    std::function<void(int)> grow = [&](int depth) {
      for (std::uint32_t i = 0; i < 1 + draw(4); ++i) {
        f.wait(0.25 * draw(5));
        auto kind = static_cast<SliceKind>(draw(8));
        f.slice(kind, "s", [&] {
          f.wait(0.5 * draw(3));
          if (depth < 5) grow(depth + 1);
          f.wait(0.125 * draw(3));
        });
      }
    };
    grow(0);
    Timeline t = timeline_of({f.take()});
    const Lane& lane = t.lanes[0];
    std::int64_t self = 0, kernels = 0;
    for (const Slice& s : lane.slices) {
      EXPECT_GE(s.self, 0);
      EXPECT_LE(s.device, s.duration());
      self += s.self;
      if (s.is_kernel()) kernels += s.self;
    }
    EXPECT_EQ(self, outermost(lane));
    EXPECT_EQ(t.self_host + t.self_device, outermost(lane));
    EXPECT_EQ(t.self_device, kernels);
    EXPECT_EQ(BusyTime(t).in(0, t.end) >= kernels, true);
  }
}

TEST(Timeline, ZeroLengthAndTouchingSlices) {
  FakeLane f;
  f.slice(SliceKind::op, "a", [&] {
    f.slice(SliceKind::op, "at start", [&] {});
    f.wait(5);
    f.slice(SliceKind::op, "at end", [&] {});
  });
  f.slice(SliceKind::op, "b", [&] { f.slice(SliceKind::op, "whole", [&] { f.wait(2); }); });
  Timeline t = timeline_of({f.take()});
  const Lane& lane = t.lanes[0];
  EXPECT_EQ(named(lane, "at start").parent, 0);
  EXPECT_EQ(named(lane, "at end").parent, 0);
  EXPECT_EQ(named(lane, "b").parent, -1);
  EXPECT_EQ(named(lane, "b").self, 0);
  EXPECT_EQ(named(lane, "whole").self, from_us(2));
}

std::vector<StepTime> steps_at(std::initializer_list<double> edges) {
  std::vector<StepTime> steps;
  const double* e = edges.begin();
  for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
    steps.push_back({static_cast<std::int64_t>(i), from_us(e[i]), from_us(e[i + 1])});
  }
  return steps;
}

TEST(Timeline, StepsHoldWhatRanInThem) {
  FakeLane f;
  f.wait(1);
  f.op(kMatmul, 1, 8);  // 1 to 10
  f.op(kAdd, 1, 4);     // 10 to 15
  f.op(kMatmul, 1, 4);  // 15 to 20
  Timeline t = timeline_of({f.take()}, steps_at({1, 10, 20}));
  ASSERT_EQ(t.step_lane, 0);
  const Lane& lane = t.lanes[0];
  const Slice &first = named(lane, "ProfilerStep#0"), &second = named(lane, "ProfilerStep#1");
  EXPECT_EQ(first.parent, -1);
  EXPECT_EQ(first.self, 0);
  EXPECT_EQ(first.device, from_us(8));
  EXPECT_EQ(second.device, from_us(8));
  EXPECT_EQ(named(lane, "add").parent, &second - lane.slices.data());
  EXPECT_EQ(t.self_host + t.self_device, outermost(lane));
}

TEST(Timeline, StepsInsideARange) {
  FakeLane f;
  f.slice(SliceKind::range, "epoch", [&] {
    f.wait(1);
    f.op(kAdd, 1, 8);
    f.op(kAdd, 1, 9);
    f.wait(1);
  });
  Timeline t = timeline_of({f.take()}, steps_at({1, 10, 20}));
  ASSERT_EQ(t.step_lane, 0);
  const Lane& lane = t.lanes[0];
  EXPECT_EQ(named(lane, "ProfilerStep#0").parent, 0);
  EXPECT_EQ(named(lane, "ProfilerStep#1").parent, 0);
  EXPECT_EQ(named(lane, "epoch").self, from_us(2));
}

TEST(Timeline, StepsThatOverlapARangeStayBeside) {
  FakeLane f;
  f.wait(5);
  f.slice(SliceKind::range, "epoch", [&] { f.op(kAdd, 1, 9); });  // 5 to 15
  for (const auto& steps : {steps_at({0, 10, 20}), steps_at({0, 10}), steps_at({10, 20})}) {
    FakeLane copy = f;
    Timeline t = timeline_of({copy.take()}, steps);
    EXPECT_EQ(t.step_lane, -1);
    EXPECT_EQ(t.lanes[0].slices.size(), 3u);
  }
  FakeLane copy = f;
  EXPECT_EQ(timeline_of({copy.take()}, steps_at({0, 5, 15, 20})).step_lane, 0);
}

TEST(Timeline, StepsOfAThreadWithoutEvents) {
  FakeLane other(2);
  other.op(kAdd, 1, 5);
  Timeline t = timeline_of({other.take()}, steps_at({0, 3, 6}), 1);
  ASSERT_EQ(t.lanes.size(), 2u);
  EXPECT_EQ(t.step_lane, 0);
  EXPECT_EQ(t.lanes[0].slices.size(), 2u);
}

TEST(Timeline, BusyTimeCountsOverlapOnce) {
  FakeLane a(1), b(2);
  a.wait(10).kernel("k", 10);
  b.wait(15).kernel("k", 10).wait(5).kernel("k", 1);  // 15 to 25, 30 to 31
  Timeline t = timeline_of({a.take(), b.take()});
  BusyTime busy(t);
  EXPECT_EQ(busy.in(0, t.end), from_us(16));
  EXPECT_EQ(busy.in(0, from_us(10)), 0);
  EXPECT_EQ(busy.in(from_us(12), from_us(16)), from_us(4));
  EXPECT_EQ(busy.in(from_us(24), from_us(30.5)), from_us(1.5));
  EXPECT_EQ(busy.in(from_us(26), from_us(29)), 0);
  EXPECT_EQ(busy.in(from_us(100), from_us(200)), 0);
}

TEST(Timeline, MemorySumsUpwards) {
  FakeLane f;
  f.slice(SliceKind::range, "outer", [&] { f.op(kAdd, 1, 1); });
  Lane lane = f.take();
  lane.slices[1].self_memory = 100;
  lane.slices[0].self_memory = -30;
  Timeline t = timeline_of({std::move(lane)});
  EXPECT_EQ(t.lanes[0].slices[0].memory, 70);
  EXPECT_EQ(t.lanes[0].slices[0].self_memory, -30);
}

}  // namespace
}  // namespace ingot::profiler
