// The backward engine: visits the history from the deepest node down, each node once.
#include <algorithm>
#include <array>
#include <vector>

#include <ingot/kernels/core/check.h>
#include <ingot/runtime/arguments.h>
#include <ingot/runtime/internal_ops.h>
#include <ingot/runtime/node.h>
#include <ingot/runtime/ops.h>
#include <ingot/runtime/place_map.h>

namespace ingot {

namespace {

// A node that waits for its turn, with what has flowed into its results so far.
struct Visit {
  explicit Visit(Node* n) : node(n) {}
  Node* node;
  std::array<Tensor, kMaxOutputs> dy;
};

// The tables of one run, kept by the thread for the next.
struct Tables {
  std::vector<Visit> visits;
  PlaceMap places;  // in visits, by node
  std::vector<Node*> stack;
  std::vector<int> order, starts;
  std::vector<Tensor> grads;
  bool busy = false;
};

Tables& kept_tables() {
  thread_local Tables tables;
  return tables;
}

class Run {
 public:
  Run(Tables& tables, bool keep, Loc loc) : t_(tables), call_{keep, loc}, loc_(loc) {
    t_.busy = true;
    t_.places.clear();
  }
  ~Run() {
    t_.visits.clear();
    t_.stack.clear();
    t_.grads.clear();
    t_.busy = false;
  }
  Run(const Run&) = delete;

  void start(const Edge& root, const Tensor& gradient) {
    if (root.node) collect(root.node.get());
    put_in_order();
    flow(root, gradient);
    for (int i : t_.order) {
      Visit& v = t_.visits[index(i)];
      if (!run_hooks(v)) continue;
      const int n = v.node->edges.size();
      if (index(n) > t_.grads.size()) t_.grads.resize(index(n));
      v.node->apply(v.dy.data(), t_.grads.data(), call_);
      for (Tensor& dy : v.dy) {
        if (dy.defined()) dy = Tensor();
      }
      for (int k = 0; k < n; ++k) {
        if (!t_.grads[index(k)].defined()) continue;
        Tensor grad = std::move(t_.grads[index(k)]);
        if (const Edge& e = v.node->edges[k]) flow(e, std::move(grad));
      }
    }
  }

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  // Depth-first in edge order, without recursion: histories may be very long.
  void collect(Node* root) {
    t_.stack.push_back(root);
    while (!t_.stack.empty()) {
      Node* node = t_.stack.back();
      t_.stack.pop_back();
      if (!t_.places.insert(node, static_cast<int>(t_.visits.size()))) continue;
      t_.visits.emplace_back(node);
      for (const Edge& e : node->edges) {
        if (e.node) t_.stack.push_back(e.node.get());
      }
    }
  }

  // Depth orders a node after all that consume its results; ties keep the order of discovery.
  // Every depth from the root's down to 1 occurs, so a counting sort touches no more than nodes.
  void put_in_order() {
    t_.order.resize(t_.visits.size());
    if (t_.visits.empty()) return;
    const int deepest = t_.visits[0].node->depth;
    t_.starts.assign(index(deepest) + 2, 0);
    for (const Visit& v : t_.visits) ++t_.starts[index(deepest - v.node->depth) + 1];
    for (std::size_t d = 1; d < t_.starts.size(); ++d) t_.starts[d] += t_.starts[d - 1];
    for (std::size_t i = 0; i < t_.visits.size(); ++i) {
      int& place = t_.starts[index(deepest - t_.visits[i].node->depth)];
      t_.order[index(place++)] = static_cast<int>(i);
    }
  }

  void replace(Tensor& dy, const Tensor& by) const {
    if (!by.defined()) return;
    INGOT_CHECK_AT("backward", loc_, by.sizes() == dy.sizes() && by.dtype() == dy.dtype(),
                   "a hook was given {} and returned {}", describe(dy.meta()), describe(by.meta()));
    dy = by;
  }

  // False when nothing flowed into the node.
  bool run_hooks(Visit& v) {
    static_assert(kMaxOutputs == 3);
    for (auto& [output, hook] : v.node->hooks) {
      Tensor& dy = v.dy[index(output)];
      if (!dy.defined()) continue;
      replace(dy, hook(dy));
    }
    return v.dy[0].defined() || v.dy[1].defined() || v.dy[2].defined();
  }

  void flow(const Edge& e, Tensor dy) {
    if (e.leaf) {
      accumulate(*e.leaf, std::move(dy));
      return;
    }
    Tensor& slot = t_.visits[index(t_.places.at(e.node.get()))].dy[index(e.output)];
    if (slot.defined()) [[unlikely]] {
      slot = add(slot, Arg(dy, loc_));
    } else {
      slot = std::move(dy);
    }
  }

  void accumulate(TensorImpl& leaf, Tensor dy) {
    AutogradMeta& meta = autograd_meta(leaf);
    for (auto& hook : meta.hooks) {
      replace(dy, hook(dy));
    }
    if (meta.grad.defined()) {
      meta.grad.add_(Arg(dy, loc_));
      return;
    }
    // A gradient that someone else can still see must not become .grad, which is written in place.
    const TensorImpl& g = dy.get();
    bool own = g.use_count() == 1 && g.storage->use_count() == 1 && !g.base && meta.hooks.empty() &&
               dy.is_contiguous();
    meta.grad = own                                       ? std::move(dy)
                : dy.contiguous(loc_).impl() == dy.impl() ? dy.clone(loc_)
                                                          : dy.contiguous(loc_);
  }

  Tables& t_;
  BackwardCall call_;
  Loc loc_;
};

}  // namespace

void Node::destroy(Node* node) noexcept {
  // Nodes own nodes: a long history is freed from a list, not by recursion.
  static constinit thread_local Node* dead = nullptr;
  static constinit thread_local bool freeing = false;
  node->next_dead_ = std::exchange(dead, node);
  if (freeing) return;
  freeing = true;
  while (dead != nullptr) delete std::exchange(dead, dead->next_dead_);
  freeing = false;
}

void run_backward(const Tensor& root, const Tensor& gradient, bool retain_graph, Loc loc) {
  (void)given(root, "backward", loc);
  INGOT_CHECK_AT("backward", loc, root.requires_grad(),
                 "the tensor {} has no history and does not require grad", describe(root.meta()));
  if (gradient.defined()) {
    INGOT_CHECK_AT("backward", loc,
                   gradient.sizes() == root.sizes() && gradient.dtype() == root.dtype(),
                   "the gradient {} does not fit the tensor {}", describe(gradient.meta()),
                   describe(root.meta()));
  } else {
    INGOT_CHECK_AT("backward", loc, root.numel() == 1,
                   "the tensor {} has {} elements and needs a gradient argument",
                   describe(root.meta()), root.numel());
  }
  NoGradGuard no_grad;
  Edge edge = gradient_edge(root);
  Tensor seed = gradient.defined() ? gradient : ones_like(root, {}, loc);
  Tables& kept = kept_tables();
  if (!kept.busy) {
    Run(kept, retain_graph, loc).start(edge, seed);
  } else {  // from a hook
    Tables own;
    Run(own, retain_graph, loc).start(edge, seed);
  }
}

bool in_backward() { return kept_tables().busy; }

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
