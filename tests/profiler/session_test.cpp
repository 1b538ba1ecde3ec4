#include <algorithm>
#include <filesystem>
#include <sstream>
#include <sys/wait.h>
#include <thread>

#include <gtest/gtest.h>

#include <ingot/kernels/core/error.h>
#include <ingot/profiler/gpu_observer.h>
#include <ingot/profiler/profiler.h>
#include <ingot/profiler/recorder.h>

#include "fake_events.h"
#include "support/strict_json.h"

namespace ingot::profiler {
namespace {

using ingot::testing::Json;

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Session, WholeLoop) {
  FakeOp add("add");
  Session session(options_of({.schedule = Schedule{}, .record_shapes = true, .with_stack = true}));
  for (int i = 0; i < 5; ++i) {
    {
      record_function forward("forward");
      add.run(20, 5);
    }
    session.step();
  }
  session.stop();
  Averages a = session.key_averages();
  ASSERT_TRUE(a.find("aten::add"));
  EXPECT_EQ(a.find("aten::add")->calls, 3);
  EXPECT_EQ(a.find("ProfilerStep*")->calls, 3);
  EXPECT_TRUE(a.find("aten::add")->source.starts_with("session_test.cpp:"));
  EXPECT_GE(a.self_device_us(), 60);
  EXPECT_GE(a.self_cpu_us(), 15);
  EXPECT_EQ(session.key_averages(true).find("aten::add")->shapes, "[[64, 64], [64]]");
  Verdict v = session.verdict();
  EXPECT_EQ(v.step_us.n, 3);
  EXPECT_EQ(session.verdict("forward").step_us.n, 3);
}

TEST(Session, InvariantsOfARealRecording) {
  FakeOp add("add"), mul("mul");
  Session session(options_of());
  for (int i = 0; i < 200; ++i) {
    record_function outer("outer");
    add.run(2, 1);
    mul.run(1, 0);
    if (i % 10 == 0) event(EventKind::replay, "guard", 1);
    session.step();
  }
  session.stop();
  Averages a = session.key_averages();
  double cpu = 0, device = 0;
  for (const Row& row : a.rows()) {
    cpu += row.self_cpu_us;
    device += row.self_device_us;
  }
  EXPECT_NEAR(cpu, a.self_cpu_us(), 1e-6 * cpu);
  EXPECT_NEAR(device, a.self_device_us(), 1e-6 * device);
  EXPECT_NEAR(a.find("aten::add")->self_device_us + a.find("aten::mul")->self_device_us, device,
              1e-6 * device);
}

TEST(Session, OneAtATime) {
  Session first(options_of());
  std::string message = message_of([] { Session second(options_of()); });
  EXPECT_TRUE(contains(message, "profiler: the session started at session_test.cpp:")) << message;
  EXPECT_TRUE(contains(message, "is still running; stop() it first; at session_test.cpp:"));
  std::string elsewhere;
  std::thread([&] { elsewhere = message_of([] { Session third(options_of()); }); }).join();
  EXPECT_TRUE(contains(elsewhere, "still running"));
  EXPECT_TRUE(contains(message_of([&] { first.start(); }), "still running"));
  event(EventKind::op, "works");
  first.stop();
  EXPECT_TRUE(first.key_averages().find("aten::works"));
  Session after(options_of());
}

TEST(Session, MisuseLeavesItUsable) {
  TempFolder folder;
  Session session(options_of());
  event(EventKind::op, "one");
  EXPECT_TRUE(contains(message_of([&] { (void)session.key_averages(); }),
                       "no recording has finished yet; call stop() first"));
  EXPECT_TRUE(contains(message_of([&] { session.export_chrome_trace(folder / "x.json"); }),
                       "no recording has finished yet"));
  EXPECT_FALSE(std::filesystem::exists(folder / "x.json"));
  session.stop();
  session.stop();
  EXPECT_TRUE(contains(message_of([&] { session.step(); }), "needs a running session"));
  EXPECT_TRUE(contains(message_of([&] { (void)session.key_averages(true); }), "record_shapes"));
  EXPECT_TRUE(contains(message_of([&] { session.export_stacks(folder / "s", "speed"); }), "speed"));
  EXPECT_EQ(session.key_averages().rows().size(), 1u);
  session.start();
  std::string elsewhere;
  std::thread([&] { elsewhere = message_of([&] { session.step(); }); }).join();
  EXPECT_TRUE(contains(elsewhere, "belongs to the thread that started"));
}

// sgl-project/sglang-omni#2248.
TEST(Session, ExportsTwiceAndStartsAgain) {
  TempFolder folder;
  Session session(options_of());
  event(EventKind::op, "first");
  session.stop();
  session.export_chrome_trace(folder / "a.json");
  session.export_chrome_trace(folder / "b.json");
  EXPECT_EQ(read_text(folder / "a.json"), read_text(folder / "b.json"));
  session.start();
  event(EventKind::op, "second");
  session.stop();
  session.export_chrome_trace(folder / "c.json.gz");
  std::string second = read_gzip(folder / "c.json.gz");
  EXPECT_TRUE(contains(second, "aten::second"));
  EXPECT_FALSE(contains(second, "aten::first"));
  EXPECT_EQ(session.key_averages().rows().size(), 1u);
}

// morluto/flameox#275: ids of two sessions never meet.
TEST(Session, IdsDifferBetweenSessions) {
  TempFolder folder;
  std::vector<double> ids;
  for (int i = 0; i < 2; ++i) {
    Session session(options_of());
    event(EventKind::op, "op");
    session.stop();
    session.export_chrome_trace(folder / "t.json");
    Json trace = Json::parse(read_text(folder / "t.json"));
    for (const Json& e : trace["traceEvents"].items) {
      if (e["name"].text == "aten::op") ids.push_back(e["args"]["External id"].value);
    }
  }
  ASSERT_EQ(ids.size(), 2u);
  EXPECT_NE(ids[0], ids[1]);
}

TEST(Session, UnwritablePath) {
  Session session(options_of());
  session.stop();
  std::string message =
      message_of([&] { session.export_chrome_trace("/nowhere/at/all/trace.json"); });
  EXPECT_TRUE(
      message.starts_with("export_chrome_trace: cannot write /nowhere/at/all/trace.json: "
                          "No such file or directory; at session_test.cpp:"))
      << message;
  EXPECT_THROW(session.export_chrome_trace("/nowhere/trace.json"), FileError);
}

TEST(Session, AskedForWhatIsNotThere) {
  std::string message = message_of([] { Session s(Options{.activities = {Activity::CUDA}}); });
  if (GpuObserver::unavailable().empty()) {
    EXPECT_EQ(message, "no error");
  } else {
    EXPECT_TRUE(contains(message, "Activity::CUDA was asked for, but ")) << message;
    EXPECT_TRUE(contains(message, GpuObserver::unavailable())) << message;
  }
  EXPECT_TRUE(contains(message_of([] { Session s(Options{.roofline = Roofline{}}); }), "roofline"));
  Session works(options_of({.activities = {Activity::CPU}}));
}

TEST(Session, CallbackErrorsAreReportedAndTheScheduleGoesOn) {
  int calls = 0;
  Session session(
      options_of({.schedule = Schedule{.wait = 0, .warmup = 0, .active = 1, .repeat = 3},
                  .on_trace_ready = [&](const Session&) {
                    ++calls;
                    throw Error("handler");
                  }}));
  event(EventKind::op, "a");
  EXPECT_EQ(message_of([&] { session.step(); }), "handler");
  event(EventKind::op, "b");
  EXPECT_EQ(message_of([&] { session.step(); }), "handler");
  EXPECT_TRUE(session.key_averages().find("aten::b"));
  EXPECT_EQ(session.action(), Action::record_and_save);
  event(EventKind::op, "c");
  EXPECT_EQ(message_of([&] { session.stop(); }), "handler");
  EXPECT_EQ(calls, 3);
  Session next(options_of());
}

TEST(Session, EndsWithItsScope) {
  int calls = 0;
  {
    Session session(options_of({.on_trace_ready = [&](const Session&) { ++calls; }}));
    EXPECT_NE(observer(), nullptr);
  }
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(observer(), nullptr);
}

// async-profiler/async-profiler#699: a destructor cannot throw, but it can say what was lost.
TEST(Session, WhatItsEndLosesIsSaidOnStderr) {
  const std::vector<std::function<void(const Session&)>> handlers = {
      trace_handler("/proc/no/such/folder"), [](const Session&) { throw 5; }};
  for (const auto& handler : handlers) {
    ::testing::internal::CaptureStderr();
    {
      Session session(options_of({.on_trace_ready = handler}));
      event(EventKind::op, "a");
    }
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
    EXPECT_TRUE(said.starts_with("ingot: ")) << said;
    EXPECT_EQ(contains(said, "/proc/no/such/folder"), &handler == &handlers[0]) << said;
  }
  ::testing::internal::CaptureStderr();
  { Session session(options_of()); }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(Session, IdleStepsCostNothing) {
  Session session(options_of({.schedule = Schedule{.wait = 2, .warmup = 1, .active = 1}}));
  EXPECT_EQ(observer(), nullptr);
  session.step();
  session.step();
  EXPECT_NE(observer(), nullptr);
  EXPECT_EQ(session.action(), Action::warmup);
  EXPECT_EQ(session.step_number(), 2);
  session.step();
  session.step();
  EXPECT_EQ(observer(), nullptr);
}

// ooples/AiDotNet.Tensors#264.
TEST(Session, TraceHandlerNeverOverwrites) {
  TempFolder folder;
  const std::string dir = folder / "made/here";
  auto write_all = [&] {
    Session session(options_of());
    FakeOp("add").run();
    session.stop();
    auto handler = trace_handler(dir);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 25; ++i) handler(session);
      });
    }
    for (std::thread& t : threads) t.join();
  };
  pid_t child = ::fork();
  if (child == 0) {
    write_all();
    ::_exit(0);
  }
  write_all();
  int status = 1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    EXPECT_NO_THROW(Json::parse(read_gzip(entry.path().string()))) << entry.path();
    EXPECT_TRUE(entry.path().string().ends_with(".pt.trace.json.gz"));
    ++files;
  }
  EXPECT_EQ(files, 200u);
}

