#include <algorithm>
#include <map>

#include <ingot/compiler/trie.h>
#include <ingot/kernels/core/check.h>

namespace ingot::compiler {

Trie::Trie() : root_(new TrieNode) {}

Trie::~Trie() {
  std::vector<TrieNode*> nodes{root_};
  while (!nodes.empty()) {
    TrieNode* node = nodes.back();
    nodes.pop_back();
    for (TrieNode* c = node->first_child.load(); c != nullptr; c = c->next_sibling.load()) {
      nodes.push_back(c);
    }
    delete node;
  }
}

bool TrieNode::same_step(const TrieNode& o) const {
  if (kind != o.kind || access != o.access || observed_buffer != o.observed_buffer) return false;
  if (kept != o.kept || dropped != o.dropped || info != o.info || n_in != o.n_in) return false;
  if (info == nullptr) return true;
  return writes == o.writes && device == o.device && no_attrs == o.no_attrs &&
         attrs.same_structure(o.attrs) && in == o.in && new_slots == o.new_slots &&
         results == o.results && offset_delta == o.offset_delta && offset_scale == o.offset_scale;
}

TrieNode* Trie::skip_known(TrieNode* at, Chain* chain) {
  std::size_t known = 0;
  for (; known < chain->size(); ++known) {
    TrieNode* child = at->first_child.load(std::memory_order_acquire);
    while (child != nullptr && !child->same_step(*(*chain)[known])) {
      child = child->next_sibling.load(std::memory_order_acquire);
    }
    if (child == nullptr) break;
    at = child;
  }
  chain->erase(chain->begin(), chain->begin() + static_cast<std::ptrdiff_t>(known));
  if (!chain->empty()) chain->front()->parent = at;
  return at;
}

std::size_t Trie::publish(TrieNode* at, Chain chain) {
  const std::size_t all = chain.size();
  at = skip_known(at, &chain);
  const std::size_t known = all - chain.size();
  if (chain.empty()) return known;
  TrieNode* top = nullptr;
  TrieNode* above = nullptr;
  for (std::unique_ptr<TrieNode>& owned : chain) {
    TrieNode* node = owned.release();
    node->parent = above == nullptr ? at : above;
    if (above == nullptr) {
      top = node;
    } else {
      above->first_child.store(node, std::memory_order_relaxed);
    }
    above = node;
  }
  // At the end of the list: what was known first is tried first.
  std::atomic<TrieNode*>* link = &at->first_child;
  while (TrieNode* sibling = link->load(std::memory_order_relaxed)) link = &sibling->next_sibling;
  link->store(top, std::memory_order_release);
  return known;
}

Trie::Chain Trie::take_path() {
  Chain path;
  TrieNode* node = root_;
  while ((node = node->first_child.exchange(nullptr)) != nullptr) path.emplace_back(node);
  return path;
}

std::uint64_t operands_key(const Call& call) {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15;
  std::uint64_t sum = 0, factor = kOdd;
  const auto add = [&](i64 word) {
    sum += (static_cast<std::uint64_t>(word) ^ factor >> 7) * factor;
    factor += 2 * kOdd;
  };
  for (int i = 0; i < call.n_in; ++i) {
    const TensorImpl* t = call.in[i] == nullptr ? nullptr : call.in[i]->impl();
    add(t == nullptr ? -1 : static_cast<i64>(t->meta.dtype) | i64{t->meta.dim()} << 8);
    for (int d = 0; t != nullptr && d < t->meta.dim(); ++d) {
      add(t->meta.sizes[d]);
      add(t->meta.strides[d]);
    }
  }
  return sum ^ sum >> 32;
}

std::uint64_t difference_key(const TrieNode& node, const Call& call) {
  std::uint64_t key = operands_key(call);
  for (const std::uint64_t word : {std::uint64_t{reinterpret_cast<std::uintptr_t>(&node)},
                                   std::uint64_t{reinterpret_cast<std::uintptr_t>(&call.op)},
                                   static_cast<std::uint64_t>(call.loc.line)}) {
    key = (key ^ word) * 0x9E3779B97F4A7C15;
    key ^= key >> 32;
  }
  return key;
}

std::string difference(const TrieNode& node, const Call& call) {
  if (node.info == nullptr) {
    return fmt::format("{} where the recorded call {}", call.op.name,
                       node.kind == TrieNode::end ? "returned" : "read a value");
  }
  if (!(*node.info == call.op)) {
    return fmt::format("{} where the recorded call did {} (at {})", call.op.name, node.info->name,
                       to_string(node.loc));
  }
  if (!node.attrs.same_structure(call.attrs)) {
    return fmt::format("{}: other attributes (sizes, dims or kinds of scalars)", call.op.name);
  }
  if (node.writes != call.writes || node.in.size() != static_cast<std::size_t>(call.n_in)) {
    return fmt::format("{}: other operands", call.op.name);
  }
  for (std::size_t i = 0; i < node.in.size(); ++i) {
    if (node.in[i].kind != Source::slot || call.in[i] == nullptr || !call.in[i]->defined())
      continue;
    int fresh = node.in[i].index - node.first_slot;
    if (fresh < 0) continue;
    const Meta& recorded = node.new_slots[static_cast<std::size_t>(fresh)].meta;
    const Meta& now = call.in[i]->meta();
    if (!(recorded == now)) {
      bool strides_only = recorded.sizes == now.sizes && recorded.dtype == now.dtype;
      return fmt::format("{}: operand {} is {}{}, recorded {}{}", call.op.name, i, describe(now),
                         strides_only ? " strides " + to_string(now.strides) : "",
                         describe(recorded),
                         strides_only ? " strides " + to_string(recorded.strides) : "");
    }
  }
  return fmt::format("{}: an operand comes from elsewhere, or shares memory otherwise",
                     call.op.name);
}

BuiltSegment build_segment(const std::vector<const TrieNode*>& ops, const std::vector<int>& kept,
                           const std::vector<NewSlot>& slots,
                           const std::vector<NewResult>& results) {
  BuiltSegment built;
  Segment& s = built.segment;
  std::map<int, int> buffer_ids;
  std::map<std::pair<int, int>, int> value_ids;

  auto buffer_id = [&](int path_buffer) {
    auto [at, fresh] = buffer_ids.emplace(path_buffer, static_cast<int>(s.buffers.size()));
    if (fresh) {
      s.buffers.push_back({});
      built.buffers.push_back(path_buffer);
    }
    return at->second;
  };
  auto value_id = [&](Source source) {
    if (source.kind == Source::none) return -1;
    auto [at, fresh] = value_ids.emplace(std::pair{static_cast<int>(source.kind), source.index},
                                         static_cast<int>(s.values.size()));
    if (fresh) {
      auto i = static_cast<std::size_t>(source.index);
      bool is_slot = source.kind == Source::slot;
      const Meta& meta = is_slot ? slots[i].meta : results[i].meta;
      const int buffer = buffer_id(is_slot ? slots[i].buffer : results[i].buffer);
      s.buffer(buffer).device = meta.device;
      s.values.push_back({buffer, meta});
      built.values.push_back(source);
    }
    return at->second;
  };

  for (const TrieNode* node : ops) {
    SegmentOp op;
    op.op = node->info;
    op.attrs = node->attrs;
    op.writes = node->writes;
    op.launches = node->launches;
    op.loc = node->loc;
    for (const Source& source : node->in) op.in.push_back(value_id(source));
    for (std::size_t r = 0; r < node->results.size(); ++r) {
      op.out.push_back(value_id({Source::result, node->first_result + static_cast<int>(r)}));
      const NewResult& result = node->results[r];
      Buffer& buffer = s.buffer(s.buffer_of(op.out.back()));
      if (result.new_buffer) {
        buffer.produced = true;
        buffer.live = std::binary_search(kept.begin(), kept.end(), result.buffer);
        buffer.bytes = result.bytes;
      }
    }
    if (op.writes >= 0) s.buffer(s.buffer_of(op.out[0])).written = true;
    s.ops.push_back(std::move(op));
  }
  return built;
}

}  // namespace ingot::compiler
