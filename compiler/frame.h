// Frame: one call of a compiled function on one thread: record, replay, commit, flush.
// Owns: the state machine. docs/compile.md describes the states. Must not know: user types,
// signatures. frame.cpp matches, frame_record.cpp adds to the trie, frame_stops.cpp sees what
// breaks a segment, frame_commit.cpp runs one.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ingot/compiler/frame_tables.h>
#include <ingot/compiler/trie.h>
#include <ingot/runtime/dispatch.h>

namespace ingot::compiler {

class Entry;

std::uint64_t clock_ns();

class Frame final : public Interceptor {
 public:
  enum class State : std::uint8_t {
    record,  // ops run eagerly and are added to the trie
    replay,  // ops are matched and hand out pending results
    eager,   // ops run eagerly and nothing is kept
  };

  // The trie must outlive the frame.
  Frame(Entry& entry, Trie& trie, bool timed);
  ~Frame();
  Frame(const Frame&) = delete;

  Match match(const Call& call, Tensor* out) override;
  void executed(const Call& call, const Tensor* out, Ticket ticket) override;
  void refused(const Call& call, bool by_data) override;
  void observe(Access access, const TensorImpl* t, const char* what, Loc loc) override;
  void expose(Access access, const Storage& storage) override;
  bool runs_at_once(const Call& call) override;
  void leave(const char* why, Loc loc) override;

  // The function has returned and its result is held by the caller only.
  void finish();
  State state() const { return state_; }
  // Whether the whole call was replayed, and the time spent outside of plans.
  bool hit() const { return !recorded_; }
  std::uint64_t replay_ns() const { return replay_ns_; }
  // The function threw: what was matched runs as eager would have run it.
  void abort() noexcept;

 private:
  Match try_node(const TrieNode& node, const Call& call);
  Match match_further(TrieNode& first, Match match, const Call& call, Tensor* out);
  Match unbind(const TrieNode& node);
  bool is_slot(const TrieNode& node, int index, const TensorImpl& t);
  bool is_result(int index, const TensorImpl& t);
  bool bind_slot(const TrieNode& node, int index, const TensorImpl& t);
  bool hold_slot(Slot& slot, const TensorImpl& t);
  bool hold_result(int index, const TensorImpl& t);
  bool reach(TrieNode& node, const Call& call, Tensor* out);
  void accept(TrieNode& node, const Call& call, Tensor* out);
  void keep_attrs(const Attrs& attrs);
  void accept_shared(const TrieNode& node, const NewResult& result, const Call& call, Tensor* out);
  // `key` stands for the reason, as for Entry::count_miss.
  void leave_replay(std::uint64_t key, const std::function<std::string()>& reason, Loc loc);

  std::unique_ptr<TrieNode> node_of(TrieNode::Kind kind, const Call& call);
  Source source_of(const Tensor& t, TrieNode& node);
  void add_result(const Call& call, int r, const Tensor& out, TrieNode& node);
  void describe_stop(TrieNode& node, Access access, int observed_buffer, Loc loc);
  std::unique_ptr<TrieNode> make_stop(TrieNode::Kind kind, Access access, int observed_buffer,
                                      Loc loc);
  void add_stop(std::unique_ptr<TrieNode> stop);
  void append(std::unique_ptr<TrieNode> node);
  void publish();
  void build_plans();

  int buffer_of(const TensorImpl& t);
  int buffer_of(const Source& source) const;
  void mark_touched(const TrieNode& node);
  void mark_matched();
  bool segment_touches(int buffer, bool writes_only);
  bool covers(const TrieNode& stop) const;
  TrieNode* find_stop(TrieNode::Kind kind, Access access, int observed_buffer) const;
  void next_segment();

  void commit(const TrieNode& stop);
  void commit_cut(TrieNode& stop);
  void end_segment();
  bool give_bytes(const TrieNode& stop);
  void take_bytes(const TrieNode& stop);
  void bind(const SegmentPlan& plan);
  bool run_plan(const SegmentPlan& plan);
  void verify_plan(const SegmentPlan& plan);
  void flush();
  void find_last_uses();
  void drop_unused(const TrieNode& node, int place);
  void run_matched(const Matched& m);
  void poison_ops(const std::vector<bool>& ran, std::exception_ptr error);

  Entry& entry_;
  State state_;
  std::uint64_t epoch_;
  TrieNode* cursor_;
  TrieNode* anchor_ = nullptr;  // the published node below which private_ will hang
  std::vector<std::unique_ptr<TrieNode>> private_;
  // The current segment: its number, and how many buffers and results there were when it began.
  int segment_ = 0, segment_buffers_ = 0, segment_results_ = 0;
  bool has_ops_ = false;    // beside those in FrameTables::matched
  std::size_t marked_ = 0;  // of what is matched, how much mark_touched() has seen
  bool recorded_ = false;   // this call left the trie's known paths
  const bool timed_;
  std::int64_t launches_before_ = 0;  // this thread's, when the current op began
  std::uint64_t mark_;           // clock_ns() when the function, or its current part, began to run
  std::uint64_t replay_ns_ = 0;  // of matching, up to now
  FrameTables& t_;
};

}  // namespace ingot::compiler
