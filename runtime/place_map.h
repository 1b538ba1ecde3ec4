// PlaceMap: a small number for each of many addresses or stamps, emptied in constant time.
// Owns: an open-addressing table that keeps its memory between uses. Must not know: what is
// numbered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ingot {

class PlaceMap {
 public:
  void clear() {
    count_ = 0;
    if (++round_ == 0) {  // entries of 2^32 rounds ago would seem valid
      slots_.assign(slots_.size(), {});
      round_ = 1;
    }
  }

  // The key's place: this one if it has none yet.
  int insert(const void* key, int place) {
    return insert(std::uint64_t{reinterpret_cast<std::uintptr_t>(key)}, place);
  }
  int insert(std::uint64_t key, int place) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    Slot& slot = find(key);
    if (slot.round == round_) return slot.place;
    slot = {key, round_, place};
    ++count_;
    return place;
  }

  // The key's place, or null.
  int* look_up(std::uint64_t key) {
    if (count_ == 0) return nullptr;
    Slot& slot = find(key);
    return slot.round == round_ ? &slot.place : nullptr;
  }

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t round = 0;
    int place = 0;
  };

  // The key's slot, or the free one where it belongs.
  Slot& find(std::uint64_t key) {
    constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15;
    const std::size_t mask = slots_.size() - 1;
    std::size_t i = (key * kGolden >> 32) & mask;
    while (slots_[i].round == round_ && slots_[i].key != key) i = (i + 1) & mask;
    return slots_[i];
  }

  void grow() {
    constexpr std::size_t kFirst = 64;
    std::vector<Slot> old(slots_.empty() ? kFirst : 2 * slots_.size());
    old.swap(slots_);
    for (const Slot& s : old) {
      if (s.round == round_) find(s.key) = s;
    }
  }

  std::vector<Slot> slots_;  // a power of two of them, at most half in use
  std::size_t count_ = 0;
  std::uint32_t round_ = 1;
};

}  // namespace ingot
