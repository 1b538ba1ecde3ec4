// GpuObserver by CUDA events, where CUPTI cannot be had: two around each launch.
#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include <ingot/kernels/cuda/device.h>
#include <ingot/kernels/cuda/timing.h>
#include <ingot/profiler/clock.h>
#include <ingot/profiler/cuda/make_observer.h>

namespace ingot::profiler {
namespace {

struct Span {
  cuda::EventHandle begin = nullptr, end = nullptr;  // kept for the next window
  std::uint64_t id = 0;
  int device = 0;
  std::atomic<bool> complete{false};
};

constexpr std::size_t kMostSpans = 1 << 16;
constexpr int kDeepest = 8;

struct Spans {
  explicit Spans(std::size_t n) : list(n) {}
  std::vector<Span> list;
  std::atomic<std::size_t> used{0};
  std::atomic<std::uint64_t> dropped{0};
};
std::atomic<Spans*> g_spans{nullptr};

// The spans that this thread has open; nullptr: one that is not measured.
struct Open {
  std::array<Span*, kDeepest> spans{};
  int depth = 0;
};
thread_local Open t_open;

void begin_span(std::uint64_t id) {
  Open& open = t_open;
  const int depth = open.depth++;
  if (depth >= kDeepest) return;
  open.spans[static_cast<std::size_t>(depth)] = nullptr;
  Spans* spans = g_spans.load(std::memory_order_acquire);
  if (spans == nullptr) return;
  const std::size_t place = spans->used.fetch_add(1, std::memory_order_relaxed);
  if (place >= spans->list.size()) {
    ++spans->dropped;
    return;
  }
  Span& span = spans->list[place];
  const int device = cuda::current_device();
  if (span.begin == nullptr || span.device != device) {
    cuda::free_event(span.begin);
    cuda::free_event(span.end);
    span.begin = cuda::make_timing_event();
    span.end = cuda::make_timing_event();
  }
  span.id = id;
  span.device = device;
  if (span.end == nullptr || !cuda::record_event(span.begin)) return;
  open.spans[static_cast<std::size_t>(depth)] = &span;
}

void end_span() {
  Open& open = t_open;
  if (open.depth == 0) return;
  const int depth = --open.depth;
  if (depth >= kDeepest) return;
  Span* span = open.spans[static_cast<std::size_t>(depth)];
  if (span != nullptr && cuda::record_event(span->end)) {
    span->complete.store(true, std::memory_order_release);
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
    g_spans.store(&spans_, std::memory_order_release);
  }

  ~EventObserver() override {
    g_spans.store(nullptr, std::memory_order_release);
    for (Span& span : spans_.list) {
      cuda::free_event(span.begin);
      cuda::free_event(span.end);
    }
    free_origins();
  }

  LaunchListener listener() const override { return {&begin_span, &end_span}; }

  void restart() override {
    free_origins();
    for (Span& span : spans_.list) span.complete.store(false, std::memory_order_relaxed);
    for (int device = 0; device < cuda::device_count(); ++device) {
      if (!cuda::in_use(device)) continue;
      const cuda::DeviceGuard guard(device);
      Origin origin{device, cuda::make_timing_event(), 0};
      cuda::synchronize_device(device);
      if (cuda::record_event(origin.event)) {
        cuda::wait_for_event(origin.event);
        origin.ns = monotonic_ns();
        origins_.push_back(origin);
      } else {
        cuda::free_event(origin.event);
      }
    }
    spans_.dropped = 0;
    spans_.used = 0;
    first_ = now();
  }

  GpuRecords collect() override {
    g_spans.store(nullptr, std::memory_order_release);
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
