// The backward engine: visits the history from the deepest node down, each node once. A leaf's turn
// comes when the last of its contributions has: hooks and .grad see the whole gradient.
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
  int first_edge = 0;  // in Tables::ends
  std::array<Tensor, kMaxOutputs> dy;
};

// A leaf that waits for contributions, with the sum of those that came.
struct LeafVisit {
  explicit LeafVisit(TensorImpl* l) : leaf(l) {}
  TensorImpl* leaf;
  int waits = 0;
  Tensor dy;
};

// The tables of one run, kept by the thread for the next.
struct Tables {
  std::vector<Visit> visits;
  std::vector<LeafVisit> leaves;
  PlaceMap places;        // in visits by node, in leaves by leaf
  std::vector<int> ends;  // where each visit's edges lead: a place, by the edge's kind
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
    t_.leaves.clear();
    t_.ends.clear();
    t_.grads.clear();
    t_.busy = false;
  }
  Run(const Run&) = delete;

  void start(const Edge& root, Tensor gradient) {
    const int end = enter(root);
    collect();
    put_in_order();
    flow(root, end, std::move(gradient));
    for (int i : t_.order) {
      Visit& v = t_.visits[index(i)];
      const int n = v.node->edges.size();
      if (index(n) > t_.grads.size()) t_.grads.resize(index(n));
      if (run_hooks(v)) {
        v.node->apply(v.dy.data(), t_.grads.data(), call_);
        for (Tensor& dy : v.dy) {
          if (dy.defined()) dy = Tensor();
        }
      }
      for (int k = 0; k < n; ++k) {
        Tensor grad = std::move(t_.grads[index(k)]);
        const Edge& e = v.node->edges[k];
        if (e.leaf || (e.node && grad.defined())) {
          flow(e, t_.ends[index(v.first_edge + k)], std::move(grad));
        }
      }
    }
  }

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  // The place of what an edge leads to, which may be new. A leaf waits for one contribution more,
  // which may turn out to be none.
  int enter(const Edge& e) {
    if (e.leaf) {
      const auto next = static_cast<int>(t_.leaves.size());
      const int place = t_.places.insert(e.leaf.get(), next);
      if (place == next) t_.leaves.emplace_back(e.leaf.get());
      ++t_.leaves[index(place)].waits;
      return place;
    }
    if (!e.node) return -1;
    const auto next = static_cast<int>(t_.visits.size());
    const int place = t_.places.insert(e.node.get(), next);
    if (place == next) t_.visits.emplace_back(e.node.get());
    return place;
  }

  // All nodes behind those that are there, breadth first in edge order.
  void collect() {
    for (std::size_t i = 0; i < t_.visits.size(); ++i) {
      t_.visits[i].first_edge = static_cast<int>(t_.ends.size());
      for (const Edge& e : t_.visits[i].node->edges) t_.ends.push_back(enter(e));
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

  // False when nothing flowed into the node.
  bool run_hooks(Visit& v) {
    static_assert(kMaxOutputs == 3);
    if (v.node->hooks != nullptr) [[unlikely]] {
      for (int i = 0; i < kMaxOutputs; ++i) {
        Tensor& dy = v.dy[index(i)];
        if (dy.defined()) v.node->hooks->run(i, dy, loc_);
      }
    }
    return v.dy[0].defined() || v.dy[1].defined() || v.dy[2].defined();
  }

  // place: where the edge ends. dy is undefined only on its way to a leaf, which waits for it all
  // the same.
  void flow(const Edge& e, int place, Tensor dy) {
    if (e.leaf) {
      contribute(t_.leaves[index(place)], std::move(dy));
      return;
    }
    Tensor& slot = t_.visits[index(place)].dy[index(e.output)];
    if (slot.defined()) [[unlikely]] {
      slot = add(slot, Arg(dy, loc_));
    } else {
      slot = std::move(dy);
    }
  }

  void contribute(LeafVisit& visit, Tensor dy) {
    if (visit.dy.defined()) dy = joined(std::move(visit.dy), dy);
    if (--visit.waits > 0) {
      visit.dy = std::move(dy);
    } else if (dy.defined()) {
      accumulate(*visit.leaf, std::move(dy));
    }
  }

  // A weight's gradient is large: one buffer for all its contributions.
  Tensor joined(Tensor sum, const Tensor& dy) const {
    if (!dy.defined()) return sum;
    if (!is_sole_owner(sum)) return add(sum, Arg(dy, loc_));
    sum.add_(Arg(dy, loc_));
    return sum;
  }

  // dy: the whole gradient of the leaf.
  void accumulate(TensorImpl& leaf, Tensor dy) {
    AutogradMeta& meta = autograd_meta(leaf);
    if (meta.hooks != nullptr) [[unlikely]]
      meta.hooks->run(0, dy, loc_);
    if (meta.grad.defined()) {
      meta.grad.add_(Arg(dy, loc_));  // in place: handles on .grad see it
    } else {
      meta.grad = is_sole_owner(dy) ? std::move(dy) : copied(dy, loc_);
    }
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
  Edge edge = gradient_edge(given(root, "backward", loc));
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
  Tensor seed = gradient.defined() ? gradient : ones_like(root, {}, loc);
  Tables& kept = kept_tables();
  if (!kept.busy) {
    Run(kept, retain_graph, loc).start(edge, std::move(seed));
  } else {  // from a hook
    Tables own;
    Run(own, retain_graph, loc).start(edge, std::move(seed));
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
