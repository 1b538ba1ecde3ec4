#include <cstdio>
#include <mutex>
#include <set>

#include <ingot/runtime/warning.h>

namespace ingot {

void warn_once(const char* op, Loc loc, const std::string& text) {
  static std::mutex mutex;
  static std::set<std::string> said;
  const std::string place = std::string(loc.file) + ':' + std::to_string(loc.line);
  {
    const std::lock_guard lock(mutex);
    if (!said.insert(std::string(op) + ' ' + place).second) return;
  }
  std::fprintf(stderr, "ingot: warning: %s: %s; at %s\n", op, text.c_str(), to_string(loc).c_str());
}

}  // namespace ingot
