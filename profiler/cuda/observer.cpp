// Which observer a session gets.
#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cuda/device.h>
#include <ingot/profiler/cuda/make_observer.h>

namespace ingot::profiler {

std::string GpuObserver::unavailable() { return cuda::unavailable_reason(); }

bool GpuObserver::in_use() {
  for (int device = 0; device < cuda::kMaxDevices; ++device) {
    if (cuda::in_use(device)) return true;
  }
  return false;
}

namespace {

std::vector<GpuDevice> devices() {
  std::vector<GpuDevice> list;
  for (int i = 0; i < cuda::device_count(); ++i) {
    const cuda::DeviceProperties& p = cuda::properties(i);
    list.push_back({i, p.name, p.memory, p.major, p.minor, p.multiprocessors,
                    p.threads_per_multiprocessor, p.registers_per_multiprocessor,
                    p.shared_per_multiprocessor});
  }
  return list;
}

}  // namespace

std::unique_ptr<GpuObserver> GpuObserver::start(std::size_t max_bytes) {
  const std::string reason = unavailable();
  INGOT_CHECK_AS(DeviceError, reason.empty(), "profiler: {}", reason);
  std::string refused;
  std::unique_ptr<GpuObserver> observer = make_cupti_observer(max_bytes, &refused);
  if (observer == nullptr) observer = make_event_observer(max_bytes, std::move(refused));
  observer->devices_ = devices();
  return observer;
}

GpuRecords GpuObserver::finish() {
  GpuRecords records = collect();
  records.devices = devices_;
  return records;
}

}  // namespace ingot::profiler
