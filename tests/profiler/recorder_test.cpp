#if defined(__GNUC__) && !defined(__clang__)
// The operators below pair with each other; g++ sees only one of them at a time.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif

#include <atomic>
#include <cstdlib>
#include <malloc.h>
#include <map>
#include <memory>
#include <new>
#include <thread>

#include <gtest/gtest.h>

#include <ingot/kernels/core/error.h>
#include <ingot/profiler/decode.h>

#include "fake_events.h"
#include "heap_bytes.h"
#include "recorded.h"

namespace {
std::atomic<long> g_allocations{0};
}  // namespace

namespace ingot::profiler {
constinit HeapBytes g_heap;
}  // namespace ingot::profiler

void* operator new(std::size_t n, const std::nothrow_t&) noexcept {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  void* p = std::malloc(n);
  ingot::profiler::g_heap.add(static_cast<std::ptrdiff_t>(::malloc_usable_size(p)));
  return p;
}
void* operator new(std::size_t n) {
  if (void* p = operator new(n, std::nothrow)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept {
  ingot::profiler::g_heap.add(-static_cast<std::ptrdiff_t>(::malloc_usable_size(p)));
  std::free(p);
}
void operator delete(void* p, std::size_t) noexcept { operator delete(p); }

namespace ingot::profiler {
namespace {

TEST(Recorder, NestingAndTimes) {
  Recorded window;
  {
    record_function outer("outer");
    spin_us(50);
    FakeOp("mul").run(200, 100);
    event(EventKind::compile, "codegen", 30);
  }
  Timeline t = window.close();
  const Lane& lane = own_lane(t);
  EXPECT_EQ(outline(lane), "outer >mul >>mul >codegen ");
  EXPECT_GE(lane.slices[0].self, 50'000);
  EXPECT_GE(lane.slices[1].self, 100'000);
  EXPECT_GE(lane.slices[2].self, 200'000);
  EXPECT_EQ(lane.slices[2].kind, SliceKind::kernel);
  EXPECT_EQ(lane.slices[3].kind, SliceKind::compile);
  EXPECT_EQ(lane.slices[0].kind, SliceKind::range);
  EXPECT_GE(t.end, lane.slices[0].end);
  EXPECT_EQ(t.events, 4u);
  EXPECT_EQ(t.dropped, 0u);
}

TEST(Recorder, ClockAgreesWithTheSystems) {
  Recorded window;
  std::int64_t start = monotonic_ns();
  {
    record_function range("range");
    spin_us(20'000);
  }
  std::int64_t took = monotonic_ns() - start;
  Timeline t = window.close();
  std::int64_t recorded = own_lane(t).slices.at(0).duration();
  EXPECT_GE(recorded, 19'990'000);
  EXPECT_LE(recorded, took + took / 1000);
}

TEST(Recorder, EventsAreForgottenAfterBegin) {
  Recorded window({.shapes = true});
  {
    auto name = std::make_unique<char[]>(16);
    std::snprintf(name.get(), 16, "range %d", 7);
    auto fused = std::make_unique<char[]>(16);
    std::snprintf(fused.get(), 16, "mul add");
    auto cost = std::make_unique<Cost>(Cost{.flops = 1, .transcendentals = 2, .bytes = 3});
    record_function range(name.get());
    ScopedEvent kernel({.kind = EventKind::kernel,
                        .name = "fused",
                        .cost = cost.get(),
                        .fused_from = fused.get()});
    auto op = std::make_unique<FakeOp>("op", std::vector<Meta>{meta_of({2, 3}), meta_of({5})});
    op->make_scalar(1);
    op->run();
    op.reset();
    std::snprintf(name.get(), 16, "xxxxxxx");
    std::snprintf(fused.get(), 16, "xxxxxxx");
    *cost = {};
  }
  Timeline t = window.close();
  const Lane& lane = own_lane(t);
  EXPECT_EQ(outline(lane), "range 7 >fused >>op >>>op ");
  EXPECT_EQ(lane.slices[1].fused_from, "mul add");
  EXPECT_EQ(lane.slices[1].cost.transcendentals, 2);
  const auto& shapes = lane.shapes.at(static_cast<std::size_t>(lane.slices[2].shapes));
  ASSERT_EQ(shapes.size(), 2u);
  EXPECT_EQ(shapes[0].sizes, (Dims{2, 3}));
  EXPECT_TRUE(shapes[1].scalar);
  EXPECT_TRUE(lane.slices[3].has_cost);
  EXPECT_EQ(lane.slices[3].cost.flops, 12);
  EXPECT_EQ(lane.slices[3].cost.bytes, 4 * (6 + 6));
}

TEST(Recorder, CostsThatThrowAreUnknown) {
  OpInfo bad{.name = "bad", .kind = OpKind::product, .n_in = 2};
  bad.cost = [](const OpInfo&, const OpArgs&, const Meta*) -> Cost { throw Error("no"); };
  Attrs attrs{};
  Meta out = meta_of({2});
  OpArgs args{nullptr, 0, attrs, kCPU};
  Recorded window;
  {
    ScopedEvent e({.kind = EventKind::kernel,
                   .name = "bad",
                   .op = &bad,
                   .args = &args,
                   .out = &out,
                   .n_out = 1});
  }
  Timeline t = window.close();
  EXPECT_FALSE(own_lane(t).slices.at(0).has_cost);
}

TEST(Recorder, EventsOpenAtTheStartAreIgnored) {
  recorder().lease(Loc::here());
  auto before = std::make_unique<ScopedEvent>(Event{.kind = EventKind::op, .name = "unseen"});
  recorder().open({});
  {
    record_function a("a");
    event(EventKind::op, "b");
  }
  before.reset();
  event(EventKind::op, "c");
  Timeline t = decode(link_ends(recorder().close()), {});
  recorder().give_back();
  EXPECT_EQ(outline(own_lane(t)), "a >b c ");
}

TEST(Recorder, EventsOfAnOlderWindowAreIgnored) {
  Recorded window;
  auto older = std::make_unique<ScopedEvent>(Event{.kind = EventKind::op, .name = "older"});
  auto nested = std::make_unique<ScopedEvent>(Event{.kind = EventKind::op, .name = "nested"});
  Timeline first = window.close();
  EXPECT_EQ(outline(own_lane(first)), "older! >nested! ");
  EXPECT_EQ(own_lane(first).slices[0].end, first.end);
  recorder().open({});
  event(EventKind::op, "a");
  nested.reset();
  {
    record_function b("b");
    event(EventKind::op, "c");
  }
  older.reset();
  event(EventKind::op, "d");
  EXPECT_EQ(outline(own_lane(window.close())), "a b >c d ");
}

TEST(Recorder, EndsAfterTheWindowAreHarmless) {
  auto window = std::make_unique<Recorded>();
  ScopedEvent open({.kind = EventKind::op, .name = "open"});
  window.reset();
}

TEST(Recorder, BudgetKeepsTheOldestAndCountsTheRest) {
  constexpr int kEvents = 200'000;
  Recorded window({.max_bytes = 4 << 20});
  for (int i = 0; i < kEvents; ++i) {
    record_function outer("outer");
    event(EventKind::op, "inner");
  }
  RawWindow raw = recorder().close();
  std::size_t bytes = 0;
  for (const RawThread& thread : raw.threads) bytes += thread.bytes.size();
  EXPECT_LE(bytes, (4u << 20) + (64u << 10));
  EXPECT_GT(bytes, 4u << 20);
  Timeline t = decode(link_ends(raw), {});
  finish(t, 0);
  EXPECT_GT(t.dropped, 0u);
  EXPECT_EQ(t.events + t.dropped, 2u * kEvents);
  const Lane& lane = own_lane(t);
  int outer = 0;
  for (const Slice& s : lane.slices) {
    EXPECT_FALSE(s.unfinished);
    if (s.kind == SliceKind::overhead) continue;
    EXPECT_EQ(s.depth, s.name == "inner" ? 1 : 0);
    outer += s.name == "outer";
  }
  EXPECT_GT(outer, 10'000);
}

TEST(Recorder, TinyBudgetLosesNoEnd) {
  Recorded window({.max_bytes = 1});
  std::vector<std::unique_ptr<record_function>> open;
  for (int i = 0; i < 3000; ++i) open.push_back(std::make_unique<record_function>("deep"));
  while (!open.empty()) open.pop_back();
  Timeline t = window.close();
  EXPECT_EQ(t.events + t.dropped, 3000u);
  EXPECT_GT(t.dropped, 0u);
  for (const Slice& s : own_lane(t).slices) EXPECT_FALSE(s.unfinished);
}

TEST(Recorder, DroppedEventsLeaveTheOthersTheirEnds) {
  Recorded window({.max_bytes = 1});
  {
    record_function outer("outer");
    for (int i = 0; i < 5000; ++i) event(EventKind::op, "filler");
    spin_us(300);
  }
  Timeline t = window.close();
  EXPECT_GT(t.dropped, 0u);
  EXPECT_GE(own_lane(t).slices.at(0).self, 300'000);
}

TEST(Recorder, NoAllocationInTheSteadyState) {
  FakeOp op("add");
  auto work = [&] {
    for (int i = 0; i < 1000; ++i) {
      record_function range("a range whose name is longer than a small string");
      op.run();
    }
  };
  Recorded window({.shapes = true, .memory = true});
  work();
  long before = g_allocations.load();
  work();
  EXPECT_EQ(g_allocations.load(), before);
}

TEST(Recorder, NamesOfAnyBytes) {
  const std::string nul("a\0b", 3), longest(100'000, 'x'), empty;
  // The cut would fall inside the third byte of a character.
  std::string wide = std::string(998, 'y') + "\xE2\x82\xAC\xE2\x82\xAC";
  Recorded window;
  for (const std::string& name : {nul, longest, empty, wide}) record_function range(name);
  Timeline t = window.close();
  const Lane& lane = own_lane(t);
  EXPECT_EQ(lane.slices.at(0).name, nul);
  EXPECT_EQ(lane.slices.at(1).name, std::string(1000, 'x') + "...");
  EXPECT_EQ(lane.slices.at(2).name, "");
  EXPECT_EQ(lane.slices.at(3).name, std::string(998, 'y') + "...");
}

TEST(Recorder, ModulesCanBeLeftOut) {
  auto record = [] {
    ScopedEvent module({.kind = EventKind::range, .name = "fc1"});
    record_function range("mine");
    event(EventKind::op, "linear");
  };
  Recorded window;
  record();
  EXPECT_EQ(outline(own_lane(window.close())), "fc1 >mine >>linear ");
  recorder().open({});
  record();
  EXPECT_EQ(outline(own_lane(window.close({.modules = false}))), "mine >linear ");
}

TEST(Recorder, MemoryBelongsToTheInnermostEvent) {
  Recorded window({.memory = true});
  {
    record_function outer("outer");
    {
      ScopedEvent op({.kind = EventKind::op, .name = "op"});
      observer()->memory({kCPU, &window, 512, 512, 1024});
    }
    observer()->memory({kCPU, &window, -128, 384, 1024});
  }
  Timeline t = window.close();
  const Lane& lane = own_lane(t);
  EXPECT_EQ(lane.slices[0].self_memory, -128);
  EXPECT_EQ(lane.slices[0].memory, 384);
  EXPECT_EQ(lane.slices[1].memory, 512);
  ASSERT_EQ(lane.memory.size(), 2u);
  EXPECT_EQ(lane.memory[1].allocated, 384);
}

TEST(Recorder, MemoryOnlyWhenAsked) {
  Recorded window;
  observer()->memory({kCPU, &window, 512, 512, 1024});
  Timeline t = window.close();
  for (const Lane& lane : t.lanes) EXPECT_TRUE(lane.memory.empty());
}

TEST(Recorder, ThreadsThatComeAndGo) {
  constexpr int kThreads = 60, kEvents = 200;
  Recorded window;
  for (int round = 0; round < kThreads / 4; ++round) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([] {
        for (int k = 0; k < kEvents; ++k) {
          record_function outer("outer");
          event(EventKind::op, "inner");
        }
      });
    }
    for (std::thread& t : threads) t.join();
  }
  Timeline t = window.close();
  std::uint64_t slices = 0;
  for (const Lane& lane : t.lanes) slices += lane.slices.size();
  EXPECT_EQ(slices, 2u * kThreads * kEvents);
}

// pytorch/pytorch#33719: unique names, windows that open and close in the middle of it all.
TEST(Recorder, ThreadsAndWindowsAtOnce) {
  constexpr int kThreads = 4;
  std::atomic<bool> go_on{true};
  std::atomic<int> running{0};
  std::vector<std::thread> threads;
  for (int id = 0; id < kThreads; ++id) {
    threads.emplace_back([&, id] {
      running.fetch_add(1);
      for (long i = 0; go_on.load(std::memory_order_relaxed); ++i) {
        std::string name = std::to_string(id) + ":" + std::to_string(i);
        record_function outer(name);
        record_function inner(name + "i");
      }
    });
  }
  while (running.load() < kThreads) std::this_thread::yield();
  for (int round = 0; round < 12; ++round) {
    Recorded window;
    spin_us(200);
    Timeline t = window.close();
    for (const Lane& lane : t.lanes) {
      std::string before;
      long last = -1;
      for (const Slice& s : lane.slices) {
        if (s.kind != SliceKind::range) continue;
        bool is_inner = s.name.ends_with("i");
        // A window opens between the begins of an outer and its inner range: the inner is alone.
        if (is_inner) {
          EXPECT_TRUE(s.depth == 0 || s.name == before + "i") << s.name;
          continue;
        }
        EXPECT_EQ(s.depth, 0);
        before = std::string(s.name);
        long number = std::stol(before.substr(before.find(':') + 1));
        EXPECT_TRUE(last < 0 || number == last + 1) << "lost or doubled: " << number;
        last = number;
      }
    }
    EXPECT_EQ(t.dropped, 0u);
  }
  go_on = false;
  for (std::thread& t : threads) t.join();
}

TEST(Recorder, OneLeaseOneObserver) {
  struct Foreign final : Observer {
    int begins = 0, ends = 0;
    std::string name;
    void begin(const Event& e) override {
      ++begins;
      name = e.name;
    }
    void end() override { ++ends; }
    void memory(const MemoryEvent&) override {}
  } foreign;
  g_observer.store(&foreign);
  { record_function range("seen by anyone"); }
  EXPECT_EQ(foreign.begins, 1);
  EXPECT_EQ(foreign.ends, 1);
  EXPECT_EQ(foreign.name, "seen by anyone");
  EXPECT_THROW({ Session refused(options_of()); }, Error);
  EXPECT_EQ(g_observer.load(), &foreign);
  g_observer.store(nullptr);
  Session works(options_of());
}

TEST(Recorder, OwnCostIsMeasured) {
  recorder().lease(Loc::here());
  ObserverCost cost = recorder().measure({.shapes = true});
  recorder().give_back();
  EXPECT_GT(cost.event_ns, 1);
  EXPECT_LT(cost.event_ns, 20'000);
  EXPECT_GE(cost.inside_ns, 0);
  EXPECT_LT(cost.inside_ns, 20'000);
  RecordProperty("event_ns", std::to_string(cost.event_ns));
}

}  // namespace
}  // namespace ingot::profiler
