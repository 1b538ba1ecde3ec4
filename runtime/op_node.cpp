// The node of one op: gradient rules of elementwise rows (rows again) and of structured rows.
#include <algorithm>

#include <ingot/kernels/core/check.h>
#include <ingot/kernels/ops/row.h>
#include <ingot/runtime/internal_ops.h>
#include <ingot/runtime/node.h>

namespace ingot {

namespace {

// A saved result may not own the node that saves it: it is kept as an alias without history.
Tensor alias(const Tensor& t) {
  const TensorImpl& x = t.get();
  Ref<TensorImpl> copy = TensorImpl::create(x.storage, x.meta, x.offset);
  copy->tag = x.tag;
  copy->view_version = x.view_version;
  return Tensor(std::move(copy));
}

class OpNode final : public Node {
 public:
  OpNode(const Call& call, const Tensor* out, const bool* wanted)
      : Node(call.op, call.attrs, call.loc), n_in_(call.n_in) {
    edges.resize(static_cast<std::size_t>(n_in_));
    metas_.resize(static_cast<std::size_t>(n_in_));
    saved_in_.resize(static_cast<std::size_t>(n_in_));
    for (int i = 0; i < n_in_; ++i) {
      if (call.in[i] == nullptr || !call.in[i]->defined()) {
        absent_ |= 1u << i;  // only ops of few operands leave one out
        continue;
      }
      metas_[at(i)] = call.in[i]->meta();
      if (!wanted[i]) continue;
      edges[at(i)] = gradient_edge(*call.in[i]);
    }
    SaveMask mask = saves(wanted);
    for (int i = 0; i < std::min(n_in_, kOut0); ++i) {
      if ((mask >> i & 1) == 0 || (absent_ >> i & 1) != 0) continue;
      // What the op overwrote is gone: its saved version is the one before the write.
      std::uint32_t version = call.in[i]->get().storage->version - (i == call.writes ? 1 : 0);
      saved_in_[at(i)] = {*call.in[i], version};
    }
    for (int i = 0; i < call.op.n_out; ++i) {
      if ((mask >> (kOut0 + i) & 1) == 0) continue;
      saved_out_[i] = {alias(out[i]), out[i].get().storage->version};
    }
  }

  void apply(const Tensor* dy, Tensor* grads, bool keep) override {
    LineScope line(loc);
    if (op.kind == OpKind::elementwise) {
      apply_elementwise(dy[0], grads);
    } else {
      Rule rule(*this, dy, grads);
      structured_rule(op).vjp(rule);
    }
    if (keep) return;
    for (SavedTensor& s : saved_in_) s.tensor = Tensor();
    for (SavedTensor& s : saved_out_) s.tensor = Tensor();
    released_ = true;
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  SaveMask saves(const bool* wanted) const {
    if (op.kind != OpKind::elementwise) return structured_rule(op).saves(n_in_);
    SaveMask mask = 0;
    for (int k = 0; k < n_in_; ++k) {
      if (!wanted[k]) continue;
      unsigned uses = op.gradients[k].uses;
      mask |= uses & ((1u << n_in_) - 1u);
      if ((uses >> n_in_ & 1) != 0) mask |= 1u << kOut0;
    }
    return mask;
  }

  const Tensor& unpack(const SavedTensor& s) const {
    INGOT_CHECK(
        !released_,
        "backward: the values saved by {} (at {}) were freed by an earlier backward(); pass "
        "retain_graph = true to it",
        op.name, to_string(loc));
    INGOT_CHECK(!s.tensor.defined() || s.tensor.get().storage->version == s.version,
                "backward: {} (at {}) needs {}, which was overwritten in place after it", op.name,
                to_string(loc), describe(s.tensor.meta()));
    return s.tensor;
  }

  // Gradient K is a row over a subset of (inputs, result, dy); a scalar operand stays a scalar.
  void apply_elementwise(const Tensor& dy, Tensor* grads) {
    for (int k = 0; k < n_in_; ++k) {
      if (!edges[at(k)]) continue;
      const GradientRow& row = op.gradients[k];
      Tensor grad = dy;
      if (!row.passes) {
        const Tensor* operands[kMaxRowInputs];
        Attrs row_attrs;
        int n = 0, scalar = 0;
        for (int i = 0; i < n_in_ + 2; ++i) {
          bool is_scalar = i < n_in_ && (absent_ >> i & 1) != 0;
          if ((row.uses >> i & 1) != 0) {
            operands[n++] = is_scalar    ? nullptr
                            : i < n_in_  ? &unpack(saved_in_[at(i)])
                            : i == n_in_ ? &unpack(saved_out_[0])
                                         : &dy;
            if (is_scalar) row_attrs.add_scalar(attrs.s[scalar]);
          }
          if (is_scalar) ++scalar;
        }
        grad = dispatch({*row.op, operands, n, row_attrs, loc});
      }
      grads[k] = sum_to_size(grad, metas_[at(k)].sizes, loc);
    }
  }

  struct Rule final : Vjp<Tensor> {
    Rule(const OpNode& n, const Tensor* d, Tensor* g)
        : Vjp<Tensor>(n.attrs), node(n), grads(d), results(g) {}
    Tensor in(int i) const override { return node.unpack(node.saved_in_[at(i)]); }
    Tensor out(int i) const override { return node.unpack(node.saved_out_[i]); }
    bool has_dy(int i) const override { return grads[i].defined(); }
    Tensor dy(int i) const override { return grads[i]; }
    bool needs(int i) const override { return static_cast<bool>(node.edges[at(i)]); }
    const Meta& in_meta(int i) const override { return node.metas_[at(i)]; }
    int n_in() const override { return node.n_in_; }
    void set(int i, Tensor grad) override {
      if (needs(i)) results[i] = std::move(grad);
    }
    const OpNode& node;
    const Tensor* grads;
    Tensor* results;
  };

  int n_in_;
  unsigned absent_ = 0;  // inputs that are scalars or were left out
  bool released_ = false;
  std::vector<Meta> metas_;
  std::vector<SavedTensor> saved_in_;
  SavedTensor saved_out_[kMaxOutputs];
};

class WindowNode final : public Node {
 public:
  WindowNode(Ref<Node> inner, Edge before, const TensorImpl& base, const TensorImpl& window, Loc at)
      : Node(inner->op, inner->attrs, at),
        inner_(std::move(inner)),
        base_(base.meta),
        window_(window.meta),
        offset_(window.offset - base.offset) {
    edges.push_back(std::move(before));
    for (std::size_t i = 1; i < inner_->edges.size(); ++i) edges.push_back(inner_->edges[i]);
  }

  void apply(const Tensor* dy, Tensor* grads, bool keep) override {
    LineScope line(loc);
    // In the base's geometry, so that the window lies in it as it lies in the base.
    Tensor all = zeros_geometry(dy[0], base_);
    all.copy_(dy[0], loc);
    Tensor window = as_strided(all, window_.sizes, window_.strides, offset_);
    Tensor passed = window.clone(loc);
    std::vector<Tensor> inner_grads(inner_->edges.size());
    inner_->apply(&passed, inner_grads.data(), keep);
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

Ref<Node> make_op_node(const Call& call, const Tensor* out, const bool* wanted) {
  return Ref<Node>::adopt(new OpNode(call, out, wanted));
}

Ref<Node> make_window_node(Ref<Node> inner, Edge before, const TensorImpl& base,
                           const TensorImpl& window, Loc loc) {
  return Ref<Node>::adopt(new WindowNode(std::move(inner), std::move(before), base, window, loc));
}

}  // namespace ingot
