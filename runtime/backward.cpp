// The backward engine: visits the history from the deepest node down, each node once.
#include <algorithm>
#include <array>
#include <unordered_map>

#include <ingot/kernels/core/check.h>
#include <ingot/runtime/internal_ops.h>
#include <ingot/runtime/node.h>
#include <ingot/runtime/ops.h>

namespace ingot {

namespace {

// A node that waits for its turn, with what has flowed into its results so far.
struct Visit {
  Node* node;
  std::array<Tensor, kMaxOutputs> dy;
};

class Run {
 public:
  Run(bool keep, Loc loc) : keep_(keep), loc_(loc) {}

  void start(const Edge& root, const Tensor& gradient) {
    if (root.node) collect(root.node.get());
    // Depth orders a node after all that consume its results; ties keep the order of discovery.
    std::vector<int> order(visits_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      return visits_[index(a)].node->depth > visits_[index(b)].node->depth;
    });
    flow(root, gradient);
    std::vector<Tensor> grads;
    for (int i : order) {
      Visit& v = visits_[index(i)];
      if (!run_hooks(v)) continue;
      grads.assign(v.node->edges.size(), Tensor());
      v.node->apply(v.dy.data(), grads.data(), keep_);
      v.dy = {};
      for (std::size_t k = 0; k < grads.size(); ++k) {
        const Edge& e = v.node->edges[k];
        if (e && grads[k].defined()) flow(e, std::exchange(grads[k], Tensor()));
      }
    }
  }

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  // Depth-first in edge order, without recursion: histories may be very long.
  void collect(Node* root) {
    std::vector<Node*> stack{root};
    while (!stack.empty()) {
      Node* node = stack.back();
      stack.pop_back();
      if (!places_.emplace(node, static_cast<int>(visits_.size())).second) continue;
      visits_.push_back({node, {}});
      for (const Edge& e : node->edges) {
        if (e.node) stack.push_back(e.node.get());
      }
    }
  }

  // False when nothing flowed into the node.
  bool run_hooks(Visit& v) {
    for (auto& [output, hook] : v.node->hooks) {
      Tensor& dy = v.dy[index(output)];
      if (!dy.defined()) continue;
      if (Tensor replaced = hook(dy); replaced.defined()) dy = replaced;
    }
    return std::any_of(v.dy.begin(), v.dy.end(), [](const Tensor& t) { return t.defined(); });
  }

  void flow(const Edge& e, Tensor dy) {
    if (e.leaf) {
      accumulate(*e.leaf, std::move(dy));
      return;
    }
    Tensor& slot = visits_[index(places_.at(e.node.get()))].dy[index(e.output)];
    if (slot.defined()) {
      slot = add(slot, Arg(dy, loc_));
    } else {
      slot = std::move(dy);
    }
  }

  void accumulate(TensorImpl& leaf, Tensor dy) {
    AutogradMeta& meta = autograd_meta(leaf);
    for (auto& hook : meta.hooks) {
      if (Tensor replaced = hook(dy); replaced.defined()) dy = replaced;
    }
    if (meta.grad.defined()) {
      meta.grad.add_(Arg(dy, loc_));
      return;
    }
    // A gradient that someone else can still see must not become .grad, which is written in place.
    const TensorImpl& g = dy.get();
    bool own = g.use_count() == 1 && !g.base && meta.hooks.empty() && dy.is_contiguous();
    meta.grad = own                                       ? std::move(dy)
                : dy.contiguous(loc_).impl() == dy.impl() ? dy.clone(loc_)
                                                          : dy.contiguous(loc_);
  }

  bool keep_;
  Loc loc_;
  std::vector<Visit> visits_;
  std::unordered_map<Node*, int> places_;
};

}  // namespace

void Node::destroy(Node* node) {
  // Nodes own nodes: a long history is freed from a list, not by recursion.
  thread_local std::vector<Node*>* pending = nullptr;
  if (pending != nullptr) {
    pending->push_back(node);
    return;
  }
  std::vector<Node*> list{node};
  pending = &list;
  while (!list.empty()) {
    Node* next = list.back();
    list.pop_back();
    delete next;
  }
  pending = nullptr;
}

void run_backward(const Tensor& root, const Tensor& gradient, bool retain_graph, Loc loc) {
  INGOT_CHECK(root.requires_grad(),
              "backward: the tensor {} has no history and does not require "
              "grad; at {}",
              describe(root.meta()), to_string(loc));
  if (gradient.defined()) {
    INGOT_CHECK(gradient.sizes() == root.sizes() && gradient.dtype() == root.dtype(),
                "backward: the gradient {} does not fit the tensor {}; at {}",
                describe(gradient.meta()), describe(root.meta()), to_string(loc));
  } else {
    INGOT_CHECK(root.numel() == 1,
                "backward: the tensor {} has {} elements and needs a gradient "
                "argument; at {}",
                describe(root.meta()), root.numel(), to_string(loc));
  }
  NoGradGuard no_grad;
  Edge edge = gradient_edge(root);
  Tensor seed = gradient.defined() ? gradient : ones_like(root, {}, loc);
  Run(retain_graph, loc).start(edge, seed);
}

int history_size(const Tensor& t) {
  Edge edge = gradient_edge(t);
  if (!edge.node) return 0;
  std::vector<Node*> stack{edge.node.get()}, seen;
  while (!stack.empty()) {
    Node* node = stack.back();
    stack.pop_back();
    if (std::find(seen.begin(), seen.end(), node) != seen.end()) continue;
    seen.push_back(node);
    for (const Edge& e : node->edges) {
      if (e.node) stack.push_back(e.node.get());
    }
  }
  return static_cast<int>(seen.size());
}

}  // namespace ingot
