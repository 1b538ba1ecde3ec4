#include <algorithm>

#include <ingot/compiler/misses.h>

namespace ingot::compiler {

namespace {

bool same(const Ledger::Event& a, const Ledger::Event& b) {
  return a.what == b.what && a.where.line == b.where.line && a.where.file == b.where.file;
}

}  // namespace

// The key's slot, or the free one where it belongs.
Misses::Slot& Misses::slot_of(Table& table, std::uint64_t key) {
  for (std::size_t i = key % kSlots;; i = (i + 1) % kSlots) {
    const std::uint64_t there = table[i].key.load(std::memory_order_acquire);
    if (there == key || there == 0) return table[i];
  }
}

bool Misses::count(std::uint64_t key) {
  key += key == 0;
  if (Table* table = table_.load(std::memory_order_acquire)) {
    Slot& slot = slot_of(*table, key);
    if (slot.key.load(std::memory_order_relaxed) == key) [[likely]] {
      slot.count.fetch_add(1, std::memory_order_relaxed);
      return true;
    }
  }
  if (!full_.load(std::memory_order_relaxed)) return false;
  others_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void Misses::add(std::uint64_t key, std::string what, Loc where) {
  key += key == 0;
  if (owned_ == nullptr) {
    owned_ = std::make_unique<Table>();
    table_.store(owned_.get(), std::memory_order_release);
  }
  Slot& slot = slot_of(*owned_, key);
  if (slot.key.load(std::memory_order_relaxed) == key) {  // another thread was first
    slot.count.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (n_keys_ == kKept) {
    others_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  Ledger::Event event{std::move(what), where};
  const auto known = std::find_if(events_.begin(), events_.end(),
                                  [&](const Ledger::Event& e) { return same(e, event); });
  slot.event = static_cast<std::size_t>(known - events_.begin());
  if (known == events_.end()) events_.push_back(std::move(event));
  slot.count.store(1, std::memory_order_relaxed);
  slot.key.store(key, std::memory_order_release);
  if (++n_keys_ == kKept) full_.store(true, std::memory_order_relaxed);
}

i64 Misses::total() const {
  i64 calls = others_.load(std::memory_order_relaxed);
  if (owned_ == nullptr) return calls;
  for (const Slot& slot : *owned_) calls += slot.count.load(std::memory_order_relaxed);
  return calls;
}

i64 Misses::append_to(std::vector<Ledger::Event>* events) const {
  i64 others = others_.load(std::memory_order_relaxed);
  if (owned_ == nullptr) return others;
  std::vector<i64> counts(events_.size());
  for (const Slot& slot : *owned_) {
    if (slot.key.load(std::memory_order_relaxed) == 0) continue;
    counts[slot.event] += slot.count.load(std::memory_order_relaxed);
  }
  for (std::size_t i = 0; i < events_.size(); ++i) {
    const auto known = std::find_if(events->begin(), events->end(),
                                    [&](const Ledger::Event& e) { return same(e, events_[i]); });
    if (known != events->end()) {
      known->count += counts[i];
    } else if (events->size() < kKept) {
      events->push_back(events_[i]);
      events->back().count = counts[i];
    } else {
      others += counts[i];
    }
  }
  return others;
}

}  // namespace ingot::compiler
