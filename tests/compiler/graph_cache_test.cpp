// Which calls of a plan become graphs, and when they are given up. The graphs are made up, and hold
// memory of the host: no GPU is needed.
#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ingot/compiler/cuda/graph_cache.h>
#include <ingot/kernels/core/error.h>
#include <ingot/runtime/allocator.h>

namespace ingot::compiler {
namespace {

constexpr std::size_t kHeld = 8 << 20;

bool g_recording = false;
int g_graph_launches = 0;
bool g_library = false;  // whether graphs have nodes of a library

class MadeUpGraph final : public cuda::Graph {
 public:
  static std::unique_ptr<cuda::Graph> record(const std::function<void()>& launches) {
    auto made = std::make_unique<MadeUpGraph>();
    return made->update(launches) ? std::move(made) : nullptr;
  }
  ~MadeUpGraph() override { deallocate(scratch_, kHeld, kCPU); }
  bool update(const std::function<void()>& launches) override {
    struct Recording {
      Recording() { g_recording = true; }
      ~Recording() { g_recording = false; }
    } recording;
    launches();
    return true;
  }
  bool updatable() const override { return true; }
  bool has_library_nodes() const override { return g_library; }
  void launch() const override { ++g_graph_launches; }

 private:
  void* scratch_ = allocate(kHeld, kCPU);
};

// A plan of two steps, of which each run for real counts.
class GraphCaches : public ::testing::Test {
 protected:
  GraphCaches() {
    g_graph_launches = 0;
    empty_cache(kCPU);
  }
  ~GraphCaches() override {
    set_memory_limit(0, kCPU);
    g_library = false;
  }

  static std::unique_ptr<GraphCache> make(Device device = kCPU) {
    const StepNote note{"add", "", Loc::here(), {}};
    return std::make_unique<GraphCache>(std::vector<StepNote>{note, note}, device,
                                        &MadeUpGraph::record);
  }
  void run(GraphCache& cache, std::uint64_t word, const std::function<void(int)>& step = {}) {
    failed = -1;
    cache.run(
        {100 + word}, 0,
        [&](std::vector<int>* nodes) {
          for (int k = 0; k < 2; ++k) {
            failed = k;
            if (step) step(k);
            if (!g_recording) ++steps_run;
            if (nodes != nullptr) nodes->push_back(k + 1);
          }
        },
        &failed);
  }
  // A request that only fits when a graph's memory is given up.
  static void need_memory() {
    empty_cache(kCPU);
    set_memory_limit(memory_stats(kCPU).reserved + (1 << 20), kCPU);
    deallocate(allocate(kHeld / 2, kCPU), kHeld / 2, kCPU);
    set_memory_limit(0, kCPU);
  }

  // As launches do, they take longer than an update.
  void launch_steps() {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    ++steps_run;
  }

