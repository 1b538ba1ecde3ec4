// The tape: history of tensors and the backward engine.
// Owns: nodes, saved tensors, hooks, accumulation. Rules come from the rows; un-broadcasting is
// done once here. Must not know: kernels, the compiler (the engine's ops go through dispatch like
// any).
#pragma once

#include <memory>

#include <ingot/runtime/dispatch.h>
#include <ingot/runtime/gradient_hooks.h>

namespace ingot {

class Node;

// Where a gradient goes: into result `output` of a node, or into a leaf's .grad.
struct Edge {
  Ref<Node> node;
  Ref<TensorImpl> leaf;
  int output = 0;
  explicit operator bool() const { return static_cast<bool>(node) || static_cast<bool>(leaf); }
};

struct AutogradMeta {
  Tensor grad;
  Ref<Node> grad_fn;                     // none: a leaf
  int output = 0;                        // which result of grad_fn
  std::shared_ptr<Tensor> retained;      // where retain_grad() collects
  std::unique_ptr<GradientHooks> hooks;  // of a leaf
  bool chosen = false;                   // requires_grad_() was called: the flag is meant
};
AutogradMeta& autograd_meta(TensorImpl& t);

// Where the hooks of t belong, whose history is up to date: in its own data if it is a leaf, else
// in its grad_fn.
GradientHooks& gradient_hooks(const Tensor& t);

// Throws when the call may not write its input in place (a leaf that requires grad, an expanded
// tensor). Host side only; called before each op that writes, matched ones too.
void check_write(const Call& call);

// Copies what the call is about to overwrite and its gradients read into kept, by input; false when
// there is nothing.
bool keep_overwritten(const Call& call, Tensor* kept);

// Adds the call to the history of its results when grad mode and its inputs ask for it; bumps the
// version of what it wrote.
void record_history(const Call& call, Tensor* out);

// The gradient edge of a tensor; brings a view's history up to date first.
Edge gradient_edge(const Tensor& t);

void run_backward(const Tensor& root, const Tensor& gradient, bool retain_graph, Loc loc);

// Whether this thread is inside of backward().
bool in_backward();

// How many nodes the history behind t holds (for tests and the ledger).
int history_size(const Tensor& t);

}  // namespace ingot
