// What exports and many sessions leave in memory, and that a window read from its records is the
// same as one read from its timeline.
#include <algorithm>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include <ingot/profiler/profiler.h>

#include "fake_events.h"
#include "heap_bytes.h"

namespace ingot::profiler {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

// The extra memory of an export does not depend on how much was recorded.
TEST(ExportMemory, ExportsStream) {
  TempFolder folder;
  for (int ranges : {100'000, 400'000}) {
    Session session(options_of({.with_stack = true, .max_bytes = 512 * kMiB}));
    {
      record_function outermost("outermost");
      for (int i = 0; i < ranges; ++i) {
        record_function range("unlike all the others: " + std::to_string(i));
      }
    }
    session.stop();
    const std::size_t trace = g_heap.extra([&] { session.export_chrome_trace(folder / "t.json"); });
    const std::size_t zipped =
        g_heap.extra([&] { session.export_chrome_trace(folder / "t.json.gz"); });
    const std::size_t stacks = g_heap.extra([&] { session.export_stacks(folder / "s"); });
    EXPECT_LT(trace, 2 * kMiB) << ranges;
    EXPECT_LT(zipped, 2 * kMiB) << ranges;
    EXPECT_LT(stacks, 12 * kMiB) << ranges;
    const std::string text = read_text(folder / "s");
    EXPECT_GE(std::count(text.begin(), text.end(), '\n'), ranges / 2);  // those of 0 ns have none
    EXPECT_GT(std::filesystem::file_size(folder / "t.json"),
              static_cast<std::size_t>(ranges) * 150);
  }
}

TEST(ExportMemory, RecordsAndTimelineAreOneTrace) {
  TempFolder folder;
  for (bool modules : {true, false}) {
    for (bool over_the_edge : {true, false}) {
      Session session(options_of({.schedule = Schedule{.wait = 0, .warmup = 0, .active = 3},
                                  .record_shapes = true,
                                  .profile_memory = true,
                                  .with_stack = true,
                                  .with_modules = modules}));
      FakeOp add("add");
      std::unique_ptr<record_function> kept;
      for (int i = 0; i < 3; ++i) {
        if (over_the_edge) kept = std::make_unique<record_function>("over the edge");
        ScopedEvent module({.kind = EventKind::range, .name = "module"});
        record_function range("range");
        add.run(5, 5);
        observer()->memory({kCPU, &session, 512, 512, 1024});
        std::thread([&] {
          record_function other("other thread");
          add.run();
        }).join();
        auto cross = std::make_unique<record_function>("cross");
        std::thread([&] { cross.reset(); }).join();
        if (i == 0) event(EventKind::kernel, "alone");
        if (i == 2) kept.reset();
        if (i < 2) session.step();
      }
      session.step();
      session.stop();
      session.export_chrome_trace(folder / "records.json");
      session.export_stacks(folder / "records");
      EXPECT_GT(session.key_averages().rows().size(), 5u);  // from here on there is a timeline
      session.export_chrome_trace(folder / "timeline.json");
      session.export_stacks(folder / "timeline");
      EXPECT_EQ(read_text(folder / "records.json"), read_text(folder / "timeline.json"));
      EXPECT_EQ(read_text(folder / "records"), read_text(folder / "timeline"));
    }
  }
}

TEST(SessionMemory, ManySessionsLeaveNothing) {
  const auto sessions = [](int n) {
    for (int i = 0; i < n; ++i) {
      const auto run = [] {
        Session session(options_of({.schedule = Schedule{.wait = 0, .warmup = 0, .active = 3}}));
        for (int step = 0; step < 3; ++step) {
          for (int k = 0; k < 500; ++k) event(EventKind::op, "op");
          session.step();
        }
        session.stop();
        (void)session.key_averages();
      };
      if (i % 2 == 0) {
        run();
      } else {
        std::thread(run).join();
      }
    }
  };
  sessions(60);
  const std::size_t before = resident_bytes();
  sessions(300);
  const std::size_t after = resident_bytes();
  if (!kUnderSanitizer) {
    EXPECT_LT(after, before + 4 * kMiB);
  }
}

}  // namespace
}  // namespace ingot::profiler
