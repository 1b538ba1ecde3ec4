#include <algorithm>
#include <atomic>
#include <mutex>

#include <ingot/compiler/compile.h>
#include <ingot/compiler/entry.h>
#include <ingot/compiler/registry.h>

namespace ingot {

namespace {

struct Registry {
  std::mutex mutex;
  std::vector<std::weak_ptr<compiler::Entry>> entries;  // in the order of compile()
};

// Never destroyed: compiled functions may be static.
Registry& registry() {
  static Registry* const all = new Registry;
  return *all;
}

std::atomic<Stance> g_stance{Stance::standard};

}  // namespace

namespace compiler {

void enlist(const std::shared_ptr<Entry>& entry) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  std::erase_if(r.entries, [](const std::weak_ptr<Entry>& e) { return e.expired(); });
  r.entries.push_back(entry);
}

}  // namespace compiler

std::vector<Ledger> ledgers() {
  std::vector<std::shared_ptr<compiler::Entry>> living;
  {
    Registry& r = registry();
    std::lock_guard lock(r.mutex);
    for (const auto& e : r.entries) {
      if (auto entry = e.lock()) living.push_back(std::move(entry));
    }
  }
  std::vector<Ledger> all;
  for (const auto& entry : living) all.push_back(entry->ledger());
  return all;
}

void set_stance(Stance s) { g_stance.store(s, std::memory_order_relaxed); }
Stance stance() { return g_stance.load(std::memory_order_relaxed); }

}  // namespace ingot
