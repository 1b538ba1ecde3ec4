// Entry: what one compiled function keeps between calls: tries by signature, and the ledger's raw
// figures. Holds no tensor. Owns: options, locking, statistics. Must not know: frames' tables.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <ingot/compiler/ledger.h>
#include <ingot/compiler/options.h>
#include <ingot/compiler/signature.h>
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
  Entry(CompileOptions options, Loc loc);

  const CompileOptions& options() const { return options_; }
  Loc loc() const { return loc_; }

  // The trie of this signature, made when it is new. It lives as long as the entry, or when it is
  // for this call only, in *own: nothing will be recorded in it, and it says why it is none of the
  // known ones.
  Trie& trie_for(const Signature& signature, std::unique_ptr<Trie>* own);
  // False when max_variants paths are known, or the stance forbids it.
  bool may_record() const;

  void publish(TrieNode* at, std::vector<std::unique_ptr<TrieNode>> chain);
  std::unique_ptr<Plan> build_plan(Segment segment);

  // Counts a call; true when its times are to be taken. A clock costs as much as a small op, so
  // of many calls only some are timed.
  bool count_call();
  void count_no_hit();  // the call was not replayed to its end
  void add_times(double replay_ns, double total_us);
  // What keeps a call from being replayed although it may be known.
  void note_eager(const std::string& reason, Loc where);
  // at_limit: it will not be recorded. Throws then when policy or stance are to refuse.
  void count_miss(const std::string& reason, Loc where, bool at_limit);
  void count_cut(const std::string& what, Loc where);
  // An op on memory whose address the function has taken.
  void note_at_once(const std::string& op, Loc where);
  [[noreturn]] void refuse_cut(const std::string& what, Loc where) const;
  void add_eager_us(double us);

  void reset();
  Ledger ledger() const;
  std::string text() const;  // the segments of all paths
  std::string dot() const;
  std::string source() const;
  MemoryUse memory() const;

 private:
  CompileOptions options_;
  Loc loc_;
  mutable std::mutex mutex_;
  // Snapshots of the table, so that a call looks its trie up without a lock. A superseded one is
  // kept while the entry lives: another thread may be reading it.
  using Table = std::vector<std::pair<Signature, Trie*>>;
  static std::string nearest_difference(const Table& table, const Signature& signature);
  std::vector<std::unique_ptr<const Table>> tables_;
  std::vector<std::unique_ptr<Trie>> tries_;
  std::atomic<const Table*> table_{nullptr};
  std::atomic<i64> variants_{0}, calls_{0}, not_hits_{0};
  Ledger no_figures() const;
  Ledger figures_;  // the counters and events; spreads are in the samples
  Samples replay_ns_, compiled_us_, eager_us_;
  MemoryUse memory_;
  std::vector<const Plan*> plans_;  // of all paths, as long as these are known
  std::vector<const Plan*> last_path_;
  std::vector<std::string> texts_, dots_, sources_;
};

}  // namespace ingot::compiler
