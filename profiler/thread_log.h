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
    // Every open event keeps the room for its end.
    if (fits(bytes)) [[likely]]
      return current_->data() + current_->used.load(std::memory_order_relaxed);
    return next_chunk(bytes, budget);
  }
  // For the end of an event that began on this thread, in the room that was kept.
  std::byte* room_for_end(std::size_t bytes) {
    end_room -= bytes < end_room ? bytes : end_room;
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

  // Any thread: a range of this one ended elsewhere and needs no room for its end any more.
  void give_up_end() { ended_elsewhere_.fetch_add(1, std::memory_order_relaxed); }
  bool copy(std::uint64_t window, Bytes* bytes, std::uint64_t* dropped) const;

  const int number, tid;
  char name[16];
  std::atomic<bool> gone{false};  // its thread has ended

  // Owner only, of this window. Scopes are the events that nest: all but record_function's ranges.
  std::uint32_t scopes = 0;   // open ones that were recorded,
  std::uint32_t skipped = 0;  // and those inside them that were dropped
  bool full = false;          // something was dropped: so is all that comes later
  std::size_t end_room = 0;   // for the ends of what is open
  std::uint32_t events = 0;   // begun in this window, the dropped ones not counted
  std::uint64_t linked = 0;   // bit d: the open scope at depth d has told CUPTI its id
  std::uint64_t ranges = 0;   // record_function ranges, in the thread's life

 private:
  static constexpr std::size_t kSpare = 256, kGraphs = 16;

  bool fits(std::size_t bytes) const {
    return current_->used.load(std::memory_order_relaxed) + bytes + kSpare + end_room <=
           current_->capacity;
  }
  std::byte* next_chunk(std::size_t bytes, Budget& budget);

  std::atomic<std::uint64_t> window_{0};
  std::atomic<std::uint32_t> n_chunks_{0};  // of this window
  std::atomic<std::uint64_t> dropped_{0};
  std::atomic<std::uint32_t> ended_elsewhere_{0};
  Chunk* first_ = nullptr;
  Chunk* current_ = nullptr;
  std::uint64_t graphs_[kGraphs] = {};  // ids begin at 1
  std::size_t next_graph_ = 0;
};

}  // namespace ingot::profiler