TEST(Session, DropsAreReported) {
  TempFolder folder;
  Session session(options_of({.max_bytes = 1}));
  for (int i = 0; i < 5000; ++i) event(EventKind::op, "op");
  session.stop();
  EXPECT_TRUE(contains(session.key_averages().table(), " events of 5000 (the latest; "))
      << session.key_averages().table();
  session.export_chrome_trace(folder / "t.json");
  Json trace = Json::parse(read_text(folder / "t.json"));
  EXPECT_GT(trace["ingot"]["dropped"].value, 0);
  EXPECT_EQ(trace["ingot"]["dropped"].value + trace["ingot"]["events"].value, 5000);
}

// pytorch/pytorch#192021: many short sessions see all of their own events.
TEST(Session, ShortSessionsLoseNothing) {
  for (int i = 0; i < 50; ++i) {
    Session session(options_of());
    for (int k = 0; k < 50; ++k) event(EventKind::kernel, "k");
    session.stop();
    EXPECT_EQ(session.key_averages().find("k")->calls, 50);
  }
}

// pytorch/pytorch#76281.
TEST(Session, MarkersAreFreeWhenOff) {
  { Session session(options_of()); }
  constexpr int kPairs = 1'000'000;
  double best = 1e9;
  for (int round = 0; round < 5; ++round) {
    std::int64_t start = monotonic_ns();
    for (int i = 0; i < kPairs; ++i) record_function range("off");
    best = std::min(best, static_cast<double>(monotonic_ns() - start) / kPairs);
  }
  RecordProperty("ns_per_pair", std::to_string(best));
#ifdef NDEBUG
  EXPECT_LT(best, 25);
#endif
}

