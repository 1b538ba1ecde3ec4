#include <stdexcept>

#include <ingot/kernels/cpu/isa_level.h>

#include "limits/limits.h"

namespace bench {

extern const Limits limits_base, limits_v3, limits_v4;

const Limits& limits() {
  [[maybe_unused]] const ingot::IsaLevel level = ingot::isa_level();
#ifdef HAVE_LIMITS_V4
  if (level == ingot::IsaLevel::v4) return limits_v4;
#endif
#ifdef HAVE_LIMITS_V3
  if (level == ingot::IsaLevel::v3) return limits_v3;
#endif
#ifdef HAVE_LIMITS_BASE
  if (level == ingot::IsaLevel::base) return limits_base;
#endif
  throw std::logic_error("the limits were not built for the instruction set level in use");
}

}  // namespace bench
