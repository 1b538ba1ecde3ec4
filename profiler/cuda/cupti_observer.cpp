// GpuObserver by CUPTI's activity records.
#include <mutex>
#include <utility>

#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cuda/device.h>
#include <ingot/profiler/clock.h>
#include <ingot/profiler/cuda/launch_cost.h>
#include <ingot/profiler/cuda/make_observer.h>
#include <ingot/profiler/cuda/read_records.h>
#include <ingot/profiler/cuda/record_buffers.h>

namespace ingot::profiler {
namespace {

// Not GRAPH_TRACE: it crashes on graphs that were made before. Not KERNEL: it runs kernels one by
// one. Both kinds of API calls: generated kernels are launched through the driver, the others
// through the runtime, and a link is only recorded for a call whose kind is enabled.
constexpr CUpti_ActivityKind kKinds[] = {
    CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
    CUPTI_ACTIVITY_KIND_RUNTIME,
    CUPTI_ACTIVITY_KIND_DRIVER,
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
    CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMSET,
    CUPTI_ACTIVITY_KIND_OVERHEAD,
    CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
};
constexpr CUpti_ExternalCorrelationKind kLink = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
constexpr int kPairReadings = 32;

// CUPTI's callbacks take no user data.
struct Target {
  RecordBuffers* buffers = nullptr;
  std::mutex mutex;    // of what follows
  GpuRecords dropped;  // its counts alone

  GpuRecords take_dropped() {
    const std::lock_guard lock(mutex);
    return std::exchange(dropped, {});
  }
};
Target g_target;

void CUPTIAPI request_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  *buffer = g_target.buffers == nullptr ? nullptr : g_target.buffers->lend();
  *size = *buffer == nullptr ? 0 : RecordBuffers::kBytes;
  *max_records = 0;
}

void CUPTIAPI complete_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
                              std::size_t, std::size_t valid) {
  std::size_t dropped = 0;
  if (cupti().dropped(context, stream, &dropped) == CUPTI_SUCCESS && dropped > 0) {
    const std::lock_guard lock(g_target.mutex);
    g_target.dropped.dropped_work += dropped;
  }
  if (buffer == nullptr || g_target.buffers == nullptr) return;
  if (g_target.buffers->keep({buffer, valid})) return;
  {
    const std::lock_guard lock(g_target.mutex);
    count_dropped(buffer, valid, g_target.dropped);
  }
  g_target.buffers->recycle(buffer);
}

void link(std::uint64_t id, int) { (void)cupti().push(kLink, id); }
void unlink() {
  std::uint64_t last = 0;
  (void)cupti().pop(kLink, &last);
}

// The narrowest of a few readings of both clocks.
ClockPair clock_pair() {
  ClockPair best;
  best.width = INT64_MAX;
  const double ns_per_tick = TickMap::calibrate(clock_point()).ns_per_tick();
  for (int i = 0; i < kPairReadings; ++i) {
    std::uint64_t observer = 0;
    const std::uint64_t before = ticks();
    (void)cupti().timestamp(&observer);
    const std::uint64_t width = ticks() - before;
    const auto width_ns = static_cast<std::int64_t>(static_cast<double>(width) * ns_per_tick);
    if (width_ns >= best.width) continue;
    best = {before + width / 2, static_cast<std::int64_t>(observer), width_ns};
  }
  return best;
}

void wait_for_gpus() {
  for (int device = 0; device < cuda::kMaxDevices; ++device) {
    if (cuda::in_use(device)) cuda::synchronize_device(device);
  }
}

class CuptiObserver final : public GpuObserver {
 public:
  explicit CuptiObserver(std::size_t max_bytes) : buffers_(max_bytes) {}
  ~CuptiObserver() override { stop(); }

  // A sentence when CUPTI refuses; then everything is as before.
  std::string start() {
    wait_for_gpus();  // work from before the window has no place in it
    LaunchCostMeter cost;
    g_target.buffers = &buffers_;
    (void)g_target.take_dropped();
    const Cupti& c = cupti();
    (void)c.set_thread_id_type(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
    std::uint8_t zeroed = 1;
    std::size_t size = sizeof zeroed;
    // Unknown to older ones, which clear the buffers themselves.
    (void)c.set_attribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size, &zeroed);
    started_ = true;
    CUptiResult status = c.register_callbacks(&request_buffer, &complete_buffer);
    std::string reason;
    if (status != CUPTI_SUCCESS) reason = refusal(status, "cuptiActivityRegisterCallbacks");
    for (CUpti_ActivityKind kind : kKinds) {
      if (!reason.empty()) break;
      status = c.enable(kind);
      if (status != CUPTI_SUCCESS) reason = refusal(status, "cuptiActivityEnable");
    }
    if (reason.empty()) {
      cost.observed([] { link(1, 0); }, &unlink);
      restart();
    } else {
      stop();
    }
    return reason;
  }

  LaunchListener listener() const override { return {&link, &unlink}; }

  void restart() override {
    wait_for_gpus();
    (void)cupti().flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    buffers_.free(buffers_.take());
    (void)g_target.take_dropped();
    first_ = clock_pair();
  }

  GpuRecords collect() override {
    wait_for_gpus();
    GpuRecords records;
    records.source = cupti_name();
    records.first = first_;
    records.last = clock_pair();
    records.launch_cost = LaunchCostMeter::known();
    (void)cupti().flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    // Kernels' names are CUPTI's until it ends.
    RecordReader reader(records);
    const std::vector<RecordBuffers::Filled> filled = buffers_.take();
    for (const RecordBuffers::Filled& f : filled) reader.read(f.data, f.bytes);
    buffers_.free(filled);
    stop();
    const GpuRecords dropped = g_target.take_dropped();
    records.dropped_work += dropped.dropped_work;
    records.dropped_launches = dropped.dropped_launches;
    records.dropped_graphs = dropped.dropped_graphs;
    records.dropped_other += dropped.dropped_other;
    return records;
  }

 private:
  // Without finalize every later launch would cost up to 20 us more.
  void stop() {
    if (!std::exchange(started_, false)) return;
    try {
      wait_for_gpus();
    } catch (const Error&) {
      // A GPU that has failed: its error is told to whoever uses it next.
    }
    for (CUpti_ActivityKind kind : kKinds) (void)cupti().disable(kind);
    (void)cupti().flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    // Once it has ended it writes to no buffer any more, also not to those that it kept.
    if (cupti().finalize() != CUPTI_SUCCESS) buffers_.give_away();
    g_target.buffers = nullptr;
  }

  RecordBuffers buffers_;
  ClockPair first_;
  bool started_ = false;
};

}  // namespace

std::unique_ptr<GpuObserver> make_cupti_observer(std::size_t max_bytes, std::string* reason) {
  *reason = cupti().missing;
  if (!reason->empty()) return nullptr;
  auto observer = std::make_unique<CuptiObserver>(max_bytes);
  *reason = observer->start();
  if (!reason->empty()) return nullptr;
  return observer;
}

}  // namespace ingot::profiler
