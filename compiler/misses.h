// Misses: why calls matched no recorded path: each reason once, with its count, up to a bound.
// Owns: the bound, and counting a known reason without a lock or a text. Must not know: what makes
// a reason.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ingot/compiler/ledger.h>

namespace ingot::compiler {

class Misses {
 public:
  // Counts a call under the reason that `key` stands for. False: that reason is new and there is
  // room for it, so that its text is to be add()ed.
  bool count(std::uint64_t key);
  // By one thread at a time. Reasons of one text and line are one event.
  void add(std::uint64_t key, std::string what, Loc where);

  i64 total() const;  // calls
  // Appends the reasons to *events, up to kKept in all, and returns the calls that had others.
  i64 append_to(std::vector<Ledger::Event>* events) const;

  static constexpr std::size_t kKept = 63;

 private:
  static constexpr std::size_t kSlots = 128;  // twice as many, so that probing is short
  struct Slot {
    std::atomic<std::uint64_t> key{0};  // 0: free; set last
    std::atomic<i64> count{0};
    std::size_t event = 0;  // place in events_
  };
  using Table = std::array<Slot, kSlots>;
  static Slot& slot_of(Table& table, std::uint64_t key);

  std::atomic<Table*> table_{nullptr};  // most functions never miss: made at the first reason
  std::unique_ptr<Table> owned_;
  std::atomic<bool> full_{false};
  std::atomic<i64> others_{0};
  std::size_t n_keys_ = 0;
  std::vector<Ledger::Event> events_;  // their counts are in the slots
};

}  // namespace ingot::compiler
