// The chunks that one thread fills. Owns: ThreadLog, its chunks, the count of what was dropped.
// The owner appends without locks; one reader may copy at the same time, since a count is published
// only after the bytes it covers. Chunks stay with their thread and serve its next window.
// Must not know: events, sessions.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <ingot/profiler/record.h>

namespace ingot::profiler {

struct Chunk {
  explicit Chunk(std::size_t room) : capacity(room) {}
  // The pages are there when it returns: a page fault inside an event can cost 10 us. nullptr
  // without memory.
  static Chunk* make(std::size_t bytes) noexcept;
  static void free_chain(Chunk* first) noexcept;
  std::byte* data() { return reinterpret_cast<std::byte*>(this + 1); }

  std::atomic<std::size_t> used{0};
  std::size_t capacity;
  std::atomic<Chunk*> next{nullptr};
};

// What a window may hold, all threads together; each thread's first 64 KiB come on top.
struct Budget {
  std::atomic<std::size_t> taken{0};
  std::atomic<std::size_t> limit{0};
  bool take(std::size_t bytes);
};

class ThreadLog {
 public:
  ThreadLog(int number, int tid, const char* name);
  ~ThreadLog();
  ThreadLog(const ThreadLog&) = delete;
  ThreadLog& operator=(const ThreadLog&) = delete;

  // Owner. Forgets the old window's records; `window` names the new one.
  void restart(std::uint64_t window);
  std::uint64_t window() const { return window_.load(std::memory_order_relaxed); }

  // Room for one record; publish() when it is written. nullptr when the budget is spent.
  std::byte* room(std::size_t bytes, Budget& budget) {
    std::size_t used = current_->used.load(std::memory_order_relaxed);
    // Every open event keeps the room for its end.
    if (used + bytes + kSpare + open * sizeof(RecordHead) <= current_->capacity) [[likely]] {
      return current_->data() + used;
    }
    return next_chunk(budget);
  }
  // For the end of an event: nullptr never, but for many ranges that end on another thread.
  std::byte* room_for_end(std::size_t bytes) {
    std::size_t used = current_->used.load(std::memory_order_relaxed);
    return used + bytes <= current_->capacity ? current_->data() + used : nullptr;
  }
  void publish(std::size_t bytes) {
    std::size_t used = current_->used.load(std::memory_order_relaxed);
    current_->used.store(used + bytes, std::memory_order_release);
  }
  void count_drop() {
    dropped_.store(dropped_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  void prepare();      // the second chunk is allocated now rather than inside an event
  void free_chunks();  // all but the first

  // Owner. Graphs whose parts this window holds already, as far as they are remembered.
  bool knows_graph(std::uint64_t id) const {
    for (std::uint64_t known : graphs_) {
      if (known == id) return true;
    }
    return false;
  }
  void note_graph(std::uint64_t id) { graphs_[next_graph_++ % kGraphs] = id; }

  // Any thread.
  bool copy(std::uint64_t window, Bytes* bytes, std::uint64_t* dropped) const;

  const int number, tid;
  char name[16];
  std::atomic<bool> gone{false};  // its thread has ended

  // Owner only: open events of this window, and how many innermost ones of them were dropped.
  std::uint32_t open = 0, skipped = 0;
  std::uint32_t events = 0;  // begun in this window, the dropped ones not counted
  std::uint64_t linked = 0;  // bit d: the open event at depth d has told CUPTI its id
  std::uint64_t ranges = 0;  // record_function ranges, in the thread's life

 private:
  static constexpr std::size_t kSpare = 256, kGraphs = 16;

  std::byte* next_chunk(Budget& budget);

  std::atomic<std::uint64_t> window_{0};
  std::atomic<std::uint32_t> n_chunks_{0};  // of this window
  std::atomic<std::uint64_t> dropped_{0};
  Chunk* first_ = nullptr;
  Chunk* current_ = nullptr;
  std::uint64_t graphs_[kGraphs] = {};  // ids begin at 1
  std::size_t next_graph_ = 0;
};

}  // namespace ingot::profiler
