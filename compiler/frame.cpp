// Matching: a call of a known path hands out pending results.
#include <chrono>

#include <ingot/compiler/entry.h>
#include <ingot/compiler/frame.h>
#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cuda/kernel_launch.h>
#include <ingot/kernels/ops/structured/random.h>
#include <ingot/runtime/env.h>
#include <ingot/runtime/generator.h>

namespace ingot::compiler {

namespace {

constinit thread_local Numbers t_epochs;

FrameTables& thread_tables() {
  thread_local FrameTables tables;
  return tables;
}

}  // namespace

std::uint64_t clock_ns() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

Frame::Frame(Entry& entry, Trie& trie, bool timed)
    : entry_(entry),
      epoch_(t_epochs.next()),
      cursor_(trie.root()),
      timed_(timed),
      mark_(timed ? clock_ns() : 0),
      t_(thread_tables()) {
  if (cursor_->first_child.load(std::memory_order_acquire) != nullptr) {
    state_ = State::replay;
  } else {
    state_ = State::record;
    recorded_ = true;
  }
  anchor_ = cursor_;
  t_interceptor = this;
}

Frame::~Frame() {
  t_interceptor = nullptr;
  t_.clear();
  if (exposes) t_.exposed.clear();
}

Match Frame::match(const Call& call, Tensor* out) {
  if (state_ != State::replay) {
    launches_before_ = cuda::launches_made();
    return Match::no;
  }
  TrieNode* child = cursor_->first_child.load(std::memory_order_acquire);
  const Match match = try_node(*child, call);
  if (match != Match::no && child->kind == TrieNode::op) [[likely]] {
    accept(*child, call, out);
    return match;
  }
  return match_further(*child, match, call, out);
}

// Not the first op below the cursor; `match` is of what is first there.
[[gnu::noinline]] Match Frame::match_further(TrieNode& first, Match match, const Call& call,
                                             Tensor* out) {
  const std::uint64_t operands = operands_key(call);
  for (TrieNode* child = &first; child != nullptr;) {
    if (match != Match::no) {
      if (child->kind == TrieNode::op) {
        accept(*child, call, out);
        return match;
      }
      if (reach(*child, call, out)) return Match::done;
    }
    do {
      child = child->next_sibling.load(std::memory_order_acquire);
    } while (child != nullptr && child->operands != operands);
    if (child != nullptr) match = try_node(*child, call);
  }
  leave_replay(
      difference_key(first, call), [&] { return difference(first, call); }, call.loc);
  launches_before_ = cuda::launches_made();
  return Match::no;
}

[[gnu::always_inline]] inline Match Frame::try_node(const TrieNode& node, const Call& call) {
  // What is no op has no operands either.
  if (node.info != &call.op || node.writes != call.writes || node.n_in != call.n_in) {
    return Match::no;
  }
  if (&call.attrs == &kNoAttrs ? !node.no_attrs : !node.attrs.same_structure(call.attrs)) {
    return Match::no;
  }
  if (call.n_in == 0 && !(node.device == call.device)) return Match::no;
  bool related = false;
  const Source* source = node.in.data();
  for (int i = 0; i < call.n_in; ++i, ++source) {
    const TensorImpl* t = call.in[i] == nullptr ? nullptr : call.in[i]->impl();
    if (t == nullptr) {
      if (source->kind != Source::none) return unbind(node);
      continue;
    }
    const bool known = source->kind == Source::result
                           ? is_result(source->index, *t)
                           : source->kind == Source::slot && t->tag.epoch != epoch_ &&
                                 is_slot(node, source->index, *t);
    if (!known) return unbind(node);
    related |= t->requires_grad | static_cast<bool>(t->base);
  }
  return related ? Match::related : Match::alone;
}

inline bool Frame::is_result(int index, const TensorImpl& t) {
  return t.tag == FrameTag{epoch_, index} && (index >= segment_results_ || hold_result(index, t));
}

inline bool Frame::is_slot(const TrieNode& node, int index, const TensorImpl& t) {
  if (index >= node.first_slot) return bind_slot(node, index, t);
  Slot& slot = t_.slots[static_cast<std::size_t>(index)];
  return slot.stamp == t.stamp && (slot.segment == segment_ || hold_slot(slot, t));
}

// What an earlier segment met, this one needs from here on.
[[gnu::noinline]] bool Frame::hold_slot(Slot& slot, const TensorImpl& t) {
  t_.hold(slot.buffer, *t.storage);
  slot.segment = segment_;
  return true;
}

[[gnu::noinline]] bool Frame::hold_result(int index, const TensorImpl& t) {
  t_.hold(t_.results[static_cast<std::size_t>(index)].buffer, *t.storage);
  return true;
}

// The node is not the call: what was bound on the way is forgotten.
[[gnu::noinline]] Match Frame::unbind(const TrieNode& node) {
  t_.cut_back(node.first_slot, node.first_buffer);
  return Match::no;
}

// A slot that this node's op is the first to use.
bool Frame::bind_slot(const TrieNode& node, int index, const TensorImpl& t) {
  const int bound = static_cast<int>(t_.slots.size());
  if (index < bound) return t_.slots[static_cast<std::size_t>(index)].stamp == t.stamp;
  if (index != bound) return false;
  const NewSlot& fresh = node.new_slots[static_cast<std::size_t>(index - node.first_slot)];
  if (!(fresh.meta == t.meta)) return false;
  Storage& storage = *t.storage;
  if (t_.slot_of(t.stamp) >= 0) return false;
  const int shared = t_.buffer_of(storage.stamp);
  if (fresh.new_buffer ? shared >= 0 : shared != fresh.buffer) return false;
  const bool own_write = shared >= 0 && t_.buffer(shared).write_waits;
  if (!own_write && storage.state.load(std::memory_order_acquire) != ByteState::real) return false;
  if (fresh.new_buffer) t_.add_outside();
  t_.hold(fresh.buffer, storage);
  t_.add_slot({t.stamp, storage.stamp, fresh.buffer, segment_, t.offset, &fresh.meta});
  return true;
}

// A call that was refused where it was recorded. Throws when it is again; true when it has run.
[[gnu::noinline]] bool Frame::reach(TrieNode& node, const Call& call, Tensor* out) {
  if (node.kind == TrieNode::refusal) {
    TrieNode* before = cursor_;
    cursor_ = &node;
    check_call(call);
    cursor_ = before;  // its numbers are other ones: it is not refused
  } else if (covers(node)) {
    commit_cut(node);
    run_beside(call, out);
    return true;
  }
  unbind(node);
  return false;
}

[[gnu::always_inline]] inline void Frame::accept(TrieNode& node, const Call& call, Tensor* out) {
  Ticket ticket;
  if (call.op.kind == OpKind::random) [[unlikely]] {
    const Meta& first = node.results[0].meta;
    ticket = draw_ticket(first.device, structured::blocks_drawn(first));
  }
  t_.matched.emplace_back(&node, ticket);
  if (call.attrs.n_scalars > 0) keep_attrs(call.attrs);
  const NewResult* result = node.results.data();
  FrameTag tag{epoch_, node.first_result};
  for (int r = 0; r < call.op.n_out; ++r, ++result, ++tag.result) {
    if (result->new_buffer) [[likely]] {
      Ref<Storage> storage =
          Storage::pending(static_cast<std::size_t>(result->bytes), result->meta.device);
      t_.add_produced(*storage);
      t_.results.push_back({result->buffer, 0, &result->meta});
      out[r] = Tensor(TensorImpl::create(std::move(storage), result->meta, 0));
    } else {
      accept_shared(node, *result, call, &out[r]);
    }
    out[r].impl()->tag = tag;
  }
  cursor_ = &node;
}

// The scalars are this call's, not the recorded ones.
[[gnu::noinline]] void Frame::keep_attrs(const Attrs& attrs) {
  t_.matched.back().attrs = t_.n_attrs;
  if (static_cast<std::size_t>(t_.n_attrs) == t_.attrs.size()) t_.attrs.emplace_back();
  t_.attrs[static_cast<std::size_t>(t_.n_attrs++)] = attrs;
}

// A result in an operand's memory: a view, or the written operand itself.
[[gnu::noinline]] void Frame::accept_shared(const TrieNode& node, const NewResult& result,
                                            const Call& call, Tensor* out) {
  if (call.writes >= 0) {
    *out = *call.in[call.writes];
    t_.results.push_back({result.buffer, out->impl()->offset, &result.meta});
    t_.wait_for_write(result.buffer);
    return;
  }
  const TensorImpl& x = *call.in[0]->impl();
  i64 offset = x.offset + node.offset_delta;
  if (node.offset_scale != 0) offset += node.offset_scale * call.attrs.s[0].to_int();
  t_.results.push_back({result.buffer, offset, &result.meta});
  *out = Tensor(TensorImpl::create(x.storage, result.meta, offset));
}

void Frame::leave_replay(std::uint64_t key, const std::function<std::string()>& reason, Loc loc) {
  // If what was matched cannot run, the rest of this call is eager.
  state_ = State::eager;
  recorded_ = true;
  mark_matched();
  has_ops_ |= !t_.matched.empty();
  flush();
  bool limit = !entry_.may_record();
  idle = limit;
  entry_.count_miss(key, reason, loc, limit);
  if (limit) return;
  state_ = State::record;
  anchor_ = cursor_;
}

}  // namespace ingot::compiler
