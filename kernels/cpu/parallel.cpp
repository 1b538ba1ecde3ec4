#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <pthread.h>
#include <thread>

#include <ingot/kernels/core/check_at.h>
#include <ingot/kernels/cpu/parallel.h>
#include <ingot/kernels/cpu/threads.h>

namespace ingot {
namespace {

// How long an idle worker, and a caller with nothing left to do, look before they sleep: about the
// time between two ops of an eager program, so that back-to-back regions need no system call.
constexpr auto kSpin = std::chrono::microseconds(20);

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Whether `done()` came true within kSpin.
template <class Done>
bool spin_until(Done done) {
  std::chrono::steady_clock::time_point deadline{};
  for (int round = 0;; ++round) {
    for (int i = 0; i < 16; ++i) {
      if (done()) return true;
      relax();
    }
    const auto now = std::chrono::steady_clock::now();
    if (round == 0) {
      deadline = now + kSpin;
    } else if (now > deadline) {
      return false;
    }
  }
}

// Keeps what different threads write on different cache lines, also for adjacent-line prefetch.
constexpr std::size_t kApart = 128;

// What a worker is doing. Only the owner of the pool posts and cancels; only the worker takes and
// finishes.
enum State : std::uint32_t { kIdle, kPosted, kTaken };

struct alignas(kApart) Worker {
  std::atomic<std::uint32_t> state{kIdle};
  // An idle worker sleeps on a counter of its own, not on `state`: a post that was cancelled before
  // the worker woke would leave `state` as it was, and the sleep would go on.
  std::atomic<std::uint32_t> wake{0};
  std::atomic<bool> asleep{false};
  std::atomic<bool> caller_asleep{false};  // on `state`, until it is no longer kTaken
  std::thread thread;
};

// Either the sleeper sees what was stored before this call, or this call sees the sleeper: all four
// accesses are sequentially consistent.
void wake_up(Worker& worker) {
  if (!worker.asleep.load()) return;
  worker.wake.fetch_add(1);
  worker.wake.notify_one();
}

// The chunks [next, end) of one participant that nobody has begun.
struct alignas(kApart) Share {
  std::atomic<std::int64_t> next{0};
  std::int64_t end = 0;
};

thread_local bool t_in_region = false;

class Pool {
 public:
  // Runs the region if the pool is free; false, without effect, if it is not.
  bool try_run(std::int64_t n, std::int64_t grain, Body body, void* context, int threads) {
    if (busy_.exchange(true, std::memory_order_acquire)) return false;
    const int workers = grow(threads - 1);
    n_ = n, grain_ = grain, body_ = body, context_ = context;
    const std::int64_t chunks = (n + grain - 1) / grain;
    parts_ = workers + 1;
    for (int p = 0; p < parts_; ++p) {
      shares_[p].next.store(chunks * p / parts_, std::memory_order_relaxed);
      shares_[p].end = chunks * (p + 1) / parts_;
    }
    failed_.store(false, std::memory_order_relaxed);
    for (int w = 0; w < workers; ++w) workers_[w]->state.store(kPosted);
    wake_children(0);
    t_in_region = true;
    work(0);
    t_in_region = false;
    for (int w = 0; w < workers; ++w) join(*workers_[w]);
    std::exception_ptr error = std::move(error_);
    error_ = nullptr;
    busy_.store(false, std::memory_order_release);
    if (error) std::rethrow_exception(error);
    return true;
  }

  // Ends the workers. Regions that start afterwards find none and run on their caller.
  void shut_down() {
    const std::lock_guard lock(growing_);
    stop_.store(true);
    for (int w = 0; w < count_.load(); ++w) {
      Worker& worker = *workers_[w];
      wake_up(worker);
      // A body that calls exit() runs this on a worker, or keeps one waiting for its region.
      if (t_in_region) {
        worker.thread.detach();
      } else {
        worker.thread.join();
      }
    }
    if (!t_in_region) count_.store(0);
  }

 private:
  int grow(int wanted) {
    int count = count_.load(std::memory_order_relaxed);
    if (count >= wanted) return wanted;
    const std::lock_guard lock(growing_);
    if (stop_.load()) return 0;
    try {
      for (; count < wanted; ++count) {
        if (!workers_[count]) workers_[count] = std::make_unique<Worker>();
        workers_[count]->thread = std::thread(&Pool::live, this, count);
        count_.store(count + 1);
      }
    } catch (const std::exception&) {
      // The system grants no more threads or memory; fewer threads give the same results.
    }
    return count;
  }

  // Each participant wakes two more: to wake all of them one by one would cost the caller more time
  // than small work takes. Whoever is not awake in the end has not begun, and is not waited for.
  void wake_children(int part) {
    for (int child = 2 * part + 1; child <= 2 * part + 2 && child < parts_; ++child) {
      wake_up(*workers_[child - 1]);
    }
  }

