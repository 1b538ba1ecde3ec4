// A few threads that wait for compilers. They start with the first job and sleep between jobs.
// Owns: the queue. In a process forked from the one that made the pool there are no threads: jobs
// then run at once on the caller's.
// Must not know: what the jobs do.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace ingot::jit {

class CompilePool {
 public:
  // `threads` at most; 0: one for each processor that this process may use.
  explicit CompilePool(int threads);
  // Ends the threads after the jobs they are at; jobs that still wait are dropped.
  ~CompilePool();
  CompilePool(const CompilePool&) = delete;
  CompilePool& operator=(const CompilePool&) = delete;

  // At most this many jobs run at a time.
  std::size_t threads() const;
  // The job must not throw.
  void submit(std::function<void()> job);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ingot::jit
