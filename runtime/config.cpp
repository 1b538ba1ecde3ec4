#include <atomic>

#include <ingot/kernels/core/check_at.h>
#include <ingot/kernels/cpu/isa_level.h>
#include <ingot/kernels/cpu/parallel.h>
#include <ingot/kernels/cuda/device.h>
#include <ingot/kernels/cuda/fault.h>
#include <ingot/runtime/allocator.h>
#include <ingot/runtime/apply_env.h>
#include <ingot/runtime/check_cuda.h>
#include <ingot/runtime/config.h>
#include <ingot/runtime/dispatch.h>
#include <ingot/runtime/env.h>

namespace ingot {

void apply_env() {
  static const bool applied = [] {
    const Env& e = env();
    if (!e.isa.empty())
      set_isa_cap(e.isa == "v4" ? IsaLevel::v4 : e.isa == "v3" ? IsaLevel::v3 : IsaLevel::base);
    if (e.threads > 0) set_default_num_threads(e.threads);
    return true;
  }();
  (void)applied;
}

namespace {

std::string cuda_info() {
  if (!cuda::is_available()) return cuda::unavailable_reason();
  const cuda::DeviceProperties& p = cuda::properties(0);
  return fmt::format("{} x {} (compute capability {}.{}, {} multiprocessors), driver {}.{}",
                     cuda::device_count(), p.name, p.major, p.minor, p.multiprocessors,
                     p.driver / 1000, p.driver % 1000 / 10);
}

}  // namespace

std::string build_info() {
  apply_env();  // it may change what is told here
  return fmt::format(
      "ingot 0.1.0; compiler {}; instruction set {} (this machine: {}); {} threads; CUDA: {}",
#ifdef __clang__
      "clang " __clang_version__,
#else
      "g++ " __VERSION__,
#endif
      isa_name(isa_level()), isa_name(detected_isa_level()), num_threads(), cuda_info());
}

namespace cuda {

namespace {
std::atomic<bool> g_allow_tf32{false};
}  // namespace

void set_allow_tf32(bool allow) { g_allow_tf32.store(allow, std::memory_order_relaxed); }
bool allow_tf32() { return g_allow_tf32.load(std::memory_order_relaxed); }

void synchronize(Device device, Loc loc) {
  check_cuda("cuda::synchronize", device, loc);
  if (t_interceptor != nullptr) {
    t_interceptor->observe(Access::device_order, nullptr, "cuda::synchronize", loc);
  }
  synchronize_device(device.index());
  check_fault(device.index());
}

void set_memory_limit(double fraction, Device device, Loc loc) {
  INGOT_CHECK_AT("cuda::set_memory_limit", loc, fraction > 0 && fraction <= 1,
                 "{} is not in (0, 1]", fraction);
  check_cuda("cuda::set_memory_limit", device, loc);
  const double memory = static_cast<double>(properties(device.index()).memory);
  ingot::set_memory_limit(static_cast<i64>(fraction * memory), device, loc);
}

void empty_cache(Device device, Loc loc) {
  check_cuda("cuda::empty_cache", device, loc);
  ingot::empty_cache(device, loc);
}

std::string memory_summary(Device device, Loc loc) {
  check_cuda("cuda::memory_summary", device, loc);
  return ingot::memory_summary(device, loc);
}

}  // namespace cuda

}  // namespace ingot
