// A build whose toolkit has no header of CUPTI.
#include <ingot/profiler/cuda/make_observer.h>

namespace ingot::profiler {

std::unique_ptr<GpuObserver> make_cupti_observer(std::size_t, std::string* reason) {
  *reason =
      "Ingot was built without CUPTI's headers; install cuda-cupti-dev (or the whole toolkit) and "
      "build again";
  return nullptr;
}

}  // namespace ingot::profiler
