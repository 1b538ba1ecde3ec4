// The node of one op: gradient rules of elementwise rows (rows again) and of structured rows.
#include <algorithm>
#include <bit>

#include <ingot/kernels/core/check_at.h>
#include <ingot/kernels/ops/row.h>
#include <ingot/runtime/free_list.h>
#include <ingot/runtime/internal_ops.h>
#include <ingot/runtime/node.h>

namespace ingot {

namespace {

// A saved result may not own the node that saves it: it is kept as an alias without history.
// is_new: the op has just made the storage, nobody else knows it yet.
Tensor alias(const Tensor& t, bool is_new) {
  const TensorImpl& x = t.get();
  Ref<TensorImpl> copy =
      TensorImpl::create(is_new ? x.storage->share_private() : x.storage, x.meta, x.offset);
  copy->tag = x.tag;
  copy->view_version = x.view_version;
  return Tensor(std::move(copy));
}

class OpNode final : public Node {
 public:
  OpNode(const Call& call, const Tensor* out, const bool* wanted)
      : Node(call.op, call.attrs, call.loc, call.n_in),
        saved_in_(call.n_in),
        saved_out_(call.op.n_out) {
    const bool elementwise = op.kind == OpKind::elementwise;
    const int n = call.n_in;
    bool any_stretched = false;
    for (int i = 0; i < n; ++i) {
      if (call.in[i] == nullptr || !call.in[i]->defined()) {
        absent_ |= 1u << i;  // only ops of few operands leave one out
        continue;
      }
      if (!wanted[i]) continue;
      TensorImpl& x = *call.in[i]->impl();
      edges[i] = edge_of(x);
      if (edges[i].node) depth = std::max(depth, edges[i].node->depth);
      any_stretched |= n > 1 && !(x.meta.sizes == out[0].impl()->meta.sizes);
    }
    ++depth;
    // The gradient of an elementwise op needs no geometry where nothing was broadcast.
    if (!elementwise || any_stretched) {
      metas_ = std::make_unique<Meta[]>(static_cast<std::size_t>(n));
      for (int i = 0; i < n; ++i) {
        if (call.in[i] != nullptr && call.in[i]->defined()) metas_[at(i)] = call.in[i]->meta();
      }
    }
    const SaveMask mask = saved_by(op, n, wanted);
    if (mask == 0) return;
    for (int i = 0; i < std::min(n, kOut0); ++i) {
      if ((mask >> i & 1) == 0 || (absent_ >> i & 1) != 0) continue;
      const bool overwritten = call.overwritten != nullptr && call.overwritten[i].defined();
      saved_in_[i].tensor = overwritten ? call.overwritten[i] : *call.in[i];
      saved_in_[i].version = saved_in_[i].tensor.get().storage->version;
    }
    if (mask >> kOut0 == 0) return;
    const bool makes_results = op.kind != OpKind::view && call.writes < 0;
    for (int i = 0; i < call.op.n_out; ++i) {
      if ((mask >> (kOut0 + i) & 1) == 0) continue;
      saved_out_[i].tensor = alias(out[i], makes_results);
      saved_out_[i].version = out[i].get().storage->version;
    }
  }

  static void* operator new(std::size_t) { return take_object<OpNode>(); }
  static void operator delete(void* memory) noexcept { give_object<OpNode>(memory); }

