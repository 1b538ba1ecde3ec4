#include <ingot/kernels/core/error.h>

namespace ingot {

std::string to_string(const Loc& loc) {
  std::string_view file = loc.file;
  if (auto slash = file.find_last_of('/'); slash != std::string_view::npos) {
    file.remove_prefix(slash + 1);
  }
  return std::string(file) + ":" + std::to_string(loc.line);
}

}  // namespace ingot
