// Sessions and threads: results asked for while the session goes on, stop() elsewhere, threads that
// end while they are recorded.
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include <ingot/kernels/core/error.h>
#include <ingot/profiler/profiler.h>

#include "fake_events.h"
#include "support/strict_json.h"

namespace ingot::profiler {
namespace {

using ingot::testing::Json;

constexpr int kOps = 40;  // a step

std::int64_t calls_of(const Averages& a, const char* name) {
  const std::optional<Row> row = a.find(name);
  return row ? row->calls : 0;
}

// What a reader may see: one whole cycle of one step.
void expect_whole(const Session& session) {
  const Averages a = session.key_averages();
  EXPECT_EQ(calls_of(a, "ProfilerStep*"), 1);
  EXPECT_EQ(calls_of(a, "aten::op"), kOps);
  EXPECT_EQ(calls_of(a, "range"), kOps);
}

void run_step(Session& session) {
  for (int i = 0; i < kOps; ++i) {
    record_function range("range");
    event(EventKind::op, "op");
  }
  session.step();
}

// sgl-project/sglang#35115.
TEST(SessionThreads, ReadersSeeOneWholeCycleWhileTheNextIsRecorded) {
  TempFolder folder;
  std::atomic<bool> go_on{true};
  std::atomic<int> reads{0};
  std::atomic<const Session*> ready{nullptr};
  std::vector<std::thread> readers;
  const auto reader = [&](auto&& read) {
    readers.emplace_back([&, read] {
      while (ready.load() == nullptr) std::this_thread::yield();
      while (go_on.load(std::memory_order_relaxed)) {
        read(*ready.load());
        reads.fetch_add(1, std::memory_order_relaxed);
      }
    });
  };
  reader(expect_whole);
  reader([](const Session& s) { (void)s.key_averages().table(); });
  reader([](const Session& s) {
    (void)s.verdict();
    const Verdict v = s.verdict("range");
    EXPECT_EQ(v.step_us.n + v.cold, kOps);
    (void)s.action();
    (void)s.step_number();
  });
  reader([&](const Session& s) {
    const std::string path = folder / "trace.json";
    s.export_chrome_trace(path);
    const Json trace = Json::parse(read_text(path));
    EXPECT_EQ(trace["ingot"]["events"].value, 2 * kOps);
  });
  reader([&](const Session& s) {
    s.export_stacks(folder / "stacks");
    EXPECT_NE(read_text(folder / "stacks").find(";range;aten::op "), std::string::npos);
  });
  {
    Session session(
        options_of({.schedule = Schedule{.wait = 0, .warmup = 0, .active = 1, .repeat = 0},
                    .on_trace_ready = [](const Session& s) { expect_whole(s); }}));
    run_step(session);
    ready = &session;
    for (int i = 0; i < 300; ++i) run_step(session);
    while (reads.load() < 50) run_step(session);
    session.stop();
    expect_whole(session);
    go_on = false;
    for (std::thread& t : readers) t.join();
  }
}

TEST(SessionThreads, AnotherThreadStopsAndStartsAgain) {
  std::atomic<bool> go_on{true};
  Session session(options_of());
  std::thread worker([&] {
    while (go_on.load()) event(EventKind::op, "op");
  });
  std::vector<std::thread> others;
  for (int t = 0; t < 2; ++t) {
    others.emplace_back([&] {
      for (int i = 0; i < 30; ++i) {
        session.stop();
        try {
          session.start();
        } catch (const Error& e) {
          EXPECT_NE(std::string(e.what()).find("still running"), std::string::npos);
        }
        try {
          (void)session.key_averages();
        } catch (const Error& e) {
          EXPECT_NE(std::string(e.what()).find("no recording has finished"), std::string::npos);
        }
      }
    });
  }
  for (std::thread& t : others) t.join();
  session.stop();
  EXPECT_GE(session.key_averages().rows().size(), 0u);
  go_on = false;
  worker.join();
}

TEST(SessionThreads, StopWaitsForTheCallback) {
  std::atomic<bool> inside{false}, left{false};
  std::thread stopper;
  Session* self = nullptr;
  Session session(options_of({.schedule = Schedule{.wait = 0, .warmup = 0, .active = 1},
                              .on_trace_ready = [&](const Session&) {
                                stopper = std::thread([&] {
                                  inside = true;
                                  self->stop();
                                  EXPECT_TRUE(left.load());
                                });
                                while (!inside.load()) std::this_thread::yield();
                                spin_us(2000);
                                left = true;
                              }}));
  self = &session;
  event(EventKind::op, "op");
  session.step();
  stopper.join();
  EXPECT_EQ(calls_of(session.key_averages(), "aten::op"), 1);
  Session next(options_of());
}

TEST(SessionThreads, SessionsOfManyThreadsTakeTurns) {
  constexpr int kThreads = 4, kSessions = 25;
  std::atomic<int> sessions{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int done = 0; done < kSessions;) {
        try {
          Session session(options_of());
          event(EventKind::op, "own");
          std::thread([] { event(EventKind::op, "of a thread that ends"); }).join();
          session.stop();
          const Averages a = session.key_averages();
          EXPECT_EQ(calls_of(a, "aten::own"), 1);
          EXPECT_EQ(calls_of(a, "aten::of a thread that ends"), 1);
          ++done;
          ++sessions;
        } catch (const Error& e) {
          EXPECT_NE(std::string(e.what()).find("is still running"), std::string::npos);
          std::this_thread::yield();
        }
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(sessions.load(), kThreads * kSessions);
}

}  // namespace
}  // namespace ingot::profiler
