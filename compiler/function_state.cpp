#include <algorithm>
#include <iterator>

#include <ingot/compiler/entry_pin.h>
#include <ingot/compiler/function_state.h>
#include <ingot/compiler/registry.h>
#include <ingot/kernels/core/check.h>
#include <ingot/kernels/core/check_at.h>
#include <ingot/runtime/env.h>

namespace ingot::compiler {

FunctionState::FunctionState(CompileOptions options, Loc loc)
    : options_(std::move(options)), loc_(loc) {
  if (options_.name.empty()) options_.name = to_string(loc);
  for (const std::string& d : options_.disable) {
    INGOT_CHECK_AT(
        "compile", loc,
        std::find(std::begin(kDisableNames), std::end(kDisableNames), d) != std::end(kDisableNames),
        "disable has no \"{}\"; it knows \"{}\"", d, fmt::join(kDisableNames, "\", \""));
  }
  options_.verify |= env().verify;
  if (!env().compile) {  // nothing is recorded, every call is eager
    options_.max_variants = 0;
    options_.at_limit = AtLimit::eager;
  }
  INGOT_CHECK_AT("compile", loc, options_.max_variants >= 0, "max_variants is {}",
                 options_.max_variants);
  entry_ = new_entry();
  current_.store(entry_.get());
}

FunctionState::~FunctionState() {
  if (number_ != 0) delist(number_);
}

std::unique_ptr<Entry> FunctionState::new_entry() {
  return std::make_unique<Entry>(options_, loc_, &warned_);
}

void FunctionState::reset() {
  std::unique_ptr<Entry> fresh = new_entry();
  {
    std::lock_guard lock(mutex_);
    current_.store(fresh.get());
    replaced_.push_back(std::exchange(entry_, std::move(fresh)));
    // Where the system refuses, the next reset tries again.
    has_replaced_.store(show_all_pins(), std::memory_order_relaxed);
  }
  free_replaced();
}

void FunctionState::free_unpinned() {
  std::vector<std::unique_ptr<Entry>> unused;  // freed without the lock
  std::lock_guard lock(mutex_);
  const auto pinned = std::partition(replaced_.begin(), replaced_.end(),
                                     [](const auto& entry) { return is_pinned(entry.get()); });
  std::move(pinned, replaced_.end(), std::back_inserter(unused));
  replaced_.erase(pinned, replaced_.end());
  has_replaced_.store(!replaced_.empty(), std::memory_order_relaxed);
}

}  // namespace ingot::compiler
