#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cpu/isa_level.h>
#include <ingot/kernels/cpu/parallel.h>
#include <ingot/runtime/apply_env.h>
#include <ingot/runtime/config.h>
#include <ingot/runtime/env.h>

namespace ingot {

void apply_env() {
  static const bool applied = [] {
    const Env& e = env();
    if (!e.isa.empty())
      set_isa_cap(e.isa == "v4" ? IsaLevel::v4 : e.isa == "v3" ? IsaLevel::v3 : IsaLevel::base);
    if (e.threads > 0) set_num_threads(e.threads);
    return true;
  }();
  (void)applied;
}

std::string build_info() {
  apply_env();  // it may change what is told here
  return fmt::format(
      "ingot 0.1.0; compiler {}; instruction set {} (this machine: {}); {} threads; CUDA: {}",
#ifdef __clang__
      "clang " __clang_version__,
#else
      "g++ " __VERSION__,
#endif
      isa_name(isa_level()), isa_name(detected_isa_level()), num_threads(),
      cuda::unavailable_reason());
}

namespace cuda {
bool is_available() { return false; }
std::string unavailable_reason() { return "this build has no CUDA support"; }
int device_count() { return 0; }
}  // namespace cuda

}  // namespace ingot
