// Frame: one call of a compiled function on one thread: record, replay, commit, flush.
// Owns: the state machine, and the tables of slots, results and buffers while the call runs.
// docs/compile.md describes the states. Must not know: user types, signatures.
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

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
  void observe(Access access, const Storage* storage, const char* what, Loc loc) override;
  void leave(const char* why, Loc loc) override;

  // The function has returned and its result is held by the caller only.
  void finish();
  State state() const { return state_; }
  // Whether the whole call was replayed, and the time spent outside of plans.
  bool hit() const { return !recorded_; }
  std::uint64_t replay_ns() const { return replay_ns_; }
  // The function threw: what was matched runs as eager would have run it.
  void abort() noexcept;

  struct Slot {
    std::uint64_t stamp;
    const Storage* storage;
    int buffer;
    i64 offset;
    const Meta* meta;  // the trie's; replay only
  };
  struct Result {
    int buffer;
    i64 offset;
    const Meta* meta;  // as above
  };
  // What keeps a storage until the call ends: a reference, or the hold on what the call made.
  class BufferRef {
   public:
    // By the thread that made it, while it is the only one to know it.
    static BufferRef made(Storage& s) {
      s.hold();
      return {&s, true};
    }
    static BufferRef outside(const Ref<Storage>& s) {
      s->retain();
      return {s.get(), false};
    }
    BufferRef(BufferRef&& o) noexcept
        : storage(std::exchange(o.storage, nullptr)), produced(o.produced) {}
    BufferRef& operator=(BufferRef&&) = delete;
    ~BufferRef() {
      if (storage == nullptr) return;
      produced ? storage->let_go() : storage->release();
    }
    bool has_handles() const { return storage->use_count() > 0; }

    Storage* storage;
    const bool produced;  // by an op of this call

   private:
    BufferRef(Storage* s, bool is_produced) : storage(s), produced(is_produced) {}
  };
  struct Matched {
    Matched(const TrieNode* n, Ticket t) : node(n), ticket(t) {}
    const TrieNode* node;
    int attrs = -1;  // place in Tables::attrs, or -1: the node's own
    Ticket ticket;
  };
  // Reused from call to call, so that a replay allocates nothing but what it returns.
  struct Tables {
    std::vector<Slot> slots;
    std::vector<Result> results;
    std::vector<BufferRef> buffers;
    std::vector<Matched> matched;
    std::vector<Attrs> attrs;
    int n_attrs = 0;
    Binding binding;
    void clear();
  };

 private:
  Match try_node(const TrieNode& node, const Call& call);
  Match unbind(const TrieNode& node);
  bool is_slot(const TrieNode& node, int index, const TensorImpl& t);
  bool bind_slot(const TrieNode& node, int index, const TensorImpl& t);
  void accept(TrieNode& node, const Call& call, Tensor* out);
  void keep_attrs(const Attrs& attrs);
  void accept_shared(const TrieNode& node, const NewResult& result, const Call& call, Tensor* out);

  Source source_of(const Tensor& t, TrieNode& node);
  void add_result(const Call& call, int r, const Tensor& out, TrieNode& node);
  void leave_replay(const std::string& reason, Loc loc);
  void add_stop(TrieNode::Kind kind, Access access, int observed_buffer, Loc loc);
  void append(std::unique_ptr<TrieNode> node);
  void publish();
  void build_plans();

  std::vector<bool> live_buffers() const;
  bool covers(const TrieNode& stop) const;
  int buffer_of(const Storage* storage) const;
  bool segment_touches(int buffer, bool writes_only) const;
  TrieNode* find_stop(TrieNode::Kind kind, Access access, int observed_buffer) const;

  void commit(const TrieNode& stop);
  void commit_cut(const TrieNode& stop);
  void bind(const SegmentPlan& plan);
  void run_plan(const SegmentPlan& plan);
  void verify_plan(const SegmentPlan& plan);
  void flush();
  void run_matched(const Matched& m);
  void poison_ops(const std::vector<bool>& ran, std::exception_ptr error);

  Entry& entry_;
  State state_;
  std::uint64_t epoch_;
  TrieNode* cursor_;
  TrieNode* anchor_ = nullptr;  // the published node below which private_ will hang
  std::vector<std::unique_ptr<TrieNode>> private_;
  int segment_buffers_ = 0;  // buffers that existed when the current segment began
  bool recorded_ = false;    // this call left the trie's known paths
  const bool timed_;
  std::uint64_t mark_;           // clock_ns() when the function, or its current part, began to run
  std::uint64_t replay_ns_ = 0;  // of matching, up to now
  Tables& t_;
};

}  // namespace ingot::compiler
