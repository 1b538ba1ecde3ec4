// Recording: ops that ran become nodes, and a recorded call gets its plans.
#include <algorithm>

#include <ingot/compiler/entry.h>
#include <ingot/compiler/frame.h>
#include <ingot/kernels/cuda/kernel_launch.h>
#include <ingot/kernels/ops/structured/views.h>

namespace ingot::compiler {

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

Source Frame::source_of(const Tensor& t, TrieNode& node) {
  const TensorImpl& x = t.get();
  if (x.tag.epoch == epoch_) return {Source::result, x.tag.result};
  if (const int known = t_.slot_of(x.stamp); known >= 0) return {Source::slot, known};
  const int shared = t_.buffer_of(x.storage->stamp);
  const int buffer = shared < 0 ? t_.add_outside() : shared;
  t_.add_slot({x.stamp, x.storage->stamp, buffer, segment_, x.offset, nullptr});
  node.new_slots.push_back({x.meta, buffer, shared < 0});
  return {Source::slot, static_cast<int>(t_.slots.size()) - 1};
}

// The node without results.
std::unique_ptr<TrieNode> Frame::node_of(TrieNode::Kind kind, const Call& call) {
  auto node = std::make_unique<TrieNode>();
  node->kind = kind;
  node->loc = call.loc;
  node->info = &call.op;
  node->attrs = call.attrs;
  node->writes = call.writes;
  node->device = call.device;
  node->n_in = call.n_in;
  node->operands = operands_key(call);
  node->no_attrs = kNoAttrs.same_structure(call.attrs);
  node->first_buffer = static_cast<int>(t_.buffers.size());
  node->first_slot = static_cast<int>(t_.slots.size());
  node->first_result = static_cast<int>(t_.results.size());
  for (int i = 0; i < call.n_in; ++i) {
    bool present = call.in[i] != nullptr && call.in[i]->defined();
    node->in.push_back(present ? source_of(*call.in[i], *node) : Source{});
  }
  return node;
}

void Frame::executed(const Call& call, const Tensor* out, Ticket) {
  if (state_ != State::record) return;
  std::unique_ptr<TrieNode> node = node_of(TrieNode::op, call);
  for (int r = 0; r < call.op.n_out; ++r) add_result(call, r, out[r], *node);
  if (call.op.n_out > 0 && out[0].device().is_cuda()) {
    node->launches = static_cast<int>(cuda::launches_made() - launches_before_);
  }
  mark_touched(*node);
  has_ops_ = true;
  append(std::move(node));
}

void Frame::refused(const Call& call, bool by_data) {
  if (state_ != State::record) return;
  if (!by_data) {
    append(node_of(TrieNode::refusal, call));
    return;
  }
  // A function that may not be cut has no such path.
  if (entry_.options().fullgraph) return;
  std::unique_ptr<TrieNode> node = node_of(TrieNode::fault, call);
  entry_.count_cut(call.op.name, call.loc);
  describe_stop(*node, Access::device_order, -1, call.loc);
  add_stop(std::move(node));
}

void Frame::add_result(const Call& call, int r, const Tensor& out, TrieNode& node) {
  TensorImpl& y = out.get();
  NewResult result{y.meta, -1, false, 0};
  bool in_place = call.writes >= 0 && r == 0;
  if (in_place || call.op.kind == OpKind::view) {
    result.buffer = buffer_of(node.in[static_cast<std::size_t>(in_place ? call.writes : 0)]);
    if (!in_place) {
      node.offset_scale = call.attrs.n_scalars > 0 ? start_stride(call) : 0;
      node.offset_delta = y.offset - call.in[0]->impl()->offset;
      if (node.offset_scale != 0) {
        node.offset_delta -= node.offset_scale * call.attrs.s[0].to_int();
      }
    }
  } else {
    result.buffer = t_.add_produced(*y.storage);
    result.new_buffer = true;
    result.bytes = bytes_of(y.meta);
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

void Frame::describe_stop(TrieNode& node, Access access, int observed_buffer, Loc loc) {
  node.loc = loc;
  node.access = access;
  node.observed_buffer = observed_buffer;
  for (int b = segment_buffers_; b < static_cast<int>(t_.buffers.size()); ++b) {
    const CallBuffer& buffer = t_.buffer(b);
    if (buffer.produced) (buffer.has_handles() ? node.kept : node.dropped).push_back(b);
  }
}

std::unique_ptr<TrieNode> Frame::make_stop(TrieNode::Kind kind, Access access, int observed_buffer,
                                           Loc loc) {
  auto node = std::make_unique<TrieNode>();
  node->kind = kind;
  describe_stop(*node, access, observed_buffer, loc);
  return node;
}

void Frame::add_stop(std::unique_ptr<TrieNode> stop) {
  append(std::move(stop));
  next_segment();
}

// Another call, of this thread or of another one, may have recorded the same by now.
void Frame::publish() {
  anchor_ = Trie::skip_known(anchor_, &private_);
  if (private_.empty()) return;
  build_plans();
  entry_.publish(anchor_, std::move(private_));
  private_.clear();
}

void Frame::build_plans() {
  // The path from the root, to know every slot and result by number.
  std::vector<TrieNode*> path;
  for (TrieNode* n = cursor_; n != nullptr; n = n->parent) path.push_back(n);
  std::reverse(path.begin(), path.end());
  std::vector<NewSlot> slots;
  std::vector<NewResult> results;
  std::vector<const TrieNode*> ops;
  for (TrieNode* n : path) {
    slots.insert(slots.end(), n->new_slots.begin(), n->new_slots.end());
    results.insert(results.end(), n->results.begin(), n->results.end());
    if (n->kind == TrieNode::op) ops.push_back(n);
    if (!n->is_stop()) continue;
    if (n->depth > anchor_->depth) {  // this call's
      BuiltSegment built = build_segment(ops, n->kept, slots, results);
      n->plan = {entry_.build_plan(std::move(built.segment)), std::move(built.buffers),
                 std::move(built.values)};
    }
    ops.clear();
  }
}

}  // namespace ingot::compiler
