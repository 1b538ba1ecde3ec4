// The Observer behind every session: turns events into records of the calling thread's log.
// Owns: the thread logs, the open window, the lease that keeps sessions apart. It lives as long as
// the process, so an end() that arrives after a session is harmless. In the steady state neither a
// lock is taken nor memory allocated, but for the lock of a range that ends on another thread. Must
// not know: steps, tables, files.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <ingot/profiler/clock.h>
#include <ingot/profiler/thread_log.h>
#include <ingot/runtime/observer.h>

namespace ingot::profiler {

// What a window records besides names and times.
struct Recording {
  bool shapes = false, memory = false, costs = true;
  std::size_t max_bytes = std::size_t{64} << 20;
};

struct RawThread {
  int number = 0;  // 1 for the first thread that the recorder met
  int tid = 0;     // of the system
  std::string name;
  Bytes bytes;
};

// The calling thread's log; nullptr before its first event.
extern constinit thread_local ThreadLog* t_log;

// Told on the thread that launches: between the two calls all work given to a GPU belongs to the
// event of this id (launch_id()). `device` is where that is, which need not be the current one yet.
// They do not throw, lock or allocate.
struct LaunchListener {
  void (*begin)(std::uint64_t id, int device) = nullptr;
  void (*end)() = nullptr;
};

// One window as it was recorded.
struct RawWindow {
  std::uint64_t number = 0;  // as launch_id() takes it
  std::vector<RawThread> threads;
  std::uint64_t begin = 0, end = 0;  // ticks
  std::uint64_t dropped = 0;         // events, not records
  TickMap clock;
  std::int64_t unix_ns = 0;  // wall clock at `begin`
};

// A record_function in progress.
struct RangeToken {
  std::uint64_t window = 0;  // 0: not recorded
  std::uint64_t id = 0;
  int thread = 0;
};

// What recording costs the thread that does it, for an op of two operands.
struct ObserverCost {
  double event_ns = 0;   // begin and end of one event
  double inside_ns = 0;  // of it, what the event's own duration contains
};

class Recorder final : public Observer {
 public:
  constexpr Recorder() = default;

  void begin(const Event& event) override;
  void end() override { write_end(0); }
  void end_missed() override { write_end(kMissed); }
  void memory(const MemoryEvent& event) override;
  RangeToken begin_range(std::string_view name, Loc loc);
  void end_range(const RangeToken& token);

  // One session at a time: throws Error that names the line of the session which is running.
  void lease(Loc loc);
  void give_back();

  // Holder of the lease only. open() makes this the process's observer (Error when there is a
  // foreign one); a window that is open is discarded. close() returns what was recorded.
  void open(const Recording& recording, const LaunchListener& listener = {});
  RawWindow close();
  // Records nothing more until close(): no thread tells its launches any more.
  void pause();
  void discard();
  bool is_open() const { return window_.load(std::memory_order_relaxed) != 0; }

  // Runs a few thousand events of this thread through a window that is thrown away (0.3 ms).
  ObserverCost measure(const Recording& recording);
  // Frees what the calling thread's last window held.
  void free_own_chunks();

 private:
  static constexpr std::uint64_t kWithShapes = 1, kWithMemory = 2, kWithCosts = 4, kWithGpu = 8;
  static constexpr int kFlagBits = 8;

  ThreadLog* log_of(std::uint64_t window);
  ThreadLog* attach();
  std::byte* reserve(ThreadLog& log, std::size_t bytes);
  void write_end(std::uint8_t kind);
  void give_up_end(const RangeToken& token);
  std::uint64_t write_begin(const Event& event, std::uint64_t window, bool is_range = false,
                            std::string_view range_name = {});

  // What is recorded (kWith...) in the low bits, the window's number above; 0: none is open.
  std::atomic<std::uint64_t> window_{0};
  // LaunchListener's. A thread that began an event in an older window may still read them.
  std::atomic<decltype(LaunchListener::begin)> launch_begins_{nullptr};
  std::atomic<decltype(LaunchListener::end)> launch_ends_{nullptr};
  Budget budget_;
  std::uint64_t windows_ = 0;
  std::uint64_t paused_ = 0,
                paused_at_ = 0;  // the window that close() is to return, 0: none; ticks
  std::int64_t unix_ns_ = 0;
  ClockPoint origin_;

  std::mutex mutex_;  // the list of logs, the lease
  std::vector<ThreadLog*> logs_;
  int threads_met_ = 0;
  const char* holder_file_ = nullptr;
  int holder_line_ = 0;
};

// The one recorder of the process; constant-initialised, never destroyed.
Recorder& recorder();

}  // namespace ingot::profiler
