#include <algorithm>
#include <limits>

#include <ingot/compiler/signature_table.h>

namespace ingot::compiler {

Trie* SignatureTable::find(const Signature& signature, std::uint64_t hash) const {
  const Places* places = places_.load(std::memory_order_acquire);
  if (places == nullptr) return nullptr;
  const std::size_t mask = places->size() - 1;
  for (std::size_t i = hash & mask;; i = (i + 1) & mask) {
    const Known* known = (*places)[i].load(std::memory_order_acquire);
    if (known == nullptr) return nullptr;
    if (known->hash == hash && known->signature == signature) return known->trie.get();
  }
}

void SignatureTable::put(Places& places, const Known* known) {
  const std::size_t mask = places.size() - 1;
  std::size_t i = known->hash & mask;
  while (places[i].load(std::memory_order_relaxed) != nullptr) i = (i + 1) & mask;
  places[i].store(known, std::memory_order_release);
}

void SignatureTable::add(const Signature& signature, std::uint64_t hash,
                         std::unique_ptr<Trie> trie) {
  constexpr std::size_t kFirst = 32;
  known_.push_back(std::make_unique<Known>(Known{signature, hash, std::move(trie)}));
  if (all_places_.empty() || 2 * known_.size() > all_places_.back()->size()) {
    const std::size_t size = all_places_.empty() ? kFirst : 2 * all_places_.back()->size();
    all_places_.push_back(std::make_unique<Places>(size));
    for (const auto& known : known_) put(*all_places_.back(), known.get());
    places_.store(all_places_.back().get(), std::memory_order_release);
  } else {
    put(*all_places_.back(), known_.back().get());
  }
}

bool SignatureTable::holds(const TrieNode* root) const {
  return std::any_of(known_.begin(), known_.end(),
                     [&](const auto& known) { return known->trie->root() == root; });
}

std::string SignatureTable::nearest_difference(const Signature& signature) const {
  const Known* nearest = nullptr;
  int least = std::numeric_limits<int>::max();
  for (auto known = known_.rbegin(); known != known_.rend(); ++known) {
    const int count = count_differences((*known)->signature, signature);
    if (count >= least) continue;
    least = count;
    nearest = known->get();
  }
  return nearest == nullptr ? "" : difference(nearest->signature, signature);
}

}  // namespace ingot::compiler
