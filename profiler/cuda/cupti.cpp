#include <fmt/format.h>

#include <ingot/kernels/cuda/library.h>
#include <ingot/profiler/cuda/cupti.h>

namespace ingot::profiler {
namespace {

constexpr const char* kPackage = "CUPTI (cuda-cupti, or the wheel nvidia-cuda-cupti)";

Cupti open() {
  static const cuda::Library library({"libcupti.so.13", "libcupti.so.12", "libcupti.so",
                                      "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so"},
                                     kPackage);
  Cupti c{};
  c.missing = library.reason();
  const auto find = [&]<class F>(F& function, const char* name) {
    function = reinterpret_cast<F>(library.find(name));
    if (function == nullptr && c.missing.empty()) {
      c.missing = fmt::format(
          "this CUPTI has no {}; install {} of the toolkit that Ingot was "
          "built with",
          name, kPackage);
    }
  };
  find(c.version, "cuptiGetVersion");
  find(c.result_string, "cuptiGetResultString");
  find(c.timestamp, "cuptiGetTimestamp");
  find(c.set_thread_id_type, "cuptiSetThreadIdType");
  find(c.register_callbacks, "cuptiActivityRegisterCallbacks");
  find(c.set_attribute, "cuptiActivitySetAttribute");
  find(c.enable, "cuptiActivityEnable");
  find(c.disable, "cuptiActivityDisable");
  find(c.flush, "cuptiActivityFlushAll");
  find(c.next_record, "cuptiActivityGetNextRecord");
  find(c.dropped, "cuptiActivityGetNumDroppedRecords");
  find(c.push, "cuptiActivityPushExternalCorrelationId");
  find(c.pop, "cuptiActivityPopExternalCorrelationId");
  find(c.callback_name, "cuptiGetCallbackName");
  find(c.finalize, "cuptiFinalize");
  return c;
}

const char* remedy(CUptiResult status) {
  switch (status) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      return "the driver lets only the administrator profile: load it with "
             "NVreg_RestrictProfilingToAdminUsers=0, or give the process CAP_SYS_ADMIN";
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      return "another tool (nsys, ncu, cuda-gdb, compute-sanitizer) watches this process: run "
             "without it";
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
      return "this virtual GPU cannot be profiled: ask its host to enable profiling";
    default:
      return "update the driver, or install the CUPTI that belongs to it";
  }
}

}  // namespace

const Cupti& cupti() {
  static const Cupti opened = open();
  return opened;
}

std::string cupti_name() {
  std::uint32_t version = 0;
  (void)cupti().version(&version);
  // 130001 is CUPTI of CUDA 13.0; before 12 it was a number that only grew.
  return version >= 10000 ? fmt::format("CUPTI {}.{}", version / 10000, version % 10000 / 100)
                          : fmt::format("CUPTI (API version {})", version);
}

std::string refusal(CUptiResult status, const char* call) {
  const char* text = nullptr;
  if (cupti().result_string(status, &text) != CUPTI_SUCCESS || text == nullptr) text = "error";
  return fmt::format("{} answered {} ({}): {}", call, text, static_cast<int>(status),
                     remedy(status));
}

}  // namespace ingot::profiler
