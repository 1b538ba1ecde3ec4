// record_function's ranges in every order in which they may end.
#include <deque>
#include <map>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "fake_events.h"
#include "recorded.h"

namespace ingot::profiler {
namespace {

// pytorch/pytorch#32566.
TEST(Ranges, OneThatEndsOnAnotherThread) {
  Recorded window;
  auto across = std::make_unique<record_function>("across");
  record_function q("q");
  spin_us(100);
  std::thread([&] {
    record_function own("own");
    across.reset();
    event(EventKind::op, "op");
  }).join();
  { record_function later("later"); }
  Timeline t = window.close();
  const Lane& lane = own_lane(t);
  EXPECT_EQ(outline(lane), "q! >later ");
  ASSERT_EQ(lane.across.size(), 1u);
  EXPECT_EQ(lane.across[0].name, "across");
  EXPECT_GE(lane.across[0].duration(), 100'000);
  EXPECT_LT(lane.across[0].duration(), t.end);
  int others = 0;
  for (const Lane& other : t.lanes) {
    if (&other != &lane) others += outline(other) == "own >op ";
  }
  EXPECT_EQ(others, 1);
}

std::map<std::string, double> milliseconds(const std::vector<Slice>& slices) {
  std::map<std::string, double> ms;
  for (const Slice& s : slices) {
    ms[std::string(s.name)] += static_cast<double>(s.duration()) / 1e6;
  }
  return ms;
}

std::map<std::string, double> of_all(const Lane& lane) {
  std::map<std::string, double> ms = milliseconds(lane.slices);
  ms.merge(milliseconds(lane.across));
  return ms;
}

// NVIDIA/cudf-spark#13319: the next range begins before the one that it takes the place of ends.
TEST(Ranges, ThoseThatFollowEachOtherKeepTheirTimes) {
  Recorded window;
  std::unique_ptr<record_function> current;
  std::vector<std::int64_t> before, after;  // each change
  const auto change = [&](const char* name) {
    before.push_back(monotonic_ns());
    if (name != nullptr) {
      current = std::make_unique<record_function>(name);
    } else {
      current.reset();
    }
    after.push_back(monotonic_ns());
  };
  change("A");
  spin_us(5000);
  change("B");
  spin_us(1000);
  change("C");
  spin_us(3000);
  change(nullptr);
  Timeline t = window.close();
  const std::map<std::string, double> ms = of_all(own_lane(t));
  std::size_t i = 0;
  for (const char* name : {"A", "B", "C"}) {
    constexpr double kClocks = 0.01;  // ms by which two clocks may differ
    EXPECT_GE(ms.at(name), static_cast<double>(before[i + 1] - after[i]) / 1e6 - kClocks) << name;
    EXPECT_LE(ms.at(name), static_cast<double>(after[i + 1] - before[i]) / 1e6 + kClocks) << name;
    ++i;
  }
}

TEST(Ranges, AnyOrderLeavesTheNestingWhole) {
  Recorded window;
  auto early = std::make_unique<record_function>("early");
  {
    record_function outer("outer");
    spin_us(200);
    early.reset();
    event(EventKind::op, "in outer", 300);
    {
      ScopedEvent module({.kind = EventKind::range, .name = "module"});
      early = std::make_unique<record_function>("kept by a module");
      auto inner = std::make_unique<record_function>("inner");
      event(EventKind::op, "in module", 100);
      inner.reset();
      spin_us(100);
    }
    spin_us(400);
  }
  event(EventKind::op, "after");
  early.reset();
  auto never = std::make_unique<record_function>("never ended");
  Timeline t = window.close();
  const Lane& lane = own_lane(t);
  EXPECT_EQ(outline(lane), "outer >in outer >module >>inner >>>in module after never ended! ");
  ASSERT_EQ(lane.across.size(), 2u);
  const std::map<std::string, double> ms = of_all(lane);
  EXPECT_GE(ms.at("early"), 0.2);
  EXPECT_LE(ms.at("early"), ms.at("outer"));
  EXPECT_GE(ms.at("outer") - ms.at("module"), 0.9);
  EXPECT_GE(ms.at("kept by a module") - ms.at("module"), 0.4 - 0.01);
  EXPECT_GE(ms.at("kept by a module"), 0.6);
}

// First in, first out, as tasks in a queue end; and more of them than a chunk has room for ends.
TEST(Ranges, ManyThatEndInTheOrderOfTheirBegins) {
  constexpr int kRanges = 5000;
  Recorded window;
  for (int round = 0; round < 3; ++round) {
    std::deque<std::unique_ptr<record_function>> open;
    for (int i = 0; i < kRanges; ++i) {
      open.push_back(std::make_unique<record_function>("queued"));
      event(EventKind::op, "op");
    }
    while (!open.empty()) open.pop_front();
  }
  Timeline t = window.close();
  const Lane& lane = own_lane(t);
  EXPECT_EQ(t.dropped, 0u);
  std::size_t queued = 0;
  for (const std::vector<Slice>* slices : {&lane.slices, &lane.across}) {
    for (const Slice& s : *slices) {
      EXPECT_FALSE(s.unfinished);
      queued += s.name == "queued" ? 1 : 0;
    }
  }
  EXPECT_EQ(queued, 3u * kRanges);
}

// The thread that begins them keeps no room for ends that never come, the one that ends them has as
// much as it needs.
TEST(Ranges, ManyThatEndOnAnotherThread) {
  constexpr int kRanges = 10'000, kRounds = 20;
  Recorded window({.max_bytes = 64 << 20});
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::unique_ptr<record_function>> open;
    for (int i = 0; i < kRanges; ++i) open.push_back(std::make_unique<record_function>("task"));
    std::thread([&] { open.clear(); }).join();
  }
  Timeline t = window.close();
  EXPECT_EQ(t.dropped, 0u);
  const Lane& lane = own_lane(t);
  ASSERT_EQ(lane.across.size(), static_cast<std::size_t>(kRanges) * kRounds);
  for (const Slice& s : lane.across) ASSERT_FALSE(s.unfinished);
}

}  // namespace
}  // namespace ingot::profiler
