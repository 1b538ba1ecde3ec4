// What only a first call pays, told by name to whoever listens: a library that is opened, its
// handle, the choice of an algorithm. Owns: SetupPhase and the pointer to the listener. Costs one
// relaxed load where nobody listens. Must not know: who does.
#pragma once

#include <atomic>

namespace ingot {

// Called on the thread of the phase; phases nest. `name` stays for the life of the process.
struct SetupListener {
  void (*begin)(const char* name);
  void (*end)();
};

inline std::atomic<const SetupListener*> g_setup_listener{nullptr};

class SetupPhase {
 public:
  explicit SetupPhase(const char* name)
      : listener_(g_setup_listener.load(std::memory_order_relaxed)) {
    if (listener_ != nullptr) listener_->begin(name);
  }
  ~SetupPhase() {
    if (listener_ != nullptr) listener_->end();
  }
  SetupPhase(const SetupPhase&) = delete;
  SetupPhase& operator=(const SetupPhase&) = delete;

 private:
  const SetupListener* listener_;
};

}  // namespace ingot
