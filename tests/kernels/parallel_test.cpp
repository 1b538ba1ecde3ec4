#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include <ingot/kernels/core/error.h>
#include <ingot/kernels/cpu/parallel.h>
#include <ingot/kernels/cpu/threads.h>

namespace ingot {
namespace {

using Index = std::int64_t;

class Threads {
 public:
  explicit Threads(int n) : before_(num_threads()) { set_num_threads(n); }
  ~Threads() { set_num_threads(before_); }

 private:
  int before_;
};

// Waits for what another thread will do; false after ten seconds.
template <class Done>
bool eventually(Done done) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST(Parallel, EveryIndexOnceInRangesThatBeginAtTheGrain) {
  for (const int threads : {1, 2, 3, 7}) {
    const Threads scope(threads);
    for (const Index n : {0, 1, 2, 9, 10, 11, 100, 1001, 5000}) {
      for (const Index grain : {1, 3, 10, 64, 5000}) {
        std::vector<std::atomic<int>> seen(static_cast<std::size_t>(n));
        std::atomic<bool> aligned{true};
        parallel_for(n, grain, [&](Index begin, Index end) {
          if (begin % grain != 0 || begin >= end || end > n) aligned = false;
          for (Index i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
        });
        EXPECT_TRUE(aligned);
        EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](const auto& s) { return s == 1; }))
            << n << " by " << grain << " on " << threads;
      }
    }
  }
}

TEST(Parallel, SeveralThreadsTakePart) {
  const Threads scope(2);
  std::atomic<int> inside{0};
  std::atomic<bool> met{true};
  parallel_for(2, 1, [&](Index, Index) {
    ++inside;
    if (!eventually([&] { return inside == 2; })) met = false;
  });
  EXPECT_TRUE(met);
}

TEST(Parallel, AFunctionPointerIsCalledWithItsContext) {
  const Threads scope(3);
  std::atomic<Index> sum{0};
  parallel_for(
      1000, 10,
      [](void* context, Index begin, Index end) {
        for (Index i = begin; i < end; ++i) *static_cast<std::atomic<Index>*>(context) += i;
      },
      &sum);
  EXPECT_EQ(sum, 999 * 1000 / 2);
}

TEST(Parallel, OneChunkAndOneThreadStayOnTheCaller) {
  const auto self = std::this_thread::get_id();
  const auto check = [&](Index n, Index grain) {
    int calls = 0;
    parallel_for(n, grain, [&](Index begin, Index end) {
      ++calls;
      EXPECT_EQ(std::this_thread::get_id(), self);
      EXPECT_FALSE(in_parallel());
      EXPECT_EQ(begin, 0);
      EXPECT_EQ(end, n);
    });
    EXPECT_EQ(calls, 1);
  };
  {
    const Threads scope(4);
    check(10, 10);
  }
  const Threads scope(1);
  check(1000, 1);
}

TEST(Parallel, NestedCallsRunOnTheirThread) {
  const Threads scope(4);
  EXPECT_FALSE(in_parallel());
  std::vector<Index> sums(16);
  std::atomic<bool> serial{true};
  parallel_for(16, 1, [&](Index begin, Index end) {
    if (!in_parallel()) serial = false;
    for (Index i = begin; i < end; ++i) {
      const auto self = std::this_thread::get_id();
      parallel_for(100, 1, [&](Index b, Index e) {
        if (std::this_thread::get_id() != self) serial = false;
        for (Index k = b; k < e; ++k) sums[static_cast<std::size_t>(i)] += k;
      });
    }
  });
  EXPECT_TRUE(serial);
  EXPECT_EQ(sums, std::vector<Index>(16, 4950));
  EXPECT_FALSE(in_parallel());
}

TEST(Parallel, AnExceptionReachesTheCallerAndThePoolGoesOn) {
  for (const int threads : {1, 2, 5}) {
    const Threads scope(threads);
    for (const Index at : {0, 57, 99}) {
      try {
        parallel_for(100, 1, [&](Index begin, Index end) {
          if (begin <= at && at < end) throw std::runtime_error("at " + std::to_string(at));
        });
        ADD_FAILURE() << "nothing was thrown";
      } catch (const std::runtime_error& error) {
        EXPECT_EQ(error.what(), "at " + std::to_string(at));
      }
      std::atomic<Index> count{0};
      parallel_for(100, 1, [&](Index begin, Index end) { count += end - begin; });
      EXPECT_EQ(count, 100);
      EXPECT_FALSE(in_parallel());
    }
  }
}

TEST(Parallel, AllBodiesThrow) {
  const Threads scope(4);
  for (int round = 0; round < 50; ++round) {
    EXPECT_THROW(parallel_for(64, 1, [](Index begin, Index) { throw static_cast<int>(begin); }),
                 int);
  }
}

