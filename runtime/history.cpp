// How calls enter the history of their results, and how views and in-place writes keep it right.
#include <algorithm>

#include <ingot/kernels/core/check.h>
#include <ingot/kernels/ops/row.h>
#include <ingot/kernels/ops/structured/views.h>
#include <ingot/runtime/free_list.h>
#include <ingot/runtime/grad_mode.h>
#include <ingot/runtime/internal_ops.h>
#include <ingot/runtime/node.h>

namespace ingot {

AutogradMeta& autograd_meta(TensorImpl& t) {
  if (t.autograd == nullptr) t.autograd = new (take_object<AutogradMeta>()) AutogradMeta;
  return *t.autograd;
}

void destroy(AutogradMeta* meta) noexcept {
  meta->~AutogradMeta();
  give_object<AutogradMeta>(meta);
}

namespace {

bool is_leaf(const TensorImpl& t) { return t.autograd == nullptr || !t.autograd->grad_fn; }

GradientHooks& made(std::unique_ptr<GradientHooks>& hooks) {
  if (hooks == nullptr) hooks = std::make_unique<GradientHooks>();
  return *hooks;
}

// What a tensor retains is the gradient of its values as they are now; what its hooks see is that
// of the values when they were registered. Both as in PyTorch.
void move_retained(AutogradMeta& meta, Node& node, int output) {
  if (meta.grad_fn) made(meta.grad_fn->hooks).stop_retaining(meta.retained);
  made(node.hooks).retain(output, meta.retained);
}

void set_history(TensorImpl& t, Ref<Node> node, int output) {
  AutogradMeta& meta = autograd_meta(t);
  if (meta.retained) [[unlikely]]
    move_retained(meta, *node, output);
  meta.grad_fn = std::move(node);
  meta.output = output;
  if (!t.requires_grad) t.stamp = next_stamp();
  t.requires_grad = true;
  t.view_version = t.storage->version;
}

inline bool differentiable(const OpInfo& op) {
  return op.kind == OpKind::elementwise ? op.gradients != nullptr
                                        : structured_rule(op).vjp != nullptr;
}

int depth_of(const Edge& e) { return e.node ? e.node->depth : 0; }

void set_depth(Node& node) {
  for (const Edge& e : node.edges) node.depth = std::max(node.depth, depth_of(e) + 1);
}

// A view made before a write to its storage has no part in that write's history: its own becomes
// "this window of the base".
void refresh_stale_view(const Tensor& t) {
  TensorImpl& x = t.get();
  if (x.view_version == x.storage->version || !x.base->requires_grad) return;
  Tensor base(x.base);
  Attrs attrs;
  attrs.dims = x.meta.sizes;
  attrs.strides = x.meta.strides;
  attrs.add_scalar(x.offset - x.base->offset);
  const Tensor* in[] = {&base};
  Call call{structured_op<structured::AsStrided>, in, 1, attrs, Loc::here()};
  bool wanted[] = {true};
  Ref<Node> node = make_op_node(call, &t, wanted);
  set_history(x, std::move(node), 0);
}

inline void refresh_view(const Tensor& t) {
  if (t.get().base) refresh_stale_view(t);
}

void record_write_through_view(const Call& call, TensorImpl& window, Ref<Node> inner) {
  INGOT_CHECK(!overlaps_itself(window.meta), "{}: the written view {} overlaps itself",
              call.op.name, describe(window.meta));
  TensorImpl& base = *window.base;
  Edge before = gradient_edge(Tensor(window.base));
  Ref<Node> node = make_window_node(std::move(inner), std::move(before), base, window, call.loc);
  set_depth(*node);
  set_history(base, std::move(node), 0);
  window.view_version = window.storage->version - 1;  // stale: refreshed at its next use
  refresh_view(*call.in[call.writes]);
}

}  // namespace

Edge gradient_edge(const Tensor& t) {
  refresh_view(t);
  return edge_of(t.get());
}

GradientHooks& gradient_hooks(const Tensor& t) {
  AutogradMeta& meta = autograd_meta(t.get());
  return made(meta.grad_fn ? meta.grad_fn->hooks : meta.hooks);
}

void check_write(const Call& call) {
  const Tensor& t = *call.in[call.writes];
  INGOT_CHECK(!overlaps_itself(t.meta()),
              "{}: the written tensor {} shares elements with itself (expanded); clone() it first",
              call.op.name, describe(t.meta()));
  if (!grad_enabled()) return;
  const TensorImpl& x = t.get();
  const TensorImpl& owner = x.base ? *x.base : x;
  INGOT_CHECK(!(owner.requires_grad && is_leaf(owner)),
              "{}: a leaf that requires grad cannot be written in place; use NoGradGuard",
              call.op.name);
}

namespace {

// wanted[i]: operand i gets a gradient. True when any does. *refused: one that requires a gradient
// has no rule.
bool find_wanted(const Call& call, bool* wanted, bool* refused) {
  const OpInfo& op = call.op;
  const bool all = op.kind != OpKind::elementwise, none = !differentiable(op);
  bool any = false;
  for (int i = 0; i < call.n_in; ++i) {
    wanted[i] = false;
    if (call.in[i] == nullptr || !call.in[i]->defined()) continue;
    refresh_view(*call.in[i]);
    const TensorImpl& x = call.in[i]->get();
    if (!x.requires_grad || !is_floating_point(x.meta.dtype)) continue;
    wanted[i] = !none && (all || op.gradients[i].op != nullptr);
    any |= wanted[i];
    *refused |= !wanted[i];
  }
  return any;
}

}  // namespace

bool keep_overwritten(const Call& call, Tensor* kept) {
  // Structured ops that write read only indices for their gradients, which they cannot overwrite.
  const OpInfo& op = call.op;
  if (!grad_enabled() || op.kind != OpKind::elementwise || !differentiable(op)) return false;
  bool wanted[kMaxRowInputs], refused = false;
  if (!find_wanted(call, wanted, &refused) || refused) return false;
  const SaveMask mask = saved_by(op, call.n_in, wanted);
  const Storage* target = call.in[call.writes]->get().storage.get();
  NoGradGuard no_grad;
  bool any = false;
  for (int i = 0; i < call.n_in; ++i) {
    if ((mask >> i & 1) == 0 || call.in[i] == nullptr) continue;
    if (call.in[i]->get().storage.get() != target) continue;
    for (int k = 0; k < i && !kept[i].defined(); ++k) {
      if (kept[k].defined() && call.in[k]->impl() == call.in[i]->impl()) kept[i] = kept[k];
    }
    if (!kept[i].defined()) kept[i] = clone(*call.in[i], call.loc);
    any = true;
  }
  return any;
}

void record_history(const Call& call, Tensor* out) {
  const OpInfo& op = call.op;
  if (call.writes >= 0) ++out[0].get().storage->version;
  bool is_view = op.kind == OpKind::view && !(op == structured_op<structured::Detach>);
  if (is_view) {
    TensorImpl& v = out[0].get();
    const Ref<TensorImpl>& x = call.in[0]->ref();
    v.base = x->base ? x->base : x;
    v.view_version = v.storage->version;
  }
  if (!grad_enabled() || op == structured_op<structured::Detach>) return;
  if (!is_floating_point(out[0].dtype())) return;
  constexpr int kInline = 8;
  bool inline_wanted[kInline];
  std::unique_ptr<bool[]> heap;
  bool* wanted = inline_wanted;
  if (call.n_in > kInline) {
    heap = std::make_unique<bool[]>(static_cast<std::size_t>(call.n_in));
    wanted = heap.get();
  }
  bool refused = false;
  if (!find_wanted(call, wanted, &refused) && !refused) return;
  Ref<Node> node = refused ? make_refusing_node(call) : make_op_node(call, out, wanted);
  if (call.writes >= 0 && out[0].get().base) {
    record_write_through_view(call, out[0].get(), std::move(node));
    return;
  }
  for (int i = 1; i < op.n_out; ++i) {
    if (is_floating_point(out[i].dtype())) set_history(out[i].get(), node, i);
  }
  set_history(out[0].get(), std::move(node), 0);
}

}  // namespace ingot
