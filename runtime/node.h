// Node: one step of a tensor's history.
// Owns: what a step keeps for its gradient rule, and how a rule reads it. Internal to autograd.
#pragma once

#include <memory>

#include <ingot/runtime/autograd.h>
#include <ingot/runtime/free_list.h>
#include <ingot/runtime/small_array.h>

namespace ingot {

// A tensor kept for the backward pass, with the version that makes later writes to it an error.
struct SavedTensor {
  Tensor tensor;
  std::uint32_t version = 0;
};

// Ops of more inputs than this (a cat) keep them on the heap.
inline constexpr int kFewInputs = 3;

// One call of backward().
struct BackwardCall {
  bool keep;  // what was saved stays in place
  Loc loc;
};

class Node {
 public:
  Node(const OpInfo& o, const Attrs& a, Loc l, int n_edges)
      : op(o),
        attrs(&a == &kNoAttrs ? kNoAttrs : *new (take_object<Attrs>()) Attrs(a)),
        loc(l),
        edges(n_edges) {}
  virtual ~Node() {
    if (&attrs != &kNoAttrs) give_object<Attrs>(const_cast<Attrs*>(&attrs));
  }
  Node(const Node&) = delete;
  void retain() { refs_.retain(); }
  void release() {
    if (refs_.release()) destroy(this);
  }

  // Gradients of the results in, gradients of the inputs out: grads[i] belongs to edges[i] and
  // stays undefined where nothing flows.
  virtual void apply(const Tensor* dy, Tensor* grads, const BackwardCall& call) = 0;

  const OpInfo& op;
  const Attrs& attrs;  // kNoAttrs, or owned
  Loc loc;
  int depth = 0;  // above the deepest input
  SmallArray<Edge, kFewInputs> edges;
  std::unique_ptr<GradientHooks> hooks;

 private:
  static void destroy(Node* node) noexcept;
  RefCount refs_;
  Node* next_dead_ = nullptr;
};

// The gradient rule of a structured row, instantiated for Tensor.
struct StructuredRule {
  SaveMask (*saves)(int n_in) = nullptr;
  void (*vjp)(Vjp<Tensor>& v) = nullptr;
};
// vjp is null for ops without a gradient.
const StructuredRule& structured_rule(const OpInfo& op);

// What the rules of the wanted gradients read.
SaveMask saved_by(const OpInfo& op, int n_in, const bool* wanted);

// Where a gradient of x goes, when its history is up to date.
inline Edge edge_of(TensorImpl& x) {
  if (!x.requires_grad) return {};
  if (x.autograd == nullptr || !x.autograd->grad_fn) return {{}, Ref<TensorImpl>(&x), 0};
  return {x.autograd->grad_fn, {}, x.autograd->output};
}

// The history of one dispatched op; saves what the rules of the wanted gradients read.
Ref<Node> make_op_node(const Call& call, const Tensor* out, const bool* wanted);

// The history of an op whose operands require gradients for which it has no rule: backward() throws
// when it gets there.
Ref<Node> make_refusing_node(const Call& call);

// A write through a view, seen from the tensor that the view belongs to (`base`, with history
// `before`): the window's gradient goes through `inner`, the rest passes.
Ref<Node> make_window_node(Ref<Node> inner, Edge before, const TensorImpl& base,
                           const TensorImpl& window, Loc loc);

}  // namespace ingot