TEST(Session, TheCallbackMayNotStepOrStop) {
  Session* self = nullptr;
  std::string of_step, of_stop;
  Session session(options_of({.schedule = Schedule{.wait = 0, .warmup = 0, .active = 1},
                              .on_trace_ready = [&](const Session&) {
                                of_step = message_of([&] { self->step(); });
                                of_stop = message_of([&] { self->stop(); });
                              }}));
  self = &session;
  session.step();
  EXPECT_TRUE(of_step.starts_with("profiler: step() may not be called by on_trace_ready; at "));
  EXPECT_TRUE(of_stop.starts_with("profiler: stop() may not be called by on_trace_ready; at "));
  EXPECT_EQ(session.step_number(), 1);
  session.stop();
  EXPECT_EQ(message_of([&] { (void)session.key_averages(); }), "no error");
}

TEST(Session, AWindowThatFailsIsNotEndedTwice) {
  Session session(options_of({.schedule = Schedule{.wait = 0, .warmup = 0, .active = 1}}));
  recorder().discard();  // as if what was recorded could not be had
  EXPECT_ANY_THROW(session.step());
  EXPECT_EQ(session.action(), Action::none);
  EXPECT_NO_THROW(session.step());
  EXPECT_EQ(session.step_number(), 1);
  session.stop();

  session.start();
  FakeOp("after").run(5);
  session.step();
  session.stop();
  EXPECT_EQ(session.key_averages().find("aten::after")->calls, 1);
}

