// Matching, recording and stops. What a stop executes is in frame_commit.cpp.
#include <algorithm>
#include <atomic>
#include <chrono>

#include <ingot/compiler/entry.h>
#include <ingot/compiler/frame.h>
#include <ingot/kernels/core/check.h>
#include <ingot/kernels/ops/structured/random.h>
#include <ingot/kernels/ops/structured/views.h>
#include <ingot/runtime/env.h>
#include <ingot/runtime/generator.h>

namespace ingot::compiler {

namespace {

constinit thread_local Numbers t_epochs;

Frame::Tables& thread_tables() {
  thread_local Frame::Tables tables;
  return tables;
}

}  // namespace

std::uint64_t clock_ns() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

namespace {

i64 bytes_of(const Meta& m) { return m.numel() * item_size(m.dtype); }

// Elements that a view moves for each unit of its run-time start.
i64 start_stride(const Call& call) {
  const Meta& x = call.in[0]->meta();
  if (call.op == structured_op<structured::AsStrided>) return 1;
  if (call.op == structured_op<structured::Slice>) {
    return call.attrs.c == 0 ? 0 : x.strides[static_cast<int>(call.attrs.a)];
  }
  return call.op == structured_op<structured::Select> ? x.strides[static_cast<int>(call.attrs.a)]
                                                      : 0;
}

}  // namespace

void Frame::Tables::clear() {
  slots.clear();
  results.clear();
  buffers.clear();
  matched.clear();
  n_attrs = 0;
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
    state_ = entry_.may_record() ? State::record : State::eager;
    if (state_ == State::eager) {
      entry_.count_miss(!env().compile      ? "INGOT_COMPILE=0: the call was eager"
                        : trie.miss.empty() ? "no path of these arguments was recorded to its end"
                                            : trie.miss,
                        entry_.loc(), true);
    }
    recorded_ = true;
  }
  anchor_ = cursor_;
  t_interceptor = this;
}

Frame::~Frame() {
  t_interceptor = nullptr;
  t_.clear();
}

// --- replay
// ---------------------------------------------------------------------------------------

Match Frame::match(const Call& call, Tensor* out) {
  if (state_ != State::replay) return Match::no;
  TrieNode* child = cursor_->first_child.load(std::memory_order_acquire);
  TrieNode* nearest = child;
  for (; child != nullptr; child = child->next_sibling.load(std::memory_order_acquire)) {
    const Match match = try_node(*child, call);
    if (match != Match::no) [[likely]] {
      accept(*child, call, out);
      return match;
    }
  }
  leave_replay(difference(*nearest, call), call.loc);
  return Match::no;
}

[[gnu::always_inline]] inline Match Frame::try_node(const TrieNode& node, const Call& call) {
  // A stop has no op, and no operands.
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
                           ? t->tag == FrameTag{epoch_, source->index}
                           : source->kind == Source::slot && t->tag.epoch != epoch_ &&
                                 is_slot(node, source->index, *t);
    if (!known) return unbind(node);
    related |= t->requires_grad | static_cast<bool>(t->base);
  }
  return related ? Match::related : Match::alone;
}

inline bool Frame::is_slot(const TrieNode& node, int index, const TensorImpl& t) {
  if (index >= node.first_slot) return bind_slot(node, index, t);
  return t_.slots[static_cast<std::size_t>(index)].stamp == t.stamp;
}

// The node is not the call: what was bound on the way is forgotten.
[[gnu::noinline]] Match Frame::unbind(const TrieNode& node) {
  t_.slots.resize(static_cast<std::size_t>(node.first_slot));
  while (t_.buffers.size() > static_cast<std::size_t>(node.first_buffer)) t_.buffers.pop_back();
  return Match::no;
}

// A slot that this node's op is the first to use.
bool Frame::bind_slot(const TrieNode& node, int index, const TensorImpl& t) {
  const int bound = static_cast<int>(t_.slots.size());
  if (index < bound) return t_.slots[static_cast<std::size_t>(index)].stamp == t.stamp;
  if (index != bound) return false;
  const NewSlot& fresh = node.new_slots[static_cast<std::size_t>(index - node.first_slot)];
  if (!(fresh.meta == t.meta)) return false;
  const Storage* storage = t.storage.get();
  if (storage->state.load(std::memory_order_acquire) != ByteState::real) return false;
  int shared = -1;
  for (const Slot& s : t_.slots) {
    if (s.stamp == t.stamp) return false;
    if (s.storage == storage) shared = s.buffer;
  }
  if (fresh.new_buffer ? shared >= 0 : shared != fresh.buffer) return false;
  t_.slots.push_back({t.stamp, storage, fresh.buffer, t.offset, &fresh.meta});
  if (fresh.new_buffer) t_.buffers.push_back(BufferRef::outside(t.storage));
  return true;
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
      t_.buffers.push_back(BufferRef::made(*storage));
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
    return;
  }
  const TensorImpl& x = *call.in[0]->impl();
  i64 offset = x.offset + node.offset_delta;
  if (node.offset_scale != 0) offset += node.offset_scale * call.attrs.s[0].to_int();
  t_.results.push_back({result.buffer, offset, &result.meta});
  *out = Tensor(TensorImpl::create(x.storage, result.meta, offset));
}

