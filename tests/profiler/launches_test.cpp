// What the recorder tells those who watch GPUs, and what it records of launches there.
#include <algorithm>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <ingot/kernels/core/setup_phase.h>
#include <ingot/profiler/attach_gpu.h>
#include <ingot/profiler/cuda/open_spans.h>
#include <ingot/profiler/cuda/record_buffers.h>
#include <ingot/profiler/decode.h>
#include <ingot/profiler/gpu_observer.h>

#include "fake_events.h"
#include "heap_bytes.h"

namespace ingot::profiler {
namespace {

std::vector<std::uint64_t> g_begun;
std::vector<int> g_devices;
int g_open = 0;

const LaunchListener kListener{[](std::uint64_t id, int device) {
                                 g_begun.push_back(id);
                                 g_devices.push_back(device);
                                 ++g_open;
                               },
                               [] { --g_open; }};

class Launches : public ::testing::Test {
 protected:
  void SetUp() override {
    g_begun.clear();
    g_devices.clear();
    g_open = 0;
    recorder().lease(Loc::here());
    recorder().open({}, kListener);
  }
  void TearDown() override {
    recorder().discard();
    recorder().free_own_chunks();
    recorder().give_back();
  }

  // An op and its kernel on a GPU, or beside one.
  static void op(const char* name, Device device = kCUDA) {
    ScopedEvent outer({.kind = EventKind::op, .name = name});
    ScopedEvent kernel({.kind = EventKind::kernel, .name = name, .device = device});
  }

