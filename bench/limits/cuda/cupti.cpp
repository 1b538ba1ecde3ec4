#include "cupti.h"

#include <cstdlib>
#include <stdexcept>
#include <string>

#include <ingot/kernels/cuda/device.h>
#include <ingot/kernels/cuda/library.h>

#if __has_include(<cupti.h>)
#include <cupti.h>

namespace bench::gpu {

namespace {

struct Api {
  const ingot::cuda::Library library{{"libcupti.so.13", "libcupti.so.12", "libcupti.so",
                                      "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so"},
                                     "cuda-cupti"};
#define CUPTI(name) \
  decltype(&::cupti##name) name = reinterpret_cast<decltype(&::cupti##name)>(load("cupti" #name));
  CUPTI(ActivityRegisterCallbacks)
  CUPTI(ActivityEnable)
  CUPTI(ActivityDisable)
  CUPTI(ActivityFlushAll)
  CUPTI(ActivityGetNextRecord)
  CUPTI(ActivityPushExternalCorrelationId)
  CUPTI(ActivityPopExternalCorrelationId)
  CUPTI(Finalize)
#undef CUPTI

 private:
  void* load(const char* name) const { return library.require(name); }
};

const Api& api() {
  static const Api loaded;
  return loaded;
}

constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                         CUPTI_ACTIVITY_KIND_RUNTIME,
                                         CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION};

std::atomic<std::uint64_t> g_records{0};

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most) {
  constexpr std::size_t kBytes = std::size_t{4} << 20, kAlignment = 64;
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kAlignment, kBytes));
  *size = *buffer == nullptr ? 0 : kBytes;
  *most = 0;
}

void CUPTIAPI take_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                          std::size_t valid) {
  CUpti_Activity* record = nullptr;
  std::uint64_t count = 0;
  while (valid > 0 && api().ActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    ++count;
  }
  g_records += count;
  std::free(buffer);
}

void check(CUptiResult status, const char* call) {
  if (status == CUPTI_SUCCESS) return;
  throw std::runtime_error(std::string("CUPTI refuses ") + call + " with status " +
                           std::to_string(static_cast<int>(status)));
}

}  // namespace

CuptiClient::CuptiClient() {
  (void)ingot::cuda::current_stream();  // the context exists from here on
  check(api().ActivityRegisterCallbacks(give_buffer, take_buffer), "callbacks");
  for (const CUpti_ActivityKind kind : kKinds) check(api().ActivityEnable(kind), "an activity");
}

CuptiClient::~CuptiClient() {
  ingot::cuda::synchronize_stream();
  for (const CUpti_ActivityKind kind : kKinds) (void)api().ActivityDisable(kind);
  (void)api().ActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  (void)api().Finalize();
}

void CuptiClient::push(std::uint64_t id) const {
  (void)api().ActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, id);
}

void CuptiClient::pop() const {
  std::uint64_t last = 0;
  (void)api().ActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last);
}

std::uint64_t CuptiClient::records() { return g_records; }

}  // namespace bench::gpu

#else

namespace bench::gpu {

CuptiClient::CuptiClient() {
  throw std::runtime_error("built without CUPTI's headers: profiler_on has no limit");
}
CuptiClient::~CuptiClient() = default;
void CuptiClient::push(std::uint64_t) const {}
void CuptiClient::pop() const {}
std::uint64_t CuptiClient::records() { return 0; }

}  // namespace bench::gpu

#endif
