#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <ingot/compiler/jit/compile_pool.h>

namespace ingot::jit {

struct CompilePool::State {
  void work();

  std::size_t limit = 1;
  pid_t process = getpid();
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<std::function<void()>> jobs;
  std::size_t idle = 0;
  bool stopping = false;
  std::vector<std::thread> threads;
};

CompilePool::CompilePool(int threads) : state_(std::make_unique<State>()) {
  state_->limit = threads > 0 ? static_cast<std::size_t>(threads)
                              : std::max<std::size_t>(1, std::thread::hardware_concurrency());
}

CompilePool::~CompilePool() {
  if (getpid() != state_->process) {
    // Destroying threads, or a condition that absent threads wait on, would never return.
    static_cast<void>(state_.release());
    return;
  }
  std::deque<std::function<void()>> dropped;
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
    dropped.swap(state_->jobs);
  }
  state_->wake.notify_all();
  for (std::thread& thread : state_->threads) thread.join();
}

std::size_t CompilePool::threads() const { return state_->limit; }

void CompilePool::submit(std::function<void()> job) {
  State& state = *state_;
  if (getpid() == state.process) {
    const std::lock_guard lock(state.mutex);
    if (state.idle <= state.jobs.size() && state.threads.size() < state.limit) {
      try {
        state.threads.emplace_back([&state] { state.work(); });
      } catch (const std::system_error&) {
        // The system has no more threads: those that exist, or the caller, do the work.
      }
    }
    if (!state.threads.empty()) {
      state.jobs.push_back(std::move(job));
      state.wake.notify_one();
      return;
    }
  }
  job();
}

void CompilePool::State::work() {
  std::unique_lock lock(mutex);
  for (;;) {
    ++idle;
    wake.wait(lock, [this] { return stopping || !jobs.empty(); });
    --idle;
    if (jobs.empty()) return;
    std::function<void()> job = std::move(jobs.front());
    jobs.pop_front();
    lock.unlock();
    job();
    job = nullptr;
    lock.lock();
  }
}

}  // namespace ingot::jit
