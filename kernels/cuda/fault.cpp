#include <array>
#include <atomic>
#include <mutex>
#include <new>

#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cpu/indexing_rows.h>
#include <ingot/kernels/cuda/fault.h>

namespace ingot::cuda {

namespace {

std::array<std::atomic<FaultRecord*>, kMaxDevices> g_records{};
std::mutex g_mutex;

thread_local const char* t_file = nullptr;
thread_local int t_line = 0;

FaultRecord* record_of(int device) {
  auto& slot = g_records[static_cast<std::size_t>(device)];
  if (FaultRecord* known = slot.load(std::memory_order_acquire)) [[likely]]
    return known;
  const std::lock_guard lock(g_mutex);
  if (FaultRecord* known = slot.load()) return known;
  // Page-locked memory has one address on the host and on every device. It is never freed: kernels
  // and graphs hold its address until the process ends.
  void* memory =
      is_available() ? allocate_pinned(sizeof(FaultRecord)) : ::operator new(sizeof(FaultRecord));
  if (memory == nullptr) {
    detail::fail<OutOfMemoryError>("cuda:{}: no page-locked memory for error reports", device);
  }
  auto* fresh = new (memory) FaultRecord{};
  slot.store(fresh, std::memory_order_release);
  return fresh;
}

[[noreturn, gnu::cold, gnu::noinline]] void throw_fault(const FaultRecord& fault) {
  const IndexedAxis axis{fault.op, fault.axis, fault.size, fault.unit};
  const std::string text = out_of_range(axis, fault.index);
  if (fault.file == nullptr) throw Fault(text, fault.op, Loc::here());
  const Loc line = Loc::here(fault.file, fault.line);
  throw Fault(fmt::format("{}; at {}", text, to_string(line)), fault.op, line);
}

}  // namespace

void set_fault_line(Loc line) {
  t_file = line.file;
  t_line = line.line;
}

FaultSite fault_site(const char* op, int axis, const char* unit) {
  return {record_of(current_device()), op, unit, axis, t_file, t_line};
}

void check_fault(int device) {
  FaultRecord* record = g_records[static_cast<std::size_t>(device)].load(std::memory_order_acquire);
  if (record == nullptr) return;
  std::atomic_ref<unsigned> state(record->state);
  if (state.load(std::memory_order_acquire) != FaultRecord::filled) [[likely]]
    return;
  const std::lock_guard lock(g_mutex);
  if (state.load(std::memory_order_acquire) != FaultRecord::filled) return;
  const FaultRecord fault = *record;
  state.store(FaultRecord::empty, std::memory_order_release);
  throw_fault(fault);
}

}  // namespace ingot::cuda