  // The window with a GPU's work for each id that the listener heard of.
  static Timeline close() {
    recorder().pause();
    RawWindow raw = recorder().close();
    Timeline t = decode(link_ends(raw), {});
    GpuRecords records;
    records.source = "fake";
    std::uint32_t correlation = 0;
    for (std::uint64_t id : g_begun) {
      records.work.push_back({.name = "k", .begin = 1, .end = 1000, .correlation = ++correlation});
      records.links.push_back({correlation, id});
    }
    attach_gpu(t, std::move(records), raw.clock, raw.number);
    finish(t, 0);
    return t;
  }
};

TEST_F(Launches, OnlyKernelsOfAGpuAreTold) {
  op("a", kCPU);
  op("b");
  { ScopedEvent range({.kind = EventKind::range, .name = "r"}); }
  EXPECT_EQ(g_begun.size(), 1u);
  EXPECT_EQ(g_open, 0);
}

TEST_F(Launches, AreOfTheEventsDeviceNotTheCurrentOne) {
  op("a", Device(kCUDA, 1));
  op("b");
  EXPECT_EQ(g_devices, (std::vector<int>{1, 0}));
}

TEST_F(Launches, IdsLeadBackToTheirSlices) {
  {
    record_function range("outer");
    op("a");
    op("b", kCPU);
    op("c");
  }
  for (int i = 0; i < 100; ++i) op("d");
  const Timeline t = close();
  ASSERT_EQ(t.gpu.work.size(), 102u);
  std::vector<std::string_view> names;
  for (const GpuWork& w : t.gpu.work) {
    ASSERT_GE(w.slice, 0);
    const Slice& s =
        t.lanes[static_cast<std::size_t>(w.lane)].slices[static_cast<std::size_t>(w.slice)];
    EXPECT_EQ(s.kind, SliceKind::launch);
    names.push_back(s.name);
  }
  EXPECT_EQ(std::count(names.begin(), names.end(), "a"), 1);
  EXPECT_EQ(std::count(names.begin(), names.end(), "b"), 0);
  EXPECT_EQ(std::count(names.begin(), names.end(), "c"), 1);
  EXPECT_EQ(std::count(names.begin(), names.end(), "d"), 100);
}

TEST_F(Launches, EventsOverTheBudgetTellNothing) {
  recorder().open({.max_bytes = 0}, kListener);
  for (int i = 0; i < 5000; ++i) op("a");
  EXPECT_LT(g_begun.size(), 5000u);
  EXPECT_GT(g_begun.size(), 100u);
  EXPECT_EQ(g_open, 0);
  const Timeline t = close();
  EXPECT_EQ(t.gpu.count.unlinked, 0u);
}

TEST_F(Launches, DeepEventsAreStillBalanced) {
  std::vector<std::unique_ptr<ScopedEvent>> stack;
  for (int depth = 0; depth < 100; ++depth) {
    stack.push_back(std::make_unique<ScopedEvent>(
        Event{.kind = EventKind::kernel, .name = "k", .device = kCUDA}));
  }
  EXPECT_EQ(g_open, 64);
  while (!stack.empty()) stack.pop_back();
  EXPECT_EQ(g_open, 0);
}

TEST_F(Launches, ANewWindowHearsNothingOfTheOldOnesEnds) {
  {
    ScopedEvent kernel({.kind = EventKind::kernel, .name = "k", .device = kCUDA});
    EXPECT_EQ(g_open, 1);
    recorder().open({}, kListener);
  }
  EXPECT_EQ(g_open, 1);  // the old window's observer is gone with its state
  g_begun.clear();
  op("a");
  EXPECT_EQ(g_begun.size(), 1u);
}

TEST_F(Launches, GraphsTellTheirPartsOnce) {
  const GraphPart parts[] = {
      {.name = "matmul", .cost = {.flops = 5}, .nodes = 2},
      {.name = "fused", .cost = {.bytes = 7}, .fused_from = "add relu", .nodes = 1}};
  const GraphLaunch launch{42, parts, 2};
  for (int i = 0; i < 3; ++i) {
    ScopedEvent event(
        {.kind = EventKind::kernel, .name = "cuda_graph", .device = kCUDA, .graph = &launch});
  }
  const Timeline t = close();
  int launches = 0;
  for (const Slice& s : t.lanes.at(0).slices) launches += s.graph == 42;
  EXPECT_EQ(launches, 3);
  const std::vector<GraphOp>& ops = t.graphs.at(42);
  ASSERT_EQ(ops.size(), 2u);
  EXPECT_EQ(ops[0].name, "matmul");
  EXPECT_EQ(ops[0].nodes, 2);
  EXPECT_EQ(ops[0].cost.flops, 5);
  EXPECT_EQ(ops[1].fused_from, "add relu");
}

TEST_F(Launches, MemoryOfAGpuIsApart) {
  recorder().open({.memory = true}, kListener);
  {
    ScopedEvent outer({.kind = EventKind::op, .name = "empty"});
    int block = 0;
    recorder().memory({kCUDA, &block, 512, 512, 1024});
    recorder().memory({kCPU, &block, 64, 64, 64});
  }
  const Timeline t = close();
  const Slice& s = t.lanes.at(0).slices.at(0);
  EXPECT_EQ(s.self_memory, 64);
  EXPECT_EQ(s.gpu_memory, 512);
}

TEST_F(Launches, SetupsAreNamedSlices) {
  {
    ScopedEvent kernel({.kind = EventKind::kernel, .name = "matmul", .device = kCUDA});
    const SetupPhase phase("library and handle");
    spin_us(5);
  }
  const Timeline t = close();
  const Slice& s = t.lanes.at(0).slices.at(1);
  EXPECT_EQ(s.kind, SliceKind::setup);
  EXPECT_EQ(s.name, "library and handle");
  EXPECT_GE(s.self, 5000);
  // Nobody listens now.
  const SetupPhase phase("later");
}

TEST(GpuObserverHere, SaysWhyItCannotBe) {
  const std::string reason = GpuObserver::unavailable();
  if (reason.empty()) GTEST_SKIP() << "there is a GPU";
  EXPECT_FALSE(GpuObserver::in_use());
  EXPECT_THROW((void)GpuObserver::start(1 << 20), DeviceError);
  // Without being asked for one, a session runs as ever.
  Session session(options_of());
  FakeOp("add").run(5);
  session.stop();
  EXPECT_FALSE(session.key_averages().on_gpu());
  EXPECT_THROW(Session(options_of({.activities = {Activity::CUDA}})), Error);
}

TEST(OpenSpans, NestAndKnowHowDeepTheyMeasure) {
  constexpr int kDeepest = OpenSpans<int>::kDeepest;
  OpenSpans<int> open;
  std::vector<int> spans(kDeepest + 3);
  for (int i = 0; i < kDeepest + 3; ++i) {
    EXPECT_EQ(open.has_room(1), i < kDeepest);
    open.push(1, &spans[static_cast<std::size_t>(i)]);
  }
  for (int i = kDeepest + 2; i >= 0; --i) {
    EXPECT_EQ(open.pop(1), i < kDeepest ? &spans[static_cast<std::size_t>(i)] : nullptr);
  }
  EXPECT_EQ(open.pop(1), nullptr);
}

// An event that is open while a window changes loses its end.
TEST(OpenSpans, LostEndsAreForgottenWithTheirWindow) {
  OpenSpans<int> open;
  int old = 0, fresh = 0;
  for (std::uint64_t window = 1; window <= 100; ++window) {
    open.push(window, &old);
    EXPECT_EQ(open.pop(window + 1), nullptr);  // nothing of an older window is given out
    ASSERT_TRUE(open.has_room(window + 1));
    open.push(window + 1, &fresh);
    EXPECT_EQ(open.pop(window + 1), &fresh);
  }
}

TEST(RecordBuffers, OverTheCapNothingIsKept) {
  RecordBuffers buffers(100);
  std::vector<std::uint8_t*> lent;
  for (int i = 0; i < 6; ++i) lent.push_back(buffers.lend());
  for (std::uint8_t* data : lent) {
    ASSERT_NE(data, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % 8, 0u);
    EXPECT_TRUE(
        std::all_of(data, data + RecordBuffers::kBytes, [](std::uint8_t b) { return b == 0; }));
    data[5] = 1;
  }
  EXPECT_TRUE(buffers.keep({lent[0], 60}));
  EXPECT_TRUE(buffers.keep({lent[1], 40}));
  EXPECT_FALSE(buffers.keep({lent[2], 1}));
  buffers.recycle(lent[2]);
  const std::vector<RecordBuffers::Filled> filled = buffers.take();
  ASSERT_EQ(filled.size(), 2u);
  EXPECT_EQ(filled[0].bytes, 60u);
  buffers.free(filled);
  EXPECT_TRUE(buffers.keep({lent[3], 90}));  // the cap is that of what is held
  for (std::size_t i : {4, 5}) buffers.recycle(lent[i]);
  std::uint8_t* again = buffers.lend();
  EXPECT_EQ(again[5], 0);
  buffers.recycle(again);
}

// What CUPTI never gave back, and what was filled on threads that come and go.
TEST(RecordBuffers, ManySessionsLeaveNothing) {
  const auto sessions = [](int n) {
    for (int i = 0; i < n; ++i) {
      RecordBuffers buffers(std::size_t{64} << 20);
      std::thread([&] {
        std::uint8_t* given_back = buffers.lend();
        for (int k = 0; k < 6; ++k) (void)buffers.lend();
        EXPECT_TRUE(buffers.keep({given_back, 100}));
      }).join();
    }
  };
  sessions(5);
  const std::size_t before = resident_bytes();
  sessions(50);
  const std::size_t after = resident_bytes();
  if (!kUnderSanitizer) {
    EXPECT_LT(after, before + (std::size_t{2} << 20));
  }
}

}  // namespace
}  // namespace ingot::profiler
