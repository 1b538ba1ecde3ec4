// Trie: what a compiled function has been seen to do: a tree of ops, cuts and ends.
// Owns: nodes, how a call is compared with one, publication to other threads (append only). Holds
// no tensor and no storage. Must not know: frames.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ingot/compiler/plan.h>
#include <ingot/runtime/dispatch.h>

namespace ingot::compiler {

// Where an operand comes from. Indices run along the whole path from the root.
struct Source {
  enum Kind : std::uint8_t { none, slot, result };  // none: a host scalar, or left out
  Kind kind = none;
  int index = 0;
  bool operator==(const Source&) const = default;
};

// A tensor from outside (an argument or a capture) where it is first met.
struct NewSlot {
  Meta meta;
  int buffer;       // equal for slots that share a storage
  bool new_buffer;  // the first slot of its storage
  bool operator==(const NewSlot&) const = default;
};

struct NewResult {
  Meta meta;
  int buffer;
  bool new_buffer;  // no view and not in place
  i64 bytes;        // of a new buffer
  bool operator==(const NewResult&) const = default;
};

// A plan, and how its segment's values and buffers map to the path's.
struct SegmentPlan {
  std::unique_ptr<Plan> plan;
  std::vector<int> buffers;    // by segment buffer: path buffer
  std::vector<Source> values;  // by segment value
};

struct TrieNode {
  enum Kind : std::uint8_t {
    root,
    op,
    refusal,  // an op that its check refused, and the function went on: no result, no break
    fault,    // an op whose kernel refused the bytes, likewise: what waits runs, then the op alone
    cut,      // bytes or device order were observed
    end,
  };
  Kind kind = root;
  Device device;          // of what is compared with a call: op, refusal, fault
  bool no_attrs = false;  // `attrs` is empty
  int n_in = -1;          // the size of `in`; -1: not compared with calls
  int writes = -1;

  bool is_stop() const { return kind >= fault; }

  // Links come early: a replay walks them.
  std::atomic<TrieNode*> first_child{nullptr};
  std::atomic<TrieNode*> next_sibling{nullptr};
  TrieNode* parent = nullptr;
  std::uint64_t operands = 0;  // op: operands_key() of its call

  // op, refusal, fault
  const OpInfo* info = nullptr;
  int launches = 1;  // that the device started for it where it was recorded
  std::vector<Source> in;
  std::vector<NewResult> results;
  std::vector<NewSlot> new_slots;
  i64 offset_delta = 0;  // views: elements, for the recorded scalars
  i64 offset_scale = 0;  // views: elements for each unit of scalar 0, when it has one
  // Counts along the path before this node.
  int first_slot = 0, first_result = 0, first_buffer = 0, depth = 0;
  Attrs attrs;
  Loc loc = Loc::here();

  // Stops: what was observed, and which of the buffers that the segment produces hold bytes after
  // it.
  Access access = Access::read;
  int observed_buffer = -1;  // -1: everything (device order)
  std::vector<int> kept;     // in ascending order
  std::vector<int> dropped;  // the others
  SegmentPlan plan;

  // Whether a call that reaches one has reached the other, given the same parent.
  bool same_step(const TrieNode& o) const;
};

class Trie {
 public:
  Trie();
  ~Trie();
  Trie(const Trie&) = delete;
  TrieNode* root() { return root_; }

  using Chain = std::vector<std::unique_ptr<TrieNode>>;  // each the parent of the next
  // Goes down from `at` along the nodes of the chain that are known there, and takes these from the
  // chain. Returns where the rest belongs.
  static TrieNode* skip_known(TrieNode* at, Chain* chain);
  // Makes a chain visible below `at`, but for the first that are there already, and says how many
  // these are. The caller holds the entry's mutex; readers need none.
  static std::size_t publish(TrieNode* at, Chain chain);
  // The nodes of a trie with one path, which nobody else reads; afterwards it has none.
  Chain take_path();

 private:
  TrieNode* root_;
};

// A sentence on how the call differs from the node ("sizes of operand 1: [64, 64] here, ...").
std::string difference(const TrieNode& node, const Call& call);
// A number for the operands' metadata: calls that match one node have the same.
std::uint64_t operands_key(const Call& call);
// Stands for that sentence: equal for calls of which it says the same.
std::uint64_t difference_key(const TrieNode& node, const Call& call);

// Builds the segment of the ops between two commits: the path nodes in order, first to last.
struct BuiltSegment {
  Segment segment;
  std::vector<int> buffers;
  std::vector<Source> values;
};
// kept: the path buffers that outlive it, ascending.
BuiltSegment build_segment(const std::vector<const TrieNode*>& ops, const std::vector<int>& kept,
                           const std::vector<NewSlot>& slots,
                           const std::vector<NewResult>& results);

}  // namespace ingot::compiler
