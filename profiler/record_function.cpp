#include <mutex>
#include <set>

#include <ingot/profiler/profiler.h>
#include <ingot/profiler/recorder.h>

namespace ingot::profiler {
namespace {

// An observer of someone else keeps names as pointers: they stay for the life of the process.
const char* lasting_name(std::string_view name) {
  static std::mutex mutex;
  static auto* names = new std::set<std::string, std::less<>>;
  std::lock_guard lock(mutex);
  auto found = names->find(name);
  if (found == names->end()) found = names->emplace(name).first;
  return found->c_str();
}

}  // namespace

record_function::record_function(std::string_view name, Loc loc) : observer_(observer()) {
  if (observer_ == nullptr) [[likely]]
    return;
  if (observer_ == static_cast<Observer*>(&recorder())) {
    RangeToken token = recorder().begin_range(name, loc);
    window_ = token.window;
    id_ = token.id;
    thread_ = token.thread;
  } else {
    static_cast<Observer*>(observer_)->begin(
        {.kind = EventKind::range, .name = lasting_name(name), .loc = loc});
  }
}

record_function::~record_function() {
  if (observer_ == nullptr) [[likely]]
    return;
  if (observer_ == static_cast<Observer*>(&recorder())) {
    recorder().end_range({window_, id_, thread_});
  } else {
    static_cast<Observer*>(observer_)->end();
  }
}

}  // namespace ingot::profiler
