// FunctionState: what copies of one compiled function share: options, and the Entry that calls use.
// Owns: replacing the Entry at a reset() while calls of other threads are inside the old one. Must
// not know: what an Entry keeps.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include <ingot/compiler/entry.h>

namespace ingot::compiler {

class FunctionState {
 public:
  FunctionState(CompileOptions options, Loc loc);
  ~FunctionState();
  FunctionState(const FunctionState&) = delete;

  // For EntryPin: only a pinned Entry stays.
  const std::atomic<Entry*>& current() const { return current_; }

  // Calls that begin from now on know nothing of those before. What was known is freed when the
  // last call that may read it has ended.
  void reset();
  // Called when a call has ended.
  void free_replaced() {
    if (has_replaced_.load(std::memory_order_relaxed)) [[unlikely]]
      free_unpinned();
  }

  // f of the current Entry, which stays meanwhile.
  template <class F>
  auto with_entry(F f) const {
    std::lock_guard lock(mutex_);
    return f(*entry_);
  }

  // The place in the process's list of compiled functions.
  void set_number(std::uint64_t number) { number_ = number; }

 private:
  std::unique_ptr<Entry> new_entry();
  void free_unpinned();

  CompileOptions options_;
  const Loc loc_;
  std::uint64_t number_ = 0;
  std::atomic<bool> warned_{false};
  mutable std::mutex mutex_;
  std::unique_ptr<Entry> entry_;
  std::vector<std::unique_ptr<Entry>> replaced_;
  std::atomic<Entry*> current_{nullptr};
  std::atomic<bool> has_replaced_{false};
};

}  // namespace ingot::compiler
