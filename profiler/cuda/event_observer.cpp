// GpuObserver by CUDA events, where CUPTI cannot be had: two around each launch.
#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <ingot/kernels/cuda/device.h>
#include <ingot/kernels/cuda/timing.h>
#include <ingot/profiler/clock.h>
#include <ingot/profiler/cuda/make_observer.h>
#include <ingot/profiler/cuda/open_spans.h>

namespace ingot::profiler {
namespace {

struct Span {
  cuda::EventHandle begin = nullptr, end = nullptr;  // kept for the next window
  std::uint64_t id = 0;
  int device = 0;
  std::atomic<bool> complete{false};
};

constexpr std::size_t kMostSpans = 1 << 16;

struct Spans {
  explicit Spans(std::size_t n) : list(n) {}
  std::vector<Span> list;
  std::uint64_t window = 0;  // another one after each restart, of all observers
  std::atomic<std::size_t> used{0};
  std::atomic<std::uint64_t> dropped{0};
};

// What threads write to; an event that began before a window's end may still come while it is
// taken away, so that waits for those who are inside.
class Target {
 public:
  void set(Spans* spans) { spans_.store(spans, std::memory_order_seq_cst); }
  void take_away() {
    spans_.store(nullptr, std::memory_order_seq_cst);
    while (inside_.load(std::memory_order_seq_cst) != 0) std::this_thread::yield();
  }

  class Use {
   public:
    explicit Use(Target& target) : target_(target) {
      target_.inside_.fetch_add(1, std::memory_order_seq_cst);
      spans = target_.spans_.load(std::memory_order_seq_cst);
    }
    ~Use() { target_.inside_.fetch_sub(1, std::memory_order_release); }
    Use(const Use&) = delete;

    Spans* spans;  // nullptr: nothing is measured

   private:
    Target& target_;
  };

 private:
  std::atomic<Spans*> spans_{nullptr};
  std::atomic<int> inside_{0};
};
constinit Target g_target;
thread_local OpenSpans<Span> t_open;

// A span whose beginning the device's current stream has got; nullptr: there is none.
Span* record_begin(Spans& spans, std::uint64_t id, int device) {
  const std::size_t place = spans.used.fetch_add(1, std::memory_order_relaxed);
  if (place >= spans.list.size()) {
    ++spans.dropped;
    return nullptr;
  }
  Span& span = spans.list[place];
  const cuda::DeviceGuard guard(device);
  if (span.begin == nullptr || span.device != device) {
    cuda::free_event(span.begin);
    cuda::free_event(span.end);
    span.begin = cuda::make_timing_event();
    span.end = cuda::make_timing_event();
  }
  span.id = id;
  span.device = device;
  return span.end != nullptr && cuda::record_time(span.begin) ? &span : nullptr;
}

// The runtime makes the device current only inside the event; a device that is refused is the
// launch's error to tell.
void begin_span(std::uint64_t id, int device) {
  const Target::Use use(g_target);
  if (use.spans == nullptr) return;
  Span* span = nullptr;
  if (t_open.has_room(use.spans->window)) {
    try {
      span = record_begin(*use.spans, id, device);
    } catch (const Error&) {
    }
  }
  t_open.push(use.spans->window, span);
}

void end_span() {
  const Target::Use use(g_target);
  if (use.spans == nullptr) return;
  Span* span = t_open.pop(use.spans->window);
  if (span == nullptr) return;
  try {
    const cuda::DeviceGuard guard(span->device);
    if (cuda::record_time(span->end)) span->complete.store(true, std::memory_order_release);
  } catch (const Error&) {
  }
}

// The instant at which a device reached its first event of the window.
struct Origin {
  int device = 0;
  cuda::EventHandle event = nullptr;
  std::int64_t ns = 0;  // of monotonic_ns()
};

class EventObserver final : public GpuObserver {
 public:
  EventObserver(std::size_t max_bytes, std::string reason)
      : spans_(std::min(kMostSpans, max_bytes / sizeof(Span))), reason_(std::move(reason)) {
    restart();
  }

  ~EventObserver() override {
    g_target.take_away();
    for (Span& span : spans_.list) {
      cuda::free_event(span.begin);
      cuda::free_event(span.end);
    }
    free_origins();
  }

  LaunchListener listener() const override { return {&begin_span, &end_span}; }

  void restart() override {
    g_target.take_away();
    free_origins();
    for (Span& span : spans_.list) span.complete.store(false, std::memory_order_relaxed);
    for (int device = 0; device < cuda::device_count(); ++device) {
      if (!cuda::in_use(device)) continue;
      const cuda::DeviceGuard guard(device);
      Origin origin{device, cuda::make_timing_event(), 0};
      cuda::synchronize_device(device);
      if (cuda::record_time(origin.event)) {
        cuda::wait_for_event(origin.event);
        origin.ns = monotonic_ns();
        origins_.push_back(origin);
      } else {
        cuda::free_event(origin.event);
      }
    }
    spans_.dropped = 0;
    spans_.used = 0;
    spans_.window = ++windows_;
    first_ = now();
    g_target.set(&spans_);
  }

  GpuRecords collect() override {
    g_target.take_away();
    for (const Origin& o : origins_) cuda::synchronize_device(o.device);
    GpuRecords records;
    records.source = "CUDA events";
    records.reason = reason_;
    records.first = first_;
    records.last = now();
    records.dropped_work = spans_.dropped;
    const std::size_t used = std::min(spans_.used.load(), spans_.list.size());
    for (std::size_t i = 0; i < used; ++i) {
      const Span& span = spans_.list[i];
      if (!span.complete.load(std::memory_order_acquire)) continue;
      for (const Origin& o : origins_) {
        if (o.device == span.device) add(span, o, records);
      }
    }
    return records;
  }

 private:
  static ClockPair now() {
    const ClockPoint point = clock_point();
    return {point.ticks, point.ns, 0};
  }

  static void add(const Span& span, const Origin& origin, GpuRecords& records) {
    const double start_ms = cuda::elapsed_ms(origin.event, span.begin);
    const double ms = cuda::elapsed_ms(span.begin, span.end);
    if (start_ms < 0 || ms < 0) {
      ++records.dropped_work;
      return;
    }
    GpuWork& w = records.work.emplace_back();
    w.begin = origin.ns + static_cast<std::int64_t>(start_ms * 1e6);
    w.end = w.begin + static_cast<std::int64_t>(ms * 1e6);
    w.device = span.device;
    w.link = span.id;
  }

  void free_origins() {
    for (const Origin& o : origins_) cuda::free_event(o.event);
    origins_.clear();
  }

  inline static std::uint64_t windows_ = 0;  // one observer at a time

  Spans spans_;
  std::string reason_;
  std::vector<Origin> origins_;
  ClockPair first_;
};

}  // namespace

std::unique_ptr<GpuObserver> make_event_observer(std::size_t max_bytes, std::string reason) {
  return std::make_unique<EventObserver>(max_bytes, std::move(reason));
}

}  // namespace ingot::profiler
