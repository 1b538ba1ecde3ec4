#include <cstdio>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "fake_events.h"

namespace ingot::profiler {
namespace {

char letter(Action a) {
  switch (a) {
    case Action::none:
      return '.';
    case Action::warmup:
      return 'w';
    case Action::record:
      return 'r';
    case Action::record_and_save:
      return 'S';
  }
  return '?';
}

std::string sequence(const Schedule& s, int steps) {
  std::string text;
  for (int i = 0; i < steps; ++i) text += letter(action_at(s, i));
  return text;
}

// The rules written as a list of what comes after what, without arithmetic on step numbers.
std::string expected(const Schedule& s, int steps) {
  std::string text(static_cast<std::size_t>(s.skip_first), '.');
  for (int cycle = 0; s.repeat == 0 || cycle < s.repeat; ++cycle) {
    if (!(cycle == 0 && s.skip_first_wait)) text.append(static_cast<std::size_t>(s.wait), '.');
    text.append(static_cast<std::size_t>(s.warmup), 'w');
    text.append(static_cast<std::size_t>(s.active - 1), 'r');
    text += 'S';
    if (text.size() > static_cast<std::size_t>(steps)) break;
  }
  text.append(static_cast<std::size_t>(steps), '.');
  return text.substr(0, static_cast<std::size_t>(steps));
}

std::vector<Schedule> small_schedules() {
  std::vector<Schedule> all;
  for (int wait = 0; wait < 3; ++wait)
    for (int warmup = 0; warmup < 3; ++warmup)
      for (int active = 1; active < 4; ++active)
        for (int repeat = 0; repeat < 3; ++repeat)
          for (int skip = 0; skip < 3; ++skip)
            for (bool skip_wait : {false, true})
              all.push_back({wait, warmup, active, repeat, skip, skip_wait});
  return all;
}

TEST(Schedule, SequencesByHand) {
  EXPECT_EQ(sequence({}, 8), ".wrrS...");
  EXPECT_EQ(sequence({.wait = 0, .warmup = 0, .active = 1, .repeat = 0}, 4), "SSSS");
  EXPECT_EQ(sequence({.wait = 0, .warmup = 1, .active = 3, .repeat = 2}, 12), "wrrSwrrS....");
  EXPECT_EQ(sequence({.wait = 2, .warmup = 0, .active = 2, .repeat = 0, .skip_first = 1}, 12),
            "...rS..rS..r");
  EXPECT_EQ(sequence({.wait = 4, .warmup = 1, .active = 2, .repeat = 2, .skip_first = 2}, 20),
            "......wrS....wrS....");
  EXPECT_EQ(sequence({.wait = 4,
                      .warmup = 1,
                      .active = 2,
                      .repeat = 2,
                      .skip_first = 2,
                      .skip_first_wait = true},
                     20),
            "..wrS....wrS........");
}

TEST(Schedule, SmallCombinations) {
  for (const Schedule& s : small_schedules()) {
    EXPECT_EQ(sequence(s, 30), expected(s, 30))
        << s.wait << s.warmup << s.active << s.repeat << s.skip_first << s.skip_first_wait;
  }
}

TEST(Schedule, LargeNumbersDoNotOverflow) {
  const int most = 2147483647;
  EXPECT_EQ(action_at({.wait = most, .warmup = most, .active = most}, 5), Action::none);
  EXPECT_EQ(action_at({.wait = most, .warmup = 1}, std::int64_t{most}), Action::warmup);
}

// Runs one op a step, named after it, and returns what each call of the handler saw: one text of
// step numbers for each window.
std::vector<std::string> windows_seen(const Schedule& schedule, int steps) {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> n;
    for (int i = 0; i < 40; ++i) n.push_back(std::to_string(i) + ",");
    return n;
  }();
  std::vector<std::string> seen;
  Options options = options_of({.schedule = schedule, .on_trace_ready = [&](const Session& s) {
                                  std::set<int> ops, marks;
                                  for (const Row& row : s.key_averages().rows()) {
                                    if (row.name.starts_with("aten::")) {
                                      ops.insert(std::stoi(row.name.substr(6)));
                                    }
                                  }
                                  std::string text;
                                  for (int op : ops) text += std::to_string(op) + ",";
                                  seen.push_back(text);
                                }});
  Session session(std::move(options));
  for (int i = 0; i < steps; ++i) {
    event(EventKind::op, names[static_cast<std::size_t>(i)].c_str());
    session.step();
  }
  session.stop();
  return seen;
}

TEST(Schedule, SessionsRecordTheActiveSteps) {
  constexpr int kSteps = 11;
  for (const Schedule& s : small_schedules()) {
    std::vector<std::string> wanted;
    std::string open;
    // stop() delivers what was recorded since the last whole cycle: not a window of nothing.
    std::string actions = expected(s, kSteps + 1);
    for (int i = 0; i <= kSteps; ++i) {
      char a = actions[static_cast<std::size_t>(i)];
      if ((a == 'r' || a == 'S') && i < kSteps) open += std::to_string(i) + ",";
      if (a == 'S' && i < kSteps) wanted.push_back(std::exchange(open, ""));
    }
    char last = actions[kSteps];
    if ((last == 'r' || last == 'S') && !open.empty()) wanted.push_back(open);
    EXPECT_EQ(windows_seen(s, kSteps), wanted)
        << actions << " " << s.wait << s.warmup << s.active << s.repeat << s.skip_first;
  }
}

// pytorch/pytorch#91682: what stop() cuts short is shown to the handler, and is the result only
// where no whole cycle has finished.
TEST(Schedule, ResultsAreThoseOfTheLastWholeCycle) {
  for (int extra : {0, 1}) {
    int calls = 0, steps_seen = 0;
    Session session(
        options_of({.schedule = Schedule{.wait = 0, .warmup = 0, .active = 2, .repeat = 0},
                    .on_trace_ready = [&](const Session& s) {
                      ++calls;
                      steps_seen = static_cast<int>(s.key_averages().find("ProfilerStep*")->calls);
                    }}));
    for (int i = 0; i < 4 + extra; ++i) {
      event(EventKind::op, i < 4 ? "of a cycle" : "of a part");
      session.step();
    }
    session.stop();
    EXPECT_EQ(calls, 2 + extra);
    EXPECT_EQ(steps_seen, extra == 0 ? 2 : 1);
    const Averages a = session.key_averages();
    EXPECT_EQ(a.find("ProfilerStep*")->calls, 2);
    EXPECT_EQ(a.find("aten::of a cycle")->calls, 2);
    EXPECT_FALSE(a.find("aten::of a part"));
    EXPECT_EQ(session.verdict().step_us.n, 2);
  }
}

TEST(Schedule, APartIsTheResultWhereNoCycleIsWhole) {
  const Schedule schedule{.wait = 0, .warmup = 0, .active = 3};
  Session session(options_of({.schedule = schedule}));
  event(EventKind::op, "first");
  session.step();
  session.stop();
  EXPECT_EQ(session.key_averages().find("ProfilerStep*")->calls, 1);
  // An event of the step that was cut short is something.
  session.start();
  event(EventKind::op, "second");
  session.stop();
  EXPECT_TRUE(session.key_averages().find("aten::second"));
  // Nothing at all is told by an empty table, but no handler is called for it.
  int calls = 0;
  session.start();
  session.stop();
  EXPECT_TRUE(session.key_averages().rows().empty());
  Session idle_one(
      options_of({.schedule = schedule, .on_trace_ready = [&](const Session&) { ++calls; }}));
  idle_one.stop();
  EXPECT_EQ(calls, 0);
  // Steps without an event are a cycle.
  Session idle(
      options_of({.schedule = schedule, .on_trace_ready = [&](const Session&) { ++calls; }}));
  for (int i = 0; i < 3; ++i) idle.step();
  idle.stop();
  EXPECT_EQ(calls, 1);
}

// pytorch/pytorch#73828.
TEST(Schedule, CyclesNeitherGrowNorMix) {
  using Windows = std::vector<std::string>;
  EXPECT_EQ(windows_seen({.wait = 0, .warmup = 1, .active = 3, .repeat = 2}, 20),
            (Windows{"1,2,3,", "5,6,7,"}));
  EXPECT_EQ(windows_seen({.wait = 0, .warmup = 0, .active = 5, .repeat = 1}, 20),
            (Windows{"0,1,2,3,4,"}));
  EXPECT_EQ(windows_seen({.wait = 0, .warmup = 0, .active = 5, .repeat = 0}, 12),
            (Windows{"0,1,2,3,4,", "5,6,7,8,9,", "10,11,"}));
}

// pytorch/pytorch#91888, #141070.
TEST(Schedule, SkipFirstAndWaitAdd) {
  using Windows = std::vector<std::string>;
  Schedule s{.wait = 4, .warmup = 1, .active = 2, .repeat = 2, .skip_first = 2};
  EXPECT_EQ(windows_seen(s, 30), (Windows{"7,8,", "14,15,"}));
  s.skip_first_wait = true;
  EXPECT_EQ(windows_seen(s, 30), (Windows{"3,4,", "10,11,"}));
}

TEST(Schedule, BadNumbersAreRefused) {
  for (const Schedule& s : {Schedule{.active = 0}, Schedule{.wait = -1}, Schedule{.warmup = -1},
                            Schedule{.repeat = -1}, Schedule{.skip_first = -1}}) {
    EXPECT_THROW({ Session refused(Options{.schedule = s}); }, Error);
  }
  EXPECT_EQ(observer(), nullptr);
  Session works(options_of());
}

}  // namespace
}  // namespace ingot::profiler
