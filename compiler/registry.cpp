#include <atomic>
#include <map>
#include <mutex>

#include <ingot/compiler/compile.h>
#include <ingot/compiler/function_state.h>
#include <ingot/compiler/registry.h>

namespace ingot {

namespace {

struct Registry {
  std::mutex mutex;
  std::map<std::uint64_t, std::weak_ptr<compiler::FunctionState>> functions;  // as they were made
  std::uint64_t last = 0;
};

// Never destroyed: compiled functions may be static.
Registry& registry() {
  static Registry* const all = new Registry;
  return *all;
}

std::atomic<Stance> g_stance{Stance::standard};

}  // namespace

namespace compiler {

void enlist(const std::shared_ptr<FunctionState>& function) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  r.functions.emplace_hint(r.functions.end(), ++r.last, function);
  function->set_number(r.last);
}

void delist(std::uint64_t number) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  r.functions.erase(number);
}

}  // namespace compiler

std::vector<Ledger> ledgers() {
  std::vector<std::shared_ptr<compiler::FunctionState>> living;
  {
    Registry& r = registry();
    std::lock_guard lock(r.mutex);
    for (const auto& [number, function] : r.functions) {
      if (auto alive = function.lock()) living.push_back(std::move(alive));
    }
  }
  std::vector<Ledger> all;
  for (const auto& function : living) all.push_back(compiler::ledger_of(*function));
  return all;
}

void set_stance(Stance s) { g_stance.store(s, std::memory_order_relaxed); }
Stance stance() { return g_stance.load(std::memory_order_relaxed); }

}  // namespace ingot