  void apply(const Tensor* dy, Tensor* grads, const BackwardCall& call) override {
    if (op.kind == OpKind::elementwise) {
      apply_elementwise(dy[0], grads, call);  // each op is told the line
    } else {
      LineScope line(loc);
      Rule rule(*this, dy, grads, call);
      structured_rule(op).vjp(rule);
    }
    if (call.keep) return;
    for (SavedTensor& s : saved_in_) s.tensor = Tensor();
    for (SavedTensor& s : saved_out_) s.tensor = Tensor();
    released_ = true;
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  int n_in() const { return edges.size(); }

  const Tensor& unpack(const SavedTensor& s, const BackwardCall& call) const {
    INGOT_CHECK_AT("backward", call.loc, !released_,
                   "the values saved by {} (at {}) were freed by an earlier backward(); pass "
                   "retain_graph = true to it",
                   op.name, to_string(loc));
    INGOT_CHECK_AT("backward", call.loc,
                   !s.tensor.defined() || s.tensor.get().storage->version == s.version,
                   "{} (at {}) needs {}, which was overwritten in place after it", op.name,
                   to_string(loc), describe(s.tensor.meta()));
    return s.tensor;
  }

  // Gradient K is a row over a subset of (inputs, result, dy); a scalar operand stays a scalar.
  void apply_elementwise(const Tensor& dy, Tensor* grads, const BackwardCall& call) {
    const int n = n_in();
    for (int k = 0; k < n; ++k) {
      if (!edges[k]) continue;
      const GradientRow& row = op.gradients[k];
      grads[k] = row.passes ? dy : gradient(row, dy, call);
      if (metas_ != nullptr) grads[k] = sum_to_size(grads[k], metas_[at(k)].sizes, loc);
    }
  }

  Tensor gradient(const GradientRow& row, const Tensor& dy, const BackwardCall& call) {
    const int n = n_in();
    const Tensor* operands[kMaxRowInputs];
    if (absent_ == 0) {
      int count = 0;
      for (unsigned uses = row.uses; uses != 0; uses &= uses - 1) {
        const int i = std::countr_zero(uses);
        operands[count++] = i < n    ? &unpack(saved_in_[i], call)
                            : i == n ? &unpack(saved_out_[0], call)
                                     : &dy;
      }
      return dispatch({*row.op, operands, count, kNoAttrs, loc});
    }
    Attrs row_attrs;
    int count = 0, scalar = 0;
    for (int i = 0; i < n + 2; ++i) {
      bool is_scalar = i < n && (absent_ >> i & 1) != 0;
      if ((row.uses >> i & 1) != 0) {
        operands[count++] = is_scalar ? nullptr
                            : i < n   ? &unpack(saved_in_[i], call)
                            : i == n  ? &unpack(saved_out_[0], call)
                                      : &dy;
        if (is_scalar) row_attrs.add_scalar(attrs.s[scalar]);
      }
      if (is_scalar) ++scalar;
    }
    return dispatch({*row.op, operands, count, row_attrs, loc});
  }

  struct Rule final : Vjp<Tensor> {
    Rule(const OpNode& n, const Tensor* d, Tensor* g, const BackwardCall& c)
        : Vjp<Tensor>(n.attrs), node(n), grads(d), results(g), call(c) {}
    Tensor in(int i) const override { return node.unpack(node.saved_in_[i], call); }
    Tensor out(int i) const override { return node.unpack(node.saved_out_[i], call); }
    bool has_dy(int i) const override { return grads[i].defined(); }
    Tensor dy(int i) const override { return grads[i]; }
    bool needs(int i) const override { return static_cast<bool>(node.edges[i]); }
    const Meta& in_meta(int i) const override { return node.metas_[at(i)]; }
    int n_in() const override { return node.edges.size(); }
    void set(int i, Tensor grad) override {
      if (needs(i)) results[i] = std::move(grad);
    }
    const OpNode& node;
    const Tensor* grads;
    Tensor* results;
    const BackwardCall& call;
  };

  unsigned absent_ = 0;  // inputs that are scalars or were left out
  bool released_ = false;
  std::unique_ptr<Meta[]> metas_;  // of the inputs; none: the rule does not ask for them
  SmallArray<SavedTensor, kFewInputs> saved_in_;
  SmallArray<SavedTensor, kMaxOutputs> saved_out_;
};

class RefusingNode final : public Node {
 public:
  explicit RefusingNode(const Call& call) : Node(call.op, kNoAttrs, call.loc, call.n_in) {
    for (int i = 0; i < call.n_in; ++i) {
      if (call.in[i] == nullptr || !call.in[i]->defined()) continue;
      edges[i] = edge_of(call.in[i]->get());
      if (edges[i].node) depth = std::max(depth, edges[i].node->depth);
    }
    ++depth;
  }

  void apply(const Tensor*, Tensor*, const BackwardCall& call) override {
    detail::fail_at<Error>(
        "backward", call.loc,
        "{} has no gradient{}; detach() its operands at {} where none is wanted", op.name,
        op.user != nullptr ? " (its row lacks a grad function for an operand)" : "",
        to_string(loc));
  }
};

class WindowNode final : public Node {
 public:
  WindowNode(Ref<Node> inner, Edge before, const TensorImpl& base, const TensorImpl& window, Loc at)
      : Node(inner->op, inner->attrs, at, inner->edges.size()),
        inner_(std::move(inner)),
        base_(base.meta),
        window_(window.meta),
        offset_(window.offset - base.offset) {
    edges[0] = std::move(before);
    for (int i = 1; i < edges.size(); ++i) edges[i] = inner_->edges[i];
  }

  void apply(const Tensor* dy, Tensor* grads, const BackwardCall& call) override {
    LineScope line(loc);
    // In the base's geometry, so that the window lies in it as it lies in the base.
    Tensor all = zeros_geometry(dy[0], base_);
    all.copy_(dy[0], loc);
    Tensor window = as_strided(all, window_.sizes, window_.strides, offset_);
    Tensor passed = window.clone(loc);
    std::vector<Tensor> inner_grads(static_cast<std::size_t>(edges.size()));
    inner_->apply(&passed, inner_grads.data(), call);
    if (inner_grads[0].defined()) {
      window.copy_(inner_grads[0], loc);
    } else {
      window.zero_(loc);
    }
    grads[0] = all;
    for (std::size_t i = 1; i < inner_grads.size(); ++i) grads[i] = std::move(inner_grads[i]);
  }

 private:
  Ref<Node> inner_;
  Meta base_, window_;
  i64 offset_;
};

}  // namespace

SaveMask saved_by(const OpInfo& op, int n_in, const bool* wanted) {
  if (op.kind != OpKind::elementwise) return structured_rule(op).saves(n_in);
  SaveMask mask = 0;
  for (int k = 0; k < n_in; ++k) {
    if (!wanted[k]) continue;
    unsigned uses = op.gradients[k].uses;
    mask |= uses & ((1u << n_in) - 1u);
    if ((uses >> n_in & 1) != 0) mask |= 1u << kOut0;
  }
  return mask;
}

Ref<Node> make_op_node(const Call& call, const Tensor* out, const bool* wanted) {
  return Ref<Node>::adopt(new OpNode(call, out, wanted));
}

Ref<Node> make_refusing_node(const Call& call) { return Ref<Node>::adopt(new RefusingNode(call)); }

Ref<Node> make_window_node(Ref<Node> inner, Edge before, const TensorImpl& base,
                           const TensorImpl& window, Loc loc) {
  return Ref<Node>::adopt(new WindowNode(std::move(inner), std::move(before), base, window, loc));
}

}  // namespace ingot
