// Trie: what a compiled function has been seen to do: a tree of ops, cuts and ends.
// Owns: nodes, how a call is compared with one, publication to other threads (append only). Holds
// no tensor and no storage. Must not know: frames.
#pragma once

#include <atomic>
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
};

struct NewResult {
  Meta meta;
  int buffer;
  bool new_buffer;  // no view and not in place
  i64 bytes;        // of a new buffer
};

// A plan, and how its segment's values and buffers map to the path's.
struct SegmentPlan {
  std::unique_ptr<Plan> plan;
  std::vector<int> buffers;    // by segment buffer: path buffer
  std::vector<Source> values;  // by segment value
};

struct TrieNode {
  enum Kind : std::uint8_t { root, op, cut, end };
  Kind kind = root;
  Device device;          // op
  bool no_attrs = false;  // op: `attrs` is empty
  int n_in = -1;          // op: the size of `in`
  int writes = -1;

  // Links come early: a replay walks them.
  std::atomic<TrieNode*> first_child{nullptr};
  std::atomic<TrieNode*> next_sibling{nullptr};
  TrieNode* parent = nullptr;

  // op
  const OpInfo* info = nullptr;
  std::vector<Source> in;
  std::vector<NewResult> results;
  std::vector<NewSlot> new_slots;
  i64 offset_delta = 0;  // views: elements, for the recorded scalars
  i64 offset_scale = 0;  // views: elements for each unit of scalar 0, when it has one
  // Counts along the path before this node.
  int first_slot = 0, first_result = 0, first_buffer = 0, depth = 0;
  Attrs attrs;
  Loc loc = Loc::here();

  // cut and end: what was observed, and the produced buffers that must hold bytes after it.
  Access access = Access::read;
  int observed_buffer = -1;  // -1: everything (device order)
  std::vector<bool> live;    // by path buffer
  std::vector<int> kept;     // the live ones
  std::vector<int> dropped;  // the others that the segment produces
  SegmentPlan plan;
};

class Trie {
 public:
  Trie();
  ~Trie();
  Trie(const Trie&) = delete;
  TrieNode* root() { return root_; }
  // Of a trie for one call: how the call's arguments differ from the known ones.
  std::string miss;

  // Makes a chain of nodes (each the parent of the next) visible below `at`. The caller holds the
  // entry's mutex; readers need none.
  static void publish(TrieNode* at, std::vector<std::unique_ptr<TrieNode>> chain);

 private:
  TrieNode* root_;
};

// A sentence on how the call differs from the node ("sizes of operand 1: [64, 64] here, ...").
std::string difference(const TrieNode& node, const Call& call);

// Builds the segment of the ops between two commits: the path nodes in order, first to last.
struct BuiltSegment {
  Segment segment;
  std::vector<int> buffers;
  std::vector<Source> values;
};
BuiltSegment build_segment(const std::vector<const TrieNode*>& ops, const std::vector<bool>& live,
                           const std::vector<NewSlot>& slots,
                           const std::vector<NewResult>& results);

}  // namespace ingot::compiler
