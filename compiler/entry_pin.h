// EntryPin: while it holds an Entry, no reset() frees that Entry. Pinning costs one store, on a
// cache line of the thread's own.
// Owns: what the threads of the process have pinned. Must not know: what an Entry keeps.
#pragma once

namespace ingot::compiler {

class Entry;
class FunctionState;

// At most one of a thread holds something: a call inside a compiled call pins nothing.
class EntryPin {
 public:
  EntryPin() = default;
  ~EntryPin() { release(); }
  EntryPin(const EntryPin&) = delete;

  // The function's current Entry.
  Entry& take(FunctionState& function);
  void release();

 private:
  FunctionState* function_ = nullptr;  // null: nothing is held
};

// After an Entry was replaced: from now on is_pinned() knows of every call that may read it. False:
// the system refuses, and nothing may be freed.
bool show_all_pins();
bool is_pinned(const Entry* entry);

}  // namespace ingot::compiler
