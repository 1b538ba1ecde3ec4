#include <algorithm>
#include <set>

#include <ingot/compiler/fusion/group.h>
#include <ingot/compiler/fusion/row_program.h>
#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cpu/iterate.h>
#include <ingot/kernels/ops/structured/data.h>

namespace ingot::compiler {

namespace {

// What one kernel's scratch and scalars are sized for.
constexpr std::size_t kMaxGroupOps = 32;

// A group in the making: what it reads and writes in memory, by buffer.
struct Candidate {
  Group group;
  Dims space;
  Device device;
  std::set<int> reads, writes;
  std::set<int> values;  // that cross its border or live in it: bounded by the walk's operands
};

const Dims& space_of(const Segment& s, const SegmentOp& op) { return s.meta(op.out[0]).sizes; }

void touch(const Segment& s, const SegmentOp& op, Candidate& c) {
  for (int v : op.in) {
    if (v >= 0) c.reads.insert(s.buffer_of(v));
  }
  for (int v : op.out) c.writes.insert(s.buffer_of(v));
  for (int v : op.in) {
    if (v >= 0) c.values.insert(v);
  }
  for (int v : op.out) c.values.insert(v);
}

bool intersects(const std::set<int>& a, const std::set<int>& b) {
  return std::any_of(a.begin(), a.end(), [&](int x) { return b.count(x) > 0; });
}

// Whether running `op` before `later` instead of after it could change a byte.
bool conflicts(const Candidate& later, const Candidate& op) {
  return intersects(later.writes, op.reads) || intersects(later.reads, op.writes) ||
         intersects(later.writes, op.writes);
}

// Values over one buffer that the group writes must be the same elements in the same order: then
// element i depends on element i only. Offsets are bound per call and checked there.
bool same_geometry(const Segment& s, const Candidate& group, const Candidate& op) {
  std::set<int> values = group.values;
  values.insert(op.values.begin(), op.values.end());
  std::set<int> written = group.writes;
  written.insert(op.writes.begin(), op.writes.end());
  for (int a : values) {
    if (written.count(s.buffer_of(a)) == 0) continue;
    for (int b : values) {
      if (s.buffer_of(b) == s.buffer_of(a) && !(s.meta(a) == s.meta(b))) return false;
    }
  }
  return true;
}

// Operands that need an address: all values but those made and used inside only. An upper bound.
int border_values(const Segment& s, const Candidate& group, const Candidate& op) {
  std::set<int> border;
  std::set<int> made;
  auto visit = [&](const Candidate& c) {
    for (int i : c.group.ops) {
      const SegmentOp& o = s.ops[static_cast<std::size_t>(i)];
      for (int v : o.in) {
        if (v >= 0 && made.count(v) == 0) border.insert(v);
      }
      for (int v : o.out) {
        made.insert(v);
        const Buffer& b = s.buffer(s.buffer_of(v));
        if (b.live || !b.produced) border.insert(v);
      }
    }
  };
  visit(group);
  visit(op);
  return static_cast<int>(border.size());
}

bool feeds(const Segment& s, const Candidate& group, const SegmentOp& op) {
  for (int v : op.in) {
    if (v >= 0 && group.writes.count(s.buffer_of(v)) > 0) return true;
  }
  return false;
}

// Whether an elementwise op may use the results of a small product as they are made.
const char* product_refusal(const Segment& s, const Candidate& group, const Candidate& op) {
  if (op.group.kind != Group::pointwise) return "not elementwise over the product";
  if (!(group.space == op.space)) return "another shape";
  const SegmentOp& product = s.ops[static_cast<std::size_t>(group.group.ops[0])];
  for (int v : product.in) {
    if (v >= 0 && op.writes.count(s.buffer_of(v)) > 0) {
      return "it writes what other blocks of the product still read";
    }
  }
  for (int v : op.values) {
    if (is_narrow(s.meta(v).dtype)) return "16-bit values";
  }
  return nullptr;
}

// nullptr: the op may join.
const char* refusal(const Segment& s, const Candidate& group, const Candidate& op) {
  if (group.group.ops.size() >= kMaxGroupOps) return "the group is full";
  if (!(group.device == op.device)) return "another device";
  if (border_values(s, group, op) > kMaxOperands) return "too many operands";
  if (group.group.kind == Group::product) {
    if (const char* why = product_refusal(s, group, op)) return why;
    return same_geometry(s, group, op) ? nullptr
                                       : "memory that the group writes is read in another order";
  }
  if (group.group.kind == Group::rows || op.group.kind == Group::rows) {
    std::vector<int> ops = group.group.ops;
    ops.insert(ops.end(), op.group.ops.begin(), op.group.ops.end());
    const Candidate& of_rows = group.group.kind == Group::rows ? group : op;
    return row_refusal(s, of_rows.group.space, ops);
  }
  if (!(group.space == op.space)) return "another shape";
  if (!same_geometry(s, group, op)) return "memory that the group writes is read in another order";
  return nullptr;
}

// Neighbours without a common value gain from one pass over memory only if both are pointwise.
bool is_worth_it(const Candidate& group, const Candidate& op) {
  if (group.group.kind == Group::pointwise && op.group.kind == Group::pointwise) return true;
  const bool both_rows = group.group.kind == op.group.kind;
  return intersects(group.writes, op.reads) || (both_rows && intersects(group.reads, op.reads));
}

}  // namespace

bool is_pointwise(const Segment& s, const SegmentOp& op) {
  using structured::Clone;
  using structured::ToCopy;
  const Meta& out = s.meta(op.out[0]);
  if (op.out.size() != 1 || out.numel() == 0) return false;
  // Generated CUDA kernels round after every op; the CPU's groups do not take 16-bit operands.
  auto narrow = [&](int v) {
    return v >= 0 && (s.meta(v).dtype == DType::f16 || s.meta(v).dtype == DType::bf16);
  };
  if (out.device.is_cpu() &&
      (narrow(op.out[0]) || std::any_of(op.in.begin(), op.in.end(), narrow))) {
    return false;
  }
  if (*op.op == structured_op<ToCopy> || *op.op == structured_op<Clone>) {
    return s.meta(op.in[0]).device == out.device;
  }
  return op.op->kind == OpKind::elementwise && (op.op->id >= 0 || op.op->user != nullptr);
}

std::vector<Group> make_groups(const Segment& s, const std::vector<bool>& needed,
                               const std::vector<int>& before, const std::vector<bool>& small,
                               std::vector<Ledger::Event>* refusals) {
  std::vector<bool> goes_on(s.ops.size(), false);  // in a later op's epilogue
  for (int op : before) {
    if (op >= 0) goes_on[static_cast<std::size_t>(op)] = true;
  }
  const bool any_small = std::find(small.begin(), small.end(), true) != small.end();
  std::vector<Candidate> order;
  for (std::size_t i = 0; i < s.ops.size(); ++i) {
    const SegmentOp& op = s.ops[i];
    if (!needed[i] || goes_on[i]) continue;
    const bool alone = before[i] < 0;
    Candidate single{{}, space_of(s, op), s.meta(op.out[0]).device, {}, {}, {}};
    if (small[i]) {
      single.group.kind = Group::product;
    } else if (alone && is_pointwise(s, op)) {
      single.group.kind = Group::pointwise;
    } else if (const auto rows = row_space(s, op); rows && alone) {
      single.group.kind = Group::rows;
      single.group.space = *rows;
    }
    for (int k = static_cast<int>(i); k >= 0; k = before[static_cast<std::size_t>(k)]) {
      single.group.ops.insert(single.group.ops.begin(), k);
      touch(s, s.ops[static_cast<std::size_t>(k)], single);
    }
    int joined = -1;
    if (single.group.kind != Group::other && single.group.kind != Group::product) {
      // Backwards over what runs before: the op may move up past kernels that it does not meet. The
      // first that takes it does, but for a product that it reads: that one spares a kernel.
      for (int k = static_cast<int>(order.size()) - 1; k >= 0; --k) {
        Candidate& group = order[static_cast<std::size_t>(k)];
        if (group.group.kind != Group::other && is_worth_it(group, single)) {
          const char* why = refusal(s, group, single);
          if (why == nullptr && (joined < 0 || group.group.kind == Group::product)) joined = k;
          if (joined == k && !any_small) break;
          if (joined == k && group.group.kind == Group::product) break;
          if (joined < 0 && feeds(s, group, op)) {
            refusals->push_back(
                {fmt::format("{} not with {}: {}", op.op->name,
                             s.ops[static_cast<std::size_t>(group.group.ops.back())].op->name, why),
                 op.loc});
          }
        }
        if (conflicts(group, single)) break;
        // When a kernel refuses its data, no later write may have happened.
        int first = group.group.ops.front();
        if (op.writes >= 0 && may_throw(*s.ops[static_cast<std::size_t>(first)].op)) break;
      }
    }
    if (joined < 0) {
      order.push_back(std::move(single));
      continue;
    }
    Candidate& group = order[static_cast<std::size_t>(joined)];
    group.group.ops.push_back(static_cast<int>(i));
    if (single.group.kind == Group::rows) {
      group.group.kind = Group::rows;
      group.group.space = single.group.space;
    }
    touch(s, op, group);
  }
  std::vector<Group> groups;
  for (Candidate& c : order) groups.push_back(std::move(c.group));
  return groups;
}

}  // namespace ingot::compiler
