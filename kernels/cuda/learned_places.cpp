#include <ingot/kernels/cuda/learned_places.h>

namespace ingot::cuda {

int LearnedPlaces::explain(std::uint64_t before, std::uint64_t after, const Addresses& from,
                           const Addresses& to) const {
  int by_move = -1, moves = 0, by_value = -1, values = 0;
  for (int i = 0; i < kAddresses; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (states_[at] != State::unknown || from[at] == to[at]) continue;
    if (after - before != to[at] - from[at]) continue;
    by_move = i;
    ++moves;
    if (before != from[at]) continue;
    by_value = i;
    ++values;
  }
  // Operands that moved together are told apart by the address itself; the same address twice
  // cannot be told apart.
  if (values == 1) return by_value;
  return values == 0 && moves == 1 ? by_move : -1;
}

void LearnedPlaces::teach(const Words& before, const Addresses& from, const Words& after,
                          const Addresses& to) {
  if (hopeless_) return;
  hopeless_ = before.size() != after.size();
  if (hopeless_) return;
  Words expected = before;
  move(expected, from, to);
  std::vector<Place> found;
  for (std::size_t w = 0; w < after.size(); ++w) {
    if (expected[w] == after[w]) continue;
    // A place of a known address that holds something else, or a word that nothing explains.
    const int address = expected[w] == before[w] ? explain(before[w], after[w], from, to) : -1;
    if (address < 0) {
      bool unknown_moved = false;
      for (std::size_t i = 0; i < from.size(); ++i) {
        unknown_moved |= states_[i] == State::unknown && from[i] != to[i];
      }
      // With several unknown addresses another call may tell more; with none the rule is wrong.
      hopeless_ = !unknown_moved;
      return;
    }
    found.push_back({w, address});
  }
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] == to[i]) continue;
    states_[i] = states_[i] == State::unknown ? State::found : State::confirmed;
  }
  places_.insert(places_.end(), found.begin(), found.end());
}

bool LearnedPlaces::know(const Addresses& from, const Addresses& to) const {
  if (hopeless_) return false;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] != to[i] && states_[i] != State::confirmed) return false;
  }
  return true;
}

void LearnedPlaces::move(Words& words, const Addresses& from, const Addresses& to) const {
  for (const Place& p : places_) {
    const auto i = static_cast<std::size_t>(p.address);
    words[p.word] += to[i] - from[i];
  }
}

}  // namespace ingot::cuda
