// FrameTables: what one call's frame knows of tensors, by their numbers along the recorded path.
// Owns: slots, results and buffers; how a tensor from outside is found again; what keeps storages
// alive while matched ops need them. Must not know: the trie, dispatch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <ingot/compiler/segment.h>
#include <ingot/runtime/place_map.h>
#include <ingot/runtime/storage.h>

namespace ingot::compiler {

struct TrieNode;

// A tensor from outside. What identifies it and its storage is a stamp, so a slot keeps nothing
// alive by itself.
struct Slot {
  std::uint64_t stamp;
  std::uint64_t storage;  // the storage's stamp
  int buffer;
  int segment;  // in which its storage was held last
  i64 offset;
  const Meta* meta;  // the trie's; replay only
};

struct Result {
  int buffer;
  i64 offset;
  const Meta* meta;  // as above
};

// A storage, as long as something needs it: of what the call made, the object until the call ends
// (its bytes go with the last handle); of any other, until the segment ends that uses it.
struct CallBuffer {
  Storage* storage;
  bool produced;             // by an op of this call
  bool held = false;         // its bytes are kept until the segment ends
  bool write_waits = false;  // an op that waits writes it in place
  int touched = -1;          // the last segment with an op that reads or writes it
  int written = -1;          // the last segment with an op that writes it
  int last_use = -1;         // while a segment runs op by op: the last op that touches it

  bool has_handles() const { return storage->use_count() > 0; }
};

struct Matched {
  Matched(const TrieNode* n, Ticket t) : node(n), ticket(t) {}
  const TrieNode* node;
  int attrs = -1;  // place in FrameTables::attrs, or -1: the node's own
  Ticket ticket;
};

// Reused from call to call, so that a replay allocates nothing but what it returns.
class FrameTables {
 public:
  std::vector<Slot> slots;
  std::vector<Result> results;
  std::vector<CallBuffer> buffers;
  std::vector<Matched> matched;
  std::vector<Attrs> attrs;
  int n_attrs = 0;
  Binding binding;
  PlaceMap exposed;  // by the storage's stamp: 1 when exposed for writing, 0 for reading

  CallBuffer& buffer(int b) { return buffers[static_cast<std::size_t>(b)]; }
  const CallBuffer& buffer(int b) const { return buffers[static_cast<std::size_t>(b)]; }

  // The slot of a tensor, or -1.
  int slot_of(std::uint64_t stamp);
  // The buffer of a storage that some slot has, or -1.
  int buffer_of(std::uint64_t storage);
  void add_slot(const Slot& slot);
  // A buffer for what this call's op has made. The thread is the only one to know it yet.
  int add_produced(Storage& storage);
  // A buffer for a storage from outside that nothing needs to keep.
  int add_outside();
  // Keeps the storage until the segment ends.
  void hold(int b, Storage& storage);
  // An op that waits writes the buffer: until it has run, other threads are refused.
  void wait_for_write(int b);

  // Forgets the slots and buffers from these numbers on.
  void cut_back(int n_slots, int n_buffers);
  // Undoes hold() before the segment ends.
  void let_go(CallBuffer& b);
  // What was matched has run, or never will.
  void end_segment();
  void clear();

 private:
  // So many slots are looked through faster than a map.
  static constexpr int kFew = 8;
  int few() const { return std::min(static_cast<int>(slots.size()), kFew); }

  std::vector<int> held_, waiting_writes_;
  PlaceMap slot_places_, storage_places_;  // of the slots from kFew on; entries may be out of date
  bool mapped_ = false;                    // they have entries
};

}  // namespace ingot::compiler
