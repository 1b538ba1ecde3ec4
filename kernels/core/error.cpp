#include <ingot/kernels/core/error.h>

namespace ingot {

std::string to_string(const Loc& loc) {
  std::string_view file = loc.file;
  if (auto slash = file.find_last_of('/'); slash != std::string_view::npos) {
    file.remove_prefix(slash + 1);
  }
  return std::string(file) + ":" + std::to_string(loc.line);
}

void throw_like(const Error& error, const std::string& message, std::string op, Loc where) {
  const auto throw_if = [&]<class E>(const E*) {
    if (dynamic_cast<const E*>(&error) != nullptr) throw E(message, std::move(op), where);
  };
  throw_if(static_cast<const OutOfMemoryError*>(nullptr));
  throw_if(static_cast<const DeviceError*>(nullptr));
  throw_if(static_cast<const IndexError*>(nullptr));
  throw_if(static_cast<const FileError*>(nullptr));
  throw Error(message, std::move(op), where);
}

}  // namespace ingot
