#include <atomic>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

#include <ingot/compiler/entry_pin.h>
#include <ingot/compiler/function_state.h>

namespace ingot::compiler {

namespace {

// A pin must be visible before the Entry is looked at again. With the kernel's help that costs the
// one that resets a system call and the pinning thread nothing; else the latter orders its stores.
bool kernel_orders_stores() {
  static const bool helps =
      syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
  return helps;
}

// A thread that ends leaves its reader to the next that begins, so that there are never more
// readers than threads were alive at once; none is freed.
struct alignas(64) Reader {
  std::atomic<const Entry*> entry{nullptr};  // pinned
  std::atomic<bool> taken{true};
  const bool orders_stores = !kernel_orders_stores();
  Reader* next = nullptr;
};

std::atomic<Reader*> g_readers{nullptr};
constinit thread_local Reader* t_reader = nullptr;

Reader* take_reader() {
  for (Reader* r = g_readers.load(); r != nullptr; r = r->next) {
    bool free = false;
    if (r->taken.compare_exchange_strong(free, true)) return r;
  }
  auto* reader = new Reader;
  reader->next = g_readers.load();
  while (!g_readers.compare_exchange_weak(reader->next, reader)) {
  }
  return reader;
}

struct ReaderOfThread {
  ReaderOfThread() { t_reader = take_reader(); }
  ~ReaderOfThread() { std::exchange(t_reader, nullptr)->taken.store(false); }
};

[[gnu::noinline]] Reader& new_reader() {
  thread_local ReaderOfThread reader;
  // Destructors of the thread may call once more, after the reader's own: that one is leaked.
  if (t_reader == nullptr) t_reader = take_reader();
  return *t_reader;
}

}  // namespace

Entry& EntryPin::take(FunctionState& function) {
  Reader& reader = t_reader != nullptr ? *t_reader : new_reader();
  function_ = &function;
  Entry* entry = function.current().load(std::memory_order_acquire);
  for (;;) {
    if (reader.orders_stores) {
      reader.entry.store(entry);
    } else {
      reader.entry.store(entry, std::memory_order_relaxed);
      std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    // Whoever replaces it reads the pins after that: either it sees this one, or we see the new.
    Entry* still = function.current().load();
    if (still == entry) return *entry;
    entry = still;
  }
}

void EntryPin::release() {
  if (function_ == nullptr) return;
  t_reader->entry.store(nullptr, std::memory_order_release);
  std::exchange(function_, nullptr)->free_replaced();
}

bool show_all_pins() {
  return !kernel_orders_stores() ||
         syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

bool is_pinned(const Entry* entry) {
  for (const Reader* r = g_readers.load(); r != nullptr; r = r->next) {
    if (r->entry.load() == entry) return true;
  }
  return false;
}

}  // namespace ingot::compiler