void Frame::leave_replay(const std::string& reason, Loc loc) {
  // If what was matched cannot run, the rest of this call is eager.
  state_ = State::eager;
  recorded_ = true;
  flush();
  bool limit = !entry_.may_record();
  entry_.count_miss(reason, loc, limit);
  if (limit) return;
  state_ = State::record;
  anchor_ = cursor_;
}

// --- record
// ---------------------------------------------------------------------------------------

Source Frame::source_of(const Tensor& t, TrieNode& node) {
  const TensorImpl& x = t.get();
  if (x.tag.epoch == epoch_) return {Source::result, x.tag.result};
  int shared = -1;
  for (std::size_t i = 0; i < t_.slots.size(); ++i) {
    if (t_.slots[i].stamp == x.stamp) return {Source::slot, static_cast<int>(i)};
    if (t_.slots[i].storage == x.storage.get()) shared = t_.slots[i].buffer;
  }
  bool new_buffer = shared < 0;
  int buffer = new_buffer ? static_cast<int>(t_.buffers.size()) : shared;
  if (new_buffer) t_.buffers.push_back(BufferRef::outside(x.storage));
  t_.slots.push_back({x.stamp, x.storage.get(), buffer, x.offset, nullptr});
  node.new_slots.push_back({x.meta, buffer, new_buffer});
  return {Source::slot, static_cast<int>(t_.slots.size()) - 1};
}

void Frame::executed(const Call& call, const Tensor* out, Ticket) {
  if (state_ != State::record) return;
  auto node = std::make_unique<TrieNode>();
  node->kind = TrieNode::op;
  node->loc = call.loc;
  node->info = &call.op;
  node->attrs = call.attrs;
  node->writes = call.writes;
  node->device = call.device;
  node->n_in = call.n_in;
  node->no_attrs = kNoAttrs.same_structure(call.attrs);
  node->first_buffer = static_cast<int>(t_.buffers.size());
  node->first_slot = static_cast<int>(t_.slots.size());
  node->first_result = static_cast<int>(t_.results.size());
  for (int i = 0; i < call.n_in; ++i) {
    bool present = call.in[i] != nullptr && call.in[i]->defined();
    node->in.push_back(present ? source_of(*call.in[i], *node) : Source{});
  }
  for (int r = 0; r < call.op.n_out; ++r) add_result(call, r, out[r], *node);
  append(std::move(node));
}

void Frame::add_result(const Call& call, int r, const Tensor& out, TrieNode& node) {
  TensorImpl& y = out.get();
  NewResult result{y.meta, -1, false, 0};
  bool in_place = call.writes >= 0 && r == 0;
  if (in_place || call.op.kind == OpKind::view) {
    const Source& source = node.in[static_cast<std::size_t>(in_place ? call.writes : 0)];
    auto i = static_cast<std::size_t>(source.index);
    result.buffer = source.kind == Source::slot ? t_.slots[i].buffer : t_.results[i].buffer;
    if (!in_place) {
      node.offset_scale = call.attrs.n_scalars > 0 ? start_stride(call) : 0;
      node.offset_delta = y.offset - call.in[0]->impl()->offset;
      if (node.offset_scale != 0) {
        node.offset_delta -= node.offset_scale * call.attrs.s[0].to_int();
      }
    }
  } else {
    result.buffer = static_cast<int>(t_.buffers.size());
    result.new_buffer = true;
    result.bytes = bytes_of(y.meta);
    t_.buffers.push_back(BufferRef::made(*y.storage));
  }
  t_.results.push_back({result.buffer, y.offset, nullptr});
  y.tag = {epoch_, node.first_result + r};
  node.results.push_back(std::move(result));
}

void Frame::append(std::unique_ptr<TrieNode> node) {
  node->parent = cursor_;
  node->depth = cursor_->depth + 1;
  cursor_ = node.get();
  private_.push_back(std::move(node));
}

// --- stops
// ----------------------------------------------------------------------------------------

void Frame::observe(Access access, const Storage* storage, const char* what, Loc loc) {
  if (state_ == State::eager) return;
  int buffer = storage == nullptr ? -1 : buffer_of(storage);
  if (storage != nullptr && buffer < 0) return;
  if (!segment_touches(buffer, access == Access::read)) return;
  if (entry_.options().fullgraph) entry_.refuse_cut(what, loc);
  if (state_ == State::replay) {
    if (TrieNode* stop = find_stop(TrieNode::cut, access, buffer)) {
      commit_cut(*stop);
      cursor_ = stop;
      segment_buffers_ = static_cast<int>(t_.buffers.size());
      return;
    }
    leave_replay(fmt::format("{} reads or exposes a value where the recorded call did not", what),
                 loc);
    if (state_ != State::record) return;
  }
  entry_.count_cut(what, loc);
  add_stop(TrieNode::cut, access, buffer, loc);
}

// The function may catch what the commit throws and go on: the path that was recorded says nothing
// about that, so the rest of the call is eager.
void Frame::commit_cut(const TrieNode& stop) {
  try {
    commit(stop);
  } catch (...) {
    state_ = State::eager;
    recorded_ = true;
    flush();  // what did not get as far as running, if anything
    throw;
  }
}