TEST(Parallel, ManyCallersAtOnce) {
  const Threads scope(3);
  std::vector<std::thread> users;
  std::atomic<int> wrong{0};
  for (int user = 0; user < 6; ++user) {
    users.emplace_back([&, user] {
      std::vector<Index> out(500);
      for (Index round = 0; round < 200; ++round) {
        parallel_for(500, 20, [&](Index begin, Index end) {
          for (Index i = begin; i < end; ++i) out[static_cast<std::size_t>(i)] = i * user + round;
        });
        for (Index i = 0; i < 500; ++i) {
          wrong += out[static_cast<std::size_t>(i)] != i * user + round;
        }
      }
    });
  }
  for (std::thread& user : users) user.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Parallel, ACallerNeverWaitsForAnotherCallersRegion) {
  const Threads scope(2);
  std::atomic<bool> inside{false}, release{false};
  std::thread holder([&] {
    parallel_for(2, 1, [&](Index, Index) {
      inside = true;
      eventually([&] { return release.load(); });
    });
  });
  ASSERT_TRUE(eventually([&] { return inside.load(); }));
  Index count = 0;  // one thread: no atomic needed
  parallel_for(1000, 1, [&](Index begin, Index end) { count += end - begin; });
  EXPECT_EQ(count, 1000);
  release = true;
  holder.join();
}

TEST(Parallel, ThreadCountChangesBetweenRegions) {
  const Threads scope(num_threads());
  for (const int threads : {1, 8, 2, 5, 16, 3}) {
    set_num_threads(threads);
    EXPECT_EQ(num_threads(), threads);
    for (int round = 0; round < 20; ++round) {
      std::atomic<Index> count{0};
      parallel_for(200, 1, [&](Index begin, Index end) { count += end - begin; });
      ASSERT_EQ(count, 200);
    }
  }
}

TEST(Parallel, SleepingWorkersWakeUp) {
  const Threads scope(2);
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::atomic<int> inside{0};
    std::atomic<bool> met{true};
    parallel_for(2, 1, [&](Index, Index) {
      ++inside;
      if (!eventually([&] { return inside == 2; })) met = false;
    });
    EXPECT_TRUE(met);
  }
}

TEST(Parallel, ImpossibleThreadCountsAreErrors) {
  const int before = num_threads();
  EXPECT_THROW(set_num_threads(0), Error);
  EXPECT_THROW(set_num_threads(-3), Error);
  EXPECT_THROW(set_num_threads(kMaxThreads + 1), Error);
  EXPECT_EQ(num_threads(), before);
  EXPECT_THROW(parallel_for(10, 0, [](Index, Index) {}), std::logic_error);
}

TEST(Parallel, CoresAreCounted) {
  EXPECT_GE(available_cores(), 1);
  EXPECT_LE(available_cores(), static_cast<int>(std::thread::hardware_concurrency()));
}

#if defined(__SANITIZE_THREAD__)
#define INGOT_SKIP_UNDER_TSAN GTEST_SKIP() << "ThreadSanitizer allows no threads after a fork"
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define INGOT_SKIP_UNDER_TSAN GTEST_SKIP() << "ThreadSanitizer allows no threads after a fork"
#endif
#endif
#if !defined(INGOT_SKIP_UNDER_TSAN)
#define INGOT_SKIP_UNDER_TSAN static_cast<void>(0)
#endif

// Runs `body` in a forked child; its exit status, or -1 when it hung for ten seconds.
template <class Body>
int status_of_child(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    std::_Exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Index sum_in_parallel(Index n) {
  std::atomic<Index> sum{0};
  parallel_for(n, 1, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) sum += i;
  });
  return sum;
}

TEST(ParallelProcess, AForkedChildHasAPoolOfItsOwn) {
  INGOT_SKIP_UNDER_TSAN;
  const Threads scope(3);
  ASSERT_EQ(sum_in_parallel(100), 4950);
  EXPECT_EQ(status_of_child([] { return sum_in_parallel(100) == 4950 ? 7 : 1; }), 7);
  EXPECT_EQ(sum_in_parallel(100), 4950);
}

TEST(ParallelProcess, AForkDuringAnotherThreadsRegionDoesNotHang) {
  INGOT_SKIP_UNDER_TSAN;
  const Threads scope(2);
  std::atomic<bool> inside{false}, release{false};
  std::thread holder([&] {
    parallel_for(2, 1, [&](Index, Index) {
      inside = true;
      eventually([&] { return release.load(); });
    });
  });
  ASSERT_TRUE(eventually([&] { return inside.load(); }));
  EXPECT_EQ(status_of_child([] { return sum_in_parallel(100) == 4950 ? 7 : 1; }), 7);
  release = true;
  holder.join();
}

// The statement runs in a process of its own (a fresh start of this program).
class ParallelExitDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { ::testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

TEST_F(ParallelExitDeathTest, WorkersEndWithTheProcess) {
  EXPECT_EXIT(
      {
        alarm(10);
        set_num_threads(4);
        std::exit(sum_in_parallel(100) == 4950 ? 7 : 1);
      },
      ::testing::ExitedWithCode(7), "");
}

TEST_F(ParallelExitDeathTest, ABodyMayEndTheProcess) {
  EXPECT_EXIT(
      {
        alarm(10);
        set_num_threads(3);
        parallel_for(100, 1, [](Index begin, Index) {
          if (begin == 50) std::exit(7);
        });
      },
      ::testing::ExitedWithCode(7), "");
}

TEST_F(ParallelExitDeathTest, RegionsAfterTheEndOfMainRunOnTheirCaller) {
  EXPECT_EXIT(
      {
        alarm(10);
        set_num_threads(3);
        // Registered before the pool exists, so it runs after the pool has shut down.
        std::atexit([] { std::_Exit(sum_in_parallel(100) == 4950 ? 7 : 1); });
        sum_in_parallel(10);
        std::exit(0);
      },
      ::testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace ingot
