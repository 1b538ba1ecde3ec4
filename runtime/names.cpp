#include <mutex>
#include <set>

#include <ingot/runtime/names.h>

namespace ingot {

const char* intern(std::string name) {
  static std::mutex mutex;
  // Never destroyed: events may still be written while the process ends.
  static std::set<std::string>& names = *new std::set<std::string>;
  std::lock_guard lock(mutex);
  return names.insert(std::move(name)).first->c_str();
}

}  // namespace ingot