void Frame::finish() {
  if (state_ == State::replay) {
    if (TrieNode* stop = find_stop(TrieNode::end, Access::read, -1)) {
      commit(*stop);
      return;
    }
    leave_replay("the call returned, or kept results, where the recorded call did not",
                 entry_.loc());
  }
  if (state_ != State::record) return;
  add_stop(TrieNode::end, Access::read, -1, entry_.loc());
  publish();
}

void Frame::abort() noexcept {
  if (state_ != State::replay) return;
  state_ = State::eager;
  try {
    flush();
  } catch (...) {
    // What could not run is poisoned; the exception on its way out stays the one that counts.
  }
}

void Frame::leave(const char* why, Loc loc) {
  if (state_ == State::eager) return;
  const bool replays = state_ == State::replay;
  state_ = State::eager;
  recorded_ = true;
  private_.clear();
  if (replays) flush();
  entry_.note_eager(why, loc);
}

void Frame::add_stop(TrieNode::Kind kind, Access access, int observed_buffer, Loc loc) {
  auto node = std::make_unique<TrieNode>();
  node->kind = kind;
  node->loc = loc;
  node->access = access;
  node->observed_buffer = observed_buffer;
  node->live = live_buffers();
  for (std::size_t b = static_cast<std::size_t>(segment_buffers_); b < t_.buffers.size(); ++b) {
    if (!t_.buffers[b].produced) continue;
    (node->live[b] ? node->kept : node->dropped).push_back(static_cast<int>(b));
  }
  append(std::move(node));
  segment_buffers_ = static_cast<int>(t_.buffers.size());
}

std::vector<bool> Frame::live_buffers() const {
  std::vector<bool> live(t_.buffers.size(), false);
  for (std::size_t b = static_cast<std::size_t>(segment_buffers_); b < live.size(); ++b) {
    live[b] = t_.buffers[b].produced && t_.buffers[b].has_handles();
  }
  return live;
}

bool Frame::covers(const TrieNode& stop) const {
  for (int b : stop.dropped) {
    if (t_.buffers[static_cast<std::size_t>(b)].has_handles()) return false;
  }
  return true;
}

int Frame::buffer_of(const Storage* storage) const {
  for (std::size_t b = 0; b < t_.buffers.size(); ++b) {
    if (t_.buffers[b].storage == storage) return static_cast<int>(b);
  }
  return -1;
}

bool Frame::segment_touches(int buffer, bool writes_only) const {
  for (const TrieNode* n = cursor_; n->kind == TrieNode::op; n = n->parent) {
    if (buffer < 0) return true;
    bool view = n->info->kind == OpKind::view;
    for (const NewResult& r : n->results) {
      if (!view && r.buffer == buffer) return true;
    }
    if (writes_only || view) continue;
    for (const Source& s : n->in) {
      if (s.kind == Source::none) continue;
      auto i = static_cast<std::size_t>(s.index);
      if ((s.kind == Source::slot ? t_.slots[i].buffer : t_.results[i].buffer) == buffer) {
        return true;
      }
    }
  }
  return false;
}

// The stop below the cursor that keeps every buffer which is still referenced, and fewest others.
TrieNode* Frame::find_stop(TrieNode::Kind kind, Access access, int observed_buffer) const {
  TrieNode* best = nullptr;
  for (TrieNode* c = cursor_->first_child.load(std::memory_order_acquire); c != nullptr;
       c = c->next_sibling.load(std::memory_order_acquire)) {
    if (c->kind != kind || c->access != access || c->observed_buffer != observed_buffer) continue;
    if (covers(*c) && (best == nullptr || c->kept.size() < best->kept.size())) best = c;
  }
  return best;
}

void Frame::publish() {
  build_plans();
  entry_.publish(anchor_, std::move(private_));
  private_.clear();
}

void Frame::build_plans() {
  // The path from the root, to know every slot and result by number.
  std::vector<const TrieNode*> path;
  for (const TrieNode* n = cursor_; n != nullptr; n = n->parent) path.push_back(n);
  std::reverse(path.begin(), path.end());
  std::vector<NewSlot> slots;
  std::vector<NewResult> results;
  std::vector<const TrieNode*> ops;
  for (const TrieNode* n : path) {
    slots.insert(slots.end(), n->new_slots.begin(), n->new_slots.end());
    results.insert(results.end(), n->results.begin(), n->results.end());
    if (n->kind == TrieNode::op) {
      ops.push_back(n);
    } else {
      bool is_private = std::any_of(private_.begin(), private_.end(),
                                    [&](const auto& p) { return p.get() == n; });
      if (is_private && n->kind != TrieNode::root) {
        BuiltSegment built = build_segment(ops, n->live, slots, results);
        auto* stop = const_cast<TrieNode*>(n);
        stop->plan = {entry_.build_plan(std::move(built.segment)), std::move(built.buffers),
                      std::move(built.values)};
      }
      ops.clear();
    }
  }
}

}  // namespace ingot::compiler