  int failed = -1, steps_run = 0;
};

TEST_F(GraphCaches, CallsThatComeAgainAreOneLaunch) {
  const auto cache = make();
  run(*cache, 1);
  EXPECT_EQ(steps_run, 2);
  run(*cache, 1), run(*cache, 1);
  EXPECT_EQ(steps_run, 2);
  EXPECT_EQ(g_graph_launches, 2);
  run(*cache, 2);  // seen once: the graph gets its numbers
  EXPECT_EQ(steps_run, 2);
  EXPECT_EQ(cache->use().recorded, 1);
  EXPECT_EQ(cache->use().updates, 1);
  EXPECT_EQ(cache->use().launches, 3);
}

// Slices that start anywhere: each way of lying within 16 bytes is a graph, since a library chooses
// its kernels by that.
TEST_F(GraphCaches, AddressesThatNeverComeAgainShareAGraphForEachAlignment) {
  const auto cache = make();
  g_library = true;
  int none = -1;
  const auto call = [&](std::uint64_t address, std::uint64_t number) {
    cache->run(
        {address, number}, 1,
        [&](std::vector<int>* nodes) {
          if (!g_recording) launch_steps();
          if (nodes != nullptr) nodes->insert(nodes->end(), {1, 2});
        },
        &none);
  };
  constexpr int kCalls = 80;
  for (std::uint64_t i = 0; i < kCalls; ++i) call(0x1000 + 20 * i, i);  // 0, 4, 8 and 12
  EXPECT_EQ(cache->use().recorded, 4);
  EXPECT_EQ(cache->use().launches + steps_run, kCalls);
  EXPECT_LE(steps_run, 16);
  // Numbers are not addresses.
  const int before = steps_run;
  for (std::uint64_t i = 0; i < 16; ++i) call(0x100000, 1000 + i);
  EXPECT_EQ(steps_run, before);
}

TEST_F(GraphCaches, KernelsOfOursTakeAnyAlignment) {
  const auto cache = make();
  int none = -1;
  for (std::uint64_t i = 0; i < 40; ++i) {
    cache->run(
        {0x1000 + 4 * i}, 1,
        [&](std::vector<int>* nodes) {
          if (!g_recording) launch_steps();
          if (nodes != nullptr) nodes->insert(nodes->end(), {1, 2});
        },
        &none);
  }
  EXPECT_EQ(cache->use().recorded, 1);
  EXPECT_LE(steps_run, 4);
}

// A graph whose updates take longer than its steps: after some calls the steps run instead.
TEST_F(GraphCaches, UpdatesThatTakeLongerThanTheStepsAreLeft) {
  const auto cache = make();
  int none = -1, updates_run = 0;
  constexpr int kCalls = 200;
  for (std::uint64_t i = 0; i < kCalls; ++i) {
    cache->run(
        {0x1000 + 16 * i}, 1,
        [&](std::vector<int>* nodes) {
          if (g_recording) {
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
            ++updates_run;
          } else {
            ++steps_run;
          }
          if (nodes != nullptr) nodes->insert(nodes->end(), {1, 2});
        },
        &none);
  }
  EXPECT_LE(updates_run, 20);
  EXPECT_EQ(cache->use().launches + steps_run, kCalls);
}

TEST_F(GraphCaches, WhatARecordingThrowsIsNoError) {
  const auto cache = make();
  const auto step = [](int k) {
    if (g_recording && k == 1) throw Error("cannot be recorded");
  };
  for (int i = 0; i < 6; ++i) run(*cache, 1, step);
  EXPECT_EQ(steps_run, 12);
  EXPECT_EQ(cache->use().recorded, 0);
  EXPECT_THROW(run(*cache, 1,
                   [](int k) {
                     if (k == 1) throw Error("data");
                   }),
               Error);
  EXPECT_EQ(failed, 1);  // step 0 has run
  EXPECT_EQ(steps_run, 13);
}

TEST_F(GraphCaches, GraphsThatExistAreLaunchedWhenNoOthersCanBeRecorded) {
  const auto cache = make();
  run(*cache, 1), run(*cache, 1);
  EXPECT_EQ(g_graph_launches, 1);
  run(*cache, 2), run(*cache, 3);  // of other numbers: the one graph gets them
  EXPECT_EQ(g_graph_launches, 3);
  const auto step = [](int) {
    if (g_recording) throw OutOfMemoryError("no memory for scratch");
  };
  for (int i = 0; i < 3; ++i) run(*cache, 2, step);  // seen before: a second graph is tried
  EXPECT_EQ(cache->use().recorded, 1);
  EXPECT_EQ(steps_run, 8);
  run(*cache, 3);
  EXPECT_EQ(steps_run, 8);
  EXPECT_EQ(g_graph_launches, 4);
}

TEST_F(GraphCaches, AreDroppedBeforeMemoryRunsOut) {
  const auto cache = make(), elsewhere = make(kCUDA);
  for (int i = 0; i < 2; ++i) run(*cache, 1), run(*elsewhere, 1);
  need_memory();
  EXPECT_EQ(cache->use().dropped, 1);
  EXPECT_EQ(elsewhere->use().dropped, 0);
  // They come back after a pause, the second time after a longer one.
  const auto runs_until_recorded = [&] {
    const i64 before = cache->use().recorded;
    int runs = 0;
    while (runs < 1000 && cache->use().recorded == before) run(*cache, 1), ++runs;
    return runs;
  };
  const int first = runs_until_recorded();
  EXPECT_GT(first, 10);
  EXPECT_LT(first, 30);
  need_memory();
  EXPECT_EQ(cache->use().dropped, 2);
  EXPECT_GT(runs_until_recorded(), first + 10);
}

TEST_F(GraphCaches, WhenNothingIsLeftToDropItIsAnError) {
  const auto cache = make();
  run(*cache, 1), run(*cache, 1);
  empty_cache(kCPU);
  set_memory_limit(memory_stats(kCPU).reserved + (1 << 20), kCPU);
  EXPECT_THROW((void)allocate(4 * kHeld, kCPU), OutOfMemoryError);
  EXPECT_EQ(cache->use().dropped, 1);
  set_memory_limit(0, kCPU);
  run(*cache, 1);
  EXPECT_EQ(steps_run, 4);
}

// The steps of a plan need memory while its own graph is recorded, and when they run for real.
TEST_F(GraphCaches, ThePlanThatNeedsTheMemoryDropsItsOwnToo) {
  const auto cache = make();
  run(*cache, 1), run(*cache, 1), run(*cache, 2);
  EXPECT_EQ(cache->use().updates, 1);
  EXPECT_EQ(steps_run, 2);
  int refused = 0;
  run(*cache, 1, [&](int k) {
    if (k == 1) return;
    try {
      need_memory();
    } catch (const OutOfMemoryError&) {
      set_memory_limit(0, kCPU);
      ++refused;
      throw;
    }
  });
  // The second graph was not recorded; the steps then ran without the first one.
  EXPECT_EQ(refused, 1);
  EXPECT_EQ(cache->use().recorded, 1);
  EXPECT_EQ(cache->use().dropped, 1);
  EXPECT_EQ(steps_run, 4);
}

TEST_F(GraphCaches, OfAThreadThatIsInsideAreLeftAlone) {
  const auto cache = make(), other = make();
  for (int i = 0; i < 2; ++i) run(*cache, 1), run(*other, 1);
  std::promise<void> entered, go_on;
  std::thread inside([&] {
    int none = -1;
    bool first = true;
    cache->run(
        {2}, 0,
        [&](std::vector<int>*) {
          if (!std::exchange(first, false)) return;
          entered.set_value();
          go_on.get_future().wait();
        },
        &none);
  });
  entered.get_future().wait();
  need_memory();
  EXPECT_EQ(other->use().dropped, 1);
  go_on.set_value();
  inside.join();
  EXPECT_EQ(cache->use().dropped, 0);
  EXPECT_EQ(cache->use().updates, 1);
}

}  // namespace
}  // namespace ingot::compiler