TEST(Session, UnknownRangeIsNamed) {
  Session session(options_of());
  { record_function r("mine"); }
  session.stop();
  const std::string message = message_of([&] { (void)session.verdict("yours"); });
  EXPECT_TRUE(message.starts_with("verdict: no range is named 'yours'; there are: mine; at "))
      << message;
}

TEST(Session, ARangeThatEndedElsewhereHasNoShareAndAVerdict) {
  Session session(options_of());
  FakeOp add("add");
  for (int i = 0; i < 3; ++i) {
    auto cross = std::make_unique<record_function>("cross");
    std::thread([&] {
      add.run(0, 200);
      cross.reset();
    }).join();
  }
  session.stop();
  const Averages a = session.key_averages();
  EXPECT_EQ(a.find("cross")->beside, 3);
  EXPECT_GE(a.find("cross")->cpu_total_us, 600);
  const std::string table = a.table();
  const std::size_t line = table.find("\ncross ");
  ASSERT_NE(line, std::string::npos) << table;
  // Self CPU %, Self CPU, CPU total %.
  std::istringstream cells(table.substr(line + 1));
  std::string name, self_percent, self, total_percent;
  cells >> name >> self_percent >> self >> total_percent;
  EXPECT_EQ(total_percent, "-") << table;
  EXPECT_EQ(session.verdict("cross").kind, Verdict::overhead_bound);
  EXPECT_EQ(session.verdict("cross").step_us.n, 3);
}

TEST(Session, LongNamesAreFoundByTheWholeName) {
  const std::string longest(5000, 'x');
  std::string wide;
  for (int i = 0; i < 2000; ++i) wide += "\xE9\x96\xA2";
  Session session(options_of());
  for (int i = 0; i < 3; ++i) {
    { record_function range(longest); }
    { record_function range(wide); }
  }
  session.stop();
  const Averages a = session.key_averages();
  for (const std::string& name : {longest, wide}) {
    ASSERT_TRUE(a.find(name));
    EXPECT_EQ(a.find(name)->calls, 3);
    EXPECT_TRUE(a.find(a.find(name)->name));
    EXPECT_EQ(session.verdict(name).step_us.n, 3);
    EXPECT_LT(message_of([&] { (void)session.verdict(name + "y"); }).size(), 2000u);
  }
  EXPECT_FALSE(a.find(std::string(999, 'x')));
}

TEST(MeasuredRoofline, PlausibleAndMeasuredOnce) {
  const Roofline& r = measured_roofline();
  EXPECT_GT(r.bytes_per_s, 1e8);
  EXPECT_LT(r.bytes_per_s, 1e14);
  EXPECT_GT(r.flops_per_s, 1e8);
  EXPECT_LT(r.flops_per_s, 1e16);
  EXPECT_TRUE(contains(r.how, "memcpy"));
  std::int64_t start = monotonic_ns();
  EXPECT_EQ(&measured_roofline(), &r);
  EXPECT_LT(monotonic_ns() - start, 1'000'000);
}

}  // namespace
}  // namespace ingot::profiler