  // Takes the region back from a worker that has not begun, else waits for its end.
  static void join(Worker& worker) {
    std::uint32_t state = kPosted;
    if (worker.state.compare_exchange_strong(state, kIdle)) return;
    const auto done = [&] { return worker.state.load(std::memory_order_acquire) == kIdle; };
    if (spin_until(done)) return;
    worker.caller_asleep.store(true);
    while (worker.state.load() == kTaken) worker.state.wait(kTaken);
    worker.caller_asleep.store(false);
  }

  void live(int index) {
    Worker& me = *workers_[index];
    const auto wanted = [&] { return me.state.load() == kPosted || stop_.load(); };
    while (!stop_.load()) {
      if (!spin_until(wanted)) {
        me.asleep.store(true);
        for (auto seen = me.wake.load(); !wanted(); seen = me.wake.load()) me.wake.wait(seen);
        me.asleep.store(false);
      }
      std::uint32_t state = kPosted;
      if (!me.state.compare_exchange_strong(state, kTaken)) continue;
      t_in_region = true;
      wake_children(index + 1);
      work(index + 1);
      t_in_region = false;
      me.state.store(kIdle);
      if (me.caller_asleep.load()) me.state.notify_one();
    }
  }

  // Own chunks first, so that the same thread meets the same data in the next region; then what
  // others have not begun.
  void work(int part) {
    for (int k = 0; k < parts_; ++k) {
      Share& share = shares_[(part + k) % parts_];
      while (!failed_.load(std::memory_order_relaxed)) {
        const std::int64_t chunk = share.next.fetch_add(1, std::memory_order_relaxed);
        if (chunk >= share.end) break;
        try {
          body_(context_, chunk * grain_, std::min(n_, (chunk + 1) * grain_));
        } catch (...) {
          if (!failed_.exchange(true)) error_ = std::current_exception();
        }
      }
    }
  }

  alignas(kApart) std::atomic<bool> busy_{false};
  std::atomic<int> count_{0};
  std::atomic<bool> stop_{false};
  std::mutex growing_;
  // The region of the owner.
  alignas(kApart) std::int64_t n_ = 0;
  std::int64_t grain_ = 1;
  Body body_ = nullptr;
  void* context_ = nullptr;
  int parts_ = 1;
  alignas(kApart) std::atomic<bool> failed_{false};
  std::exception_ptr error_;
  Share shares_[kMaxThreads];
  std::unique_ptr<Worker> workers_[kMaxThreads];
};

// Never destroyed: a thread may still be in a region while the process exits.
std::atomic<Pool*> g_pool{nullptr};
// After a fork the parent's threads are not there: the child starts a pool of its own.
std::atomic<Pool*> g_pool_of_parent{nullptr};
[[maybe_unused]] const int g_fork_handler = pthread_atfork(nullptr, nullptr, [] {
  if (Pool* pool = g_pool.exchange(nullptr)) g_pool_of_parent.store(pool);
  t_in_region = false;
});

Pool& pool() {
  if (Pool* pool = g_pool.load(std::memory_order_acquire)) return *pool;
  Pool* made = new Pool;
  Pool* found = nullptr;
  if (!g_pool.compare_exchange_strong(found, made)) {
    delete made;
    return *found;
  }
  static std::atomic<bool> registered{false};
  if (!registered.exchange(true)) {
    std::atexit([] {
      if (Pool* pool = g_pool.load()) pool->shut_down();
    });
  }
  return *made;
}

std::atomic<int> g_threads{0};          // what the program has set; 0: nothing
std::atomic<int> g_default_threads{0};  // 0: not chosen yet

}  // namespace

void parallel_for(std::int64_t n, std::int64_t grain, Body body, void* context) {
  INGOT_BUG(grain >= 1, "parallel_for: grain {}", grain);
  if (n <= 0) return;
  if (n >= 2 * grain && !t_in_region) {
    const auto threads = static_cast<int>(std::min<std::int64_t>(num_threads(), n / grain));
    if (threads > 1 && pool().try_run(n, grain, body, context, threads)) return;
  }
  body(context, 0, n);
}

int num_threads() {
  if (const int set = g_threads.load(std::memory_order_relaxed)) return set;
  int threads = g_default_threads.load(std::memory_order_relaxed);
  if (threads == 0) {
    // Another thread may have chosen in the meantime; its choice stands.
    int chosen = std::min(available_cores(), kMaxThreads);
    threads = g_default_threads.compare_exchange_strong(threads, chosen) ? chosen : threads;
  }
  return threads;
}

void set_default_num_threads(int n) { g_default_threads.store(n, std::memory_order_relaxed); }

void set_num_threads(int n, Loc loc) {
  INGOT_CHECK_AT("set_num_threads", loc, n >= 1 && n <= kMaxThreads,
                 "between 1 and {} threads, got {}", kMaxThreads, n);
  g_threads.store(n, std::memory_order_relaxed);
}

bool in_parallel() { return t_in_region; }

}  // namespace ingot
