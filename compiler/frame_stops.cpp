// What ends a segment: bytes that are read or exposed, the function's return, what it throws.
#include <functional>
#include <string_view>

#include <ingot/compiler/entry.h>
#include <ingot/compiler/frame.h>
#include <ingot/kernels/core/check.h>

namespace ingot::compiler {

int Frame::buffer_of(const Source& source) const {
  const auto i = static_cast<std::size_t>(source.index);
  return source.kind == Source::slot ? t_.slots[i].buffer : t_.results[i].buffer;
}

// The buffer whose bytes the tensor has, or -1 when no op of this call has met them.
int Frame::buffer_of(const TensorImpl& t) {
  if (t.tag.epoch == epoch_) return t_.results[static_cast<std::size_t>(t.tag.result)].buffer;
  return t_.buffer_of(t.storage->stamp);
}

void Frame::observe(Access access, const TensorImpl* t, const char* what, Loc loc) {
  if (state_ == State::eager) return;
  int buffer = t == nullptr ? -1 : buffer_of(*t);
  if (t != nullptr && buffer < 0) return;
  if (!segment_touches(buffer, access == Access::read)) return;
  if (entry_.options().fullgraph) entry_.refuse_cut(what, loc);
  if (state_ == State::replay) {
    if (TrieNode* known = find_stop(TrieNode::cut, access, buffer)) {
      commit_cut(*known);
      return;
    }
  }
  // What is referenced now decides, not what is when the pending ops have run: another thread may
  // let go of results at any time.
  std::unique_ptr<TrieNode> stop = make_stop(TrieNode::cut, access, buffer, loc);
  if (state_ == State::replay) {
    const auto reason = [what] {
      return fmt::format("{} reads or exposes a value where the recorded call did not", what);
    };
    leave_replay(std::hash<std::string_view>()(what) + static_cast<std::uint64_t>(loc.line), reason,
                 loc);
    if (state_ != State::record) return;
  }
  entry_.count_cut(what, loc);
  add_stop(std::move(stop));
}

void Frame::expose(Access access, const Storage& storage) {
  exposes = true;
  const int writes = access == Access::write ? 1 : 0;
  if (t_.exposed.insert(storage.stamp, writes) != writes) *t_.exposed.look_up(storage.stamp) = 1;
}

bool Frame::runs_at_once(const Call& call) {
  const auto at_once = [&](int i) {
    if (call.in[i] == nullptr || !call.in[i]->defined()) return false;
    const int* writes = t_.exposed.look_up(call.in[i]->impl()->storage->stamp);
    return writes != nullptr && (*writes != 0 || i == call.writes);
  };
  bool found = false;
  for (int i = 0; i < call.n_in && !found; ++i) found = at_once(i);
  if (!found) return false;
  if (call.op.kind == OpKind::view || state_ == State::eager) return true;
  if (entry_.options().fullgraph) {
    entry_.refuse_cut(fmt::format("{}, on memory whose address was handed out,", call.op.name),
                      call.loc);
  }
  if (state_ == State::record) entry_.note_at_once(call.op.name, call.loc);
  for (int i = 0; i < call.n_in; ++i) {
    if (call.in[i] == nullptr || !call.in[i]->defined()) continue;
    const Access access = i == call.writes ? Access::write : Access::read;
    observe(access, call.in[i]->impl(), call.op.name, call.loc);
  }
  return true;
}

void Frame::finish() {
  if (state_ == State::eager) return;
  if (state_ == State::replay) {
    if (TrieNode* known = find_stop(TrieNode::end, Access::read, -1)) {
      commit(*known);
      return;
    }
  }
  std::unique_ptr<TrieNode> stop = make_stop(TrieNode::end, Access::read, -1, entry_.loc());
  if (state_ == State::replay) {
    const char* reason = "the call returned, or kept results, where the recorded call did not";
    leave_replay(
        std::hash<std::string_view>()(reason), [reason] { return reason; }, entry_.loc());
    if (state_ != State::record) return;
  }
  add_stop(std::move(stop));
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
  idle = true;
  recorded_ = true;
  private_.clear();
  if (replays) flush();
  entry_.note_eager(why, loc);
}

void Frame::mark_touched(const TrieNode& node) {
  if (node.info->kind == OpKind::view) return;
  for (const Source& source : node.in) {
    if (source.kind != Source::none) t_.buffer(buffer_of(source)).touched = segment_;
  }
  for (const NewResult& r : node.results) {
    t_.buffer(r.buffer).touched = t_.buffer(r.buffer).written = segment_;
  }
}

// Each matched op once, and only when somebody asks.
void Frame::mark_matched() {
  for (; marked_ < t_.matched.size(); ++marked_) mark_touched(*t_.matched[marked_].node);
}

// Whether an op of the segment reads or writes the buffer (-1: any op at all).
bool Frame::segment_touches(int buffer, bool writes_only) {
  if (buffer < 0) return has_ops_ || !t_.matched.empty();
  mark_matched();
  const CallBuffer& b = t_.buffer(buffer);
  return (writes_only ? b.written : b.touched) == segment_;
}

bool Frame::covers(const TrieNode& stop) const {
  for (int b : stop.dropped) {
    if (t_.buffer(b).has_handles()) return false;
  }
  return true;
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

void Frame::next_segment() {
  ++segment_;
  segment_buffers_ = static_cast<int>(t_.buffers.size());
  segment_results_ = static_cast<int>(t_.results.size());
  has_ops_ = false;
}

}  // namespace ingot::compiler
