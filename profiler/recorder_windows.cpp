// The rare side of the recorder: threads that come and go, windows, its own cost.
#include <algorithm>
#include <memory>
#include <pthread.h>
#include <time.h>
#include <unistd.h>
#include <utility>

#include <ingot/kernels/core/check_at.h>
#include <ingot/kernels/core/setup_phase.h>
#include <ingot/profiler/recorder.h>

#ifdef __linux__
#include <sys/syscall.h>
#endif

namespace ingot::profiler {

constinit thread_local ThreadLog* t_log = nullptr;

namespace {

constexpr int kPairs = 500, kBatches = 6;

constinit thread_local bool t_gone = false;

int system_thread_id() {
#ifdef __linux__
  return static_cast<int>(::syscall(SYS_gettid));
#else
  return static_cast<int>(::getpid());
#endif
}

std::int64_t wall_clock_ns() {
  timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// Marks the log of a thread that ends; the recorder frees it when no window needs it.
struct ThreadEntry {
  ~ThreadEntry() {
    t_gone = true;
    if (t_log != nullptr) t_log->gone.store(true, std::memory_order_release);
    t_log = nullptr;
  }
};

void free_gone(std::vector<ThreadLog*>& logs) {
  std::erase_if(logs, [](ThreadLog* log) {
    bool gone = log->gone.load(std::memory_order_acquire);
    if (gone) delete log;
    return gone;
  });
}

constexpr SetupListener kSetupListener{
    [](const char* name) { recorder().begin({.kind = EventKind::setup, .name = name}); },
    [] { recorder().end(); }};

Cost sample_cost(const OpInfo&, const OpArgs& args, const Meta* out) {
  return {.flops = static_cast<double>(out->numel()), .bytes = bytes_touched(args, out, 1)};
}

}  // namespace

ThreadLog* Recorder::attach() {
  if (t_gone) return nullptr;
  static thread_local ThreadEntry entry;
  (void)entry;
  char name[16] = "";
  pthread_getname_np(pthread_self(), name, sizeof name);
  std::lock_guard lock(mutex_);
  try {
    auto log = std::make_unique<ThreadLog>(threads_met_ + 1, system_thread_id(), name);
    logs_.push_back(log.get());
    t_log = log.release();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  ++threads_met_;
  return t_log;
}

void Recorder::give_up_end(const RangeToken& token) {
  std::lock_guard lock(mutex_);
  for (ThreadLog* log : logs_) {
    if (log->number == token.thread && log->window() == token.window) log->give_up_end();
  }
}

void Recorder::lease(Loc loc) {
  std::lock_guard lock(mutex_);
  INGOT_CHECK_AT("profiler", loc, holder_file_ == nullptr,
                 "the session started at {} is still running; stop() it first",
                 to_string(Loc::here(holder_file_, holder_line_)));
  holder_file_ = loc.file;
  holder_line_ = loc.line;
}

void Recorder::give_back() {
  std::lock_guard lock(mutex_);
  holder_file_ = nullptr;
}

void Recorder::open(const Recording& recording, const LaunchListener& listener) {
  discard();
  {
    std::lock_guard lock(mutex_);
    free_gone(logs_);
  }
  start_clock();
  if (ThreadLog* log = t_log != nullptr ? t_log : attach(); log != nullptr) log->prepare();
  budget_.taken.store(0, std::memory_order_relaxed);
  budget_.limit.store(recording.max_bytes, std::memory_order_relaxed);
  unix_ns_ = wall_clock_ns();
  origin_ = clock_point();
  std::uint64_t flags = (recording.shapes ? kWithShapes : 0) |
                        (recording.memory ? kWithMemory : 0) | (recording.costs ? kWithCosts : 0) |
                        (listener.begin != nullptr ? kWithGpu : 0);
  launch_begins_.store(listener.begin, std::memory_order_relaxed);
  launch_ends_.store(listener.end, std::memory_order_relaxed);
  window_.store(++windows_ << kFlagBits | flags, std::memory_order_release);
  Observer* nobody = nullptr;
  if (!g_observer.compare_exchange_strong(nobody, this, std::memory_order_acq_rel)) {
    window_.store(0, std::memory_order_release);
    ingot::detail::fail<Error>(
        "profiler: another observer is installed; a session needs to be the only one");
  }
  g_setup_listener.store(&kSetupListener, std::memory_order_release);
}

void Recorder::pause() {
  const std::uint64_t window = window_.load(std::memory_order_relaxed);
  INGOT_BUG(window != 0, "no window is open");
  discard();
  paused_ = window;
  paused_at_ = ticks();
}

void Recorder::discard() {
  paused_ = 0;
  if (window_.load(std::memory_order_relaxed) == 0) return;
  g_setup_listener.store(nullptr, std::memory_order_release);
  g_observer.store(nullptr, std::memory_order_release);
  window_.store(0, std::memory_order_release);
}

RawWindow Recorder::close() {
  if (paused_ == 0) pause();
  const std::uint64_t window = std::exchange(paused_, 0);
  RawWindow raw;
  raw.number = window >> kFlagBits;
  raw.begin = origin_.ticks;
  raw.end = paused_at_;
  raw.unix_ns = unix_ns_;
  raw.clock = TickMap::calibrate(origin_);
  std::lock_guard lock(mutex_);
  for (const ThreadLog* log : logs_) {
    RawThread thread{log->number, log->tid, log->name, {}};
    std::uint64_t dropped = 0;
    if (!log->copy(window, &thread.bytes, &dropped)) continue;
    raw.dropped += dropped;
    if (!thread.bytes.empty()) raw.threads.push_back(std::move(thread));
  }
  free_gone(logs_);
  return raw;
}

ObserverCost Recorder::measure(const Recording& recording) {
  const OpInfo op{.name = "sample", .kind = OpKind::elementwise, .n_in = 2, .cost = &sample_cost};
  Meta meta;
  meta.sizes = {64, 64};
  meta.strides = {64, 1};
  const Meta* in[] = {&meta, &meta};
  const Attrs attrs{};
  const OpArgs args{in, 2, attrs, meta.device};
  const Event outer{.kind = EventKind::op, .name = op.name, .op = &op, .args = &args};
  Event inner = outer;
  inner.kind = EventKind::kernel;
  inner.out = &meta;
  inner.n_out = 1;

  open(recording);
  budget_.limit.store(~std::size_t{0}, std::memory_order_relaxed);
  std::int64_t best = INT64_MAX;
  for (int batch = 0; batch < kBatches; ++batch) {
    std::int64_t start = monotonic_ns();
    for (int i = 0; i < kPairs; ++i) {
      ScopedEvent op_event(outer);
      ScopedEvent kernel_event(inner);
    }
    best = std::min(best, monotonic_ns() - start);
  }
  RawWindow raw = close();

  ObserverCost cost{.event_ns = static_cast<double>(best) / (2 * kPairs), .inside_ns = 0};
  std::vector<std::uint64_t> inside;
  std::uint64_t began = 0;
  for (const RawThread& thread : raw.threads) {
    if (t_log == nullptr || thread.number != t_log->number) continue;
    for_each_record(thread.bytes, [&](const RecordHead& head, const std::byte*) {
      if (head.type == RecordType::begin) {
        began = head.ticks;
      } else if (began != 0) {
        inside.push_back(head.ticks - began);
        began = 0;
      }
    });
  }
  if (!inside.empty()) {
    auto middle = inside.begin() + static_cast<std::ptrdiff_t>(inside.size() / 2);
    std::nth_element(inside.begin(), middle, inside.end());
    cost.inside_ns = static_cast<double>(*middle) * raw.clock.ns_per_tick();
  }
  return cost;
}

void Recorder::free_own_chunks() {
  if (t_log != nullptr) t_log->free_chunks();
}

}  // namespace ingot::profiler
