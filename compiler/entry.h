// Entry: what the calls of one compiled function have left since its last reset(): tries by
// signature, and the ledger's raw figures. Holds no tensor. Owns: locking, statistics. Must not
// know: frames' tables, which calls use it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <ingot/compiler/ledger.h>
#include <ingot/compiler/misses.h>
#include <ingot/compiler/options.h>
#include <ingot/compiler/signature.h>
#include <ingot/compiler/signature_table.h>
#include <ingot/compiler/trie.h>

namespace ingot::compiler {

// The last measured values of one figure.
class Samples {
 public:
  void add(double value);
  Spread spread() const;

 private:
  static constexpr std::size_t kKept = 512;
  std::vector<double> values_;
  std::size_t next_ = 0;
};

class Entry {
 public:
  using Reason = std::function<std::string()>;

  // The function's options. *warned: stderr was told that it reached max_variants.
  Entry(const CompileOptions& options, Loc loc, std::atomic<bool>* warned);

  const CompileOptions& options() const { return options_; }
  Loc loc() const { return loc_; }

  // The trie of the paths with this signature; null: there are none. Takes no lock.
  Trie* find(const Signature& signature, std::uint64_t hash) const {
    return tries_.find(signature, hash);
  }
  // Takes what a call with a new signature recorded: nothing, unless it got to its end.
  void keep(const Signature& signature, std::uint64_t hash, std::unique_ptr<Trie> trie);
  // False when max_variants paths are known, or the stance forbids it.
  bool may_record() const;

  void publish(TrieNode* at, std::vector<std::unique_ptr<TrieNode>> chain);
  std::unique_ptr<Plan> build_plan(Segment segment);

  // Counts a call; true when its times are to be taken. A clock costs as much as a small op, so
  // of many calls only some are timed.
  bool count_call();
  void count_eager_call();  // one that is neither looked up nor recorded
  void count_no_hit();      // the call was not replayed to its end
  void add_times(double replay_ns, double total_us);
  // What keeps a call from being replayed although it may be known.
  void note_eager(const char* reason, Loc where);
  // `key` stands for the reason, whose text is made when it is seen for the first time.
  // at_limit: the call will not be recorded. Throws then when policy or stance are to refuse.
  void count_miss(std::uint64_t key, const Reason& reason, Loc where, bool at_limit);
  // A call whose signature is not known, and that is to be recorded; or that is not, and counts as
  // a call here.
  void count_new_signature(const Signature& signature, std::uint64_t hash);
  void count_refused_signature(const Signature& signature, std::uint64_t hash) {
    if (!refused_.count(hash)) add_refused_signature(signature, hash);
    if (stance() == Stance::fail_on_miss ||
        (at_limit() && !limit_noted_.load(std::memory_order_relaxed))) [[unlikely]]
      end_miss([&] { return text_of_new(signature); }, loc_);
  }
  void count_cut(const std::string& what, Loc where);
  // An op on memory whose address the function has taken.
  void note_at_once(const std::string& op, Loc where);
  [[noreturn]] void refuse_cut(const std::string& what, Loc where) const;
  void add_eager_us(double us);

  Ledger ledger() const;
  std::string text() const;  // the segments of all paths
  std::string dot() const;
  std::string source() const;
  MemoryUse memory() const;

 private:
  bool at_limit() const {
    return variants_.load(std::memory_order_relaxed) >= options_.max_variants;
  }
  void add_path(TrieNode* at, std::vector<std::unique_ptr<TrieNode>> chain);
  std::string text_of_new(const Signature& signature) const;
  void add_refused_signature(const Signature& signature, std::uint64_t hash);
  // What else a call that will not be recorded brings about: an Error, or the one note of that.
  void end_miss(const Reason& reason, Loc where);
  void note_limit(const Reason& reason, Loc where);

  const CompileOptions& options_;
  const Loc loc_;
  std::atomic<bool>* const warned_;
  mutable std::mutex mutex_;
  SignatureTable tries_;
  std::atomic<i64> variants_{0}, calls_{0}, eager_calls_{0}, not_hits_{0};
  // Of calls that were then recorded; of those that were not: at once, or after a part of a path.
  Misses misses_, refused_, left_;
  std::atomic<bool> limit_noted_{false};
  Ledger figures_;  // the counters and events; spreads are in the samples
  Samples replay_ns_, compiled_us_, eager_us_;
  MemoryUse memory_;
  std::vector<const Plan*> plans_;  // of all paths, in the order of their recording
  std::vector<const Plan*> last_path_;
};

}  // namespace ingot::compiler
