#include <algorithm>
#include <map>

#include <ingot/compiler/fusion/pointwise.h>

namespace ingot::compiler {

std::string PointwiseProgram::names() const {
  std::string text = product_name;
  for (const Instruction& i : code) {
    text += text.empty() ? "" : " ";
    text += i.op == nullptr ? "cast" : i.op->name;
  }
  return text;
}

bool offsets_agree(const PointwiseProgram& p, const Segment& s, const Binding& binding) {
  if (!p.shares_written_buffers) return true;
  for (int i : p.ops) {
    const SegmentOp& op = s.ops[static_cast<std::size_t>(i)];
    for (int v : op.in) {
      for (int k = 0; v >= 0 && k < p.written; ++k) {
        int w = p.memory[static_cast<std::size_t>(k)];
        if (s.buffer_of(w) == s.buffer_of(v) && binding.offsets[static_cast<std::size_t>(w)] !=
                                                    binding.offsets[static_cast<std::size_t>(v)]) {
          return false;
        }
      }
    }
  }
  return true;
}

bool reads_operand(const PointwiseProgram& p, int k) {
  for (const Instruction& code : p.code) {
    for (const Operand& o : code.in) {
      if (o.kind == Operand::memory && o.index == k) return true;
    }
  }
  return false;
}

PointwiseProgram make_program(const Segment& s, const Group& group) {
  PointwiseProgram p;
  p.ops = group.ops;
  p.space = s.meta(s.ops[static_cast<std::size_t>(group.ops[0])].out[0]).sizes;

  // A result needs memory when its buffer outlives the group: it is live, bound from outside, or
  // read by an op (or view) elsewhere in the segment.
  std::vector<bool> in_group(s.ops.size(), false);
  for (int i : group.ops) in_group[static_cast<std::size_t>(i)] = true;
  std::vector<bool> read_elsewhere(s.buffers.size(), false);
  for (std::size_t i = 0; i < s.ops.size(); ++i) {
    if (in_group[i]) continue;
    for (int v : s.ops[i].in) {
      if (v >= 0) read_elsewhere[static_cast<std::size_t>(s.buffer_of(v))] = true;
    }
  }

  std::map<int, Operand> place;  // by value, of what the group made
  std::map<int, int> reads;      // by value: operand number among reads
  std::vector<int> written, read;
  std::map<int, int> written_at;  // by buffer
  for (int i : group.ops) {
    const SegmentOp& op = s.ops[static_cast<std::size_t>(i)];
    int v = op.out[0];
    const Buffer& b = s.buffer(s.buffer_of(v));
    bool memory = b.live || !b.produced || read_elsewhere[static_cast<std::size_t>(s.buffer_of(v))];
    if (memory) {
      auto [at, fresh] = written_at.emplace(s.buffer_of(v), static_cast<int>(written.size()));
      if (fresh) written.push_back(v);
      place[v] = {Operand::memory, at->second, s.meta(v).dtype};
    } else {
      place[v] = {Operand::temporary, p.temporaries++, s.meta(v).dtype};
      p.temporary_dtype.push_back(s.meta(v).dtype);
    }
  }
  p.written = static_cast<int>(written.size());
  p.memory = written;

  auto operand = [&](int v) {
    if (auto made = place.find(v); made != place.end()) return made->second;
    // The memory of a result that was written in place under another name.
    if (auto at = written_at.find(s.buffer_of(v)); at != written_at.end()) {
      p.shares_written_buffers = true;
      return Operand{Operand::memory, at->second, s.meta(v).dtype};
    }
    auto [at, fresh] = reads.emplace(v, static_cast<int>(p.memory.size()));
    if (fresh) p.memory.push_back(v);
    return Operand{Operand::memory, at->second, s.meta(v).dtype};
  };

  for (int i : group.ops) {
    const SegmentOp& op = s.ops[static_cast<std::size_t>(i)];
    if (op.op->kind == OpKind::product) {
      p.product = i;
      p.product_name = op.op->name;
      p.product_out = place.at(op.out[0]);
      continue;
    }
    bool row = op.op->kind == OpKind::elementwise;
    Instruction instruction{row ? op.op : nullptr, compute_type(s.meta(op.out[0]).dtype), {}, {}};
    for (int v : op.in) {
      if (v >= 0) instruction.compute = compute_type(s.meta(v).dtype);
    }
    int scalar = 0;
    for (int v : op.in) {
      if (v >= 0) {
        instruction.in.push_back(operand(v));
        continue;
      }
      instruction.in.push_back(
          {Operand::scalar, static_cast<int>(p.scalars.size()), instruction.compute});
      p.scalars.push_back({i, scalar++, instruction.compute});
    }
    instruction.out = place.at(op.out[0]);
    p.code.push_back(std::move(instruction));
  }
  for (int v : p.memory) p.memory_dtype.push_back(s.meta(v).dtype);
  return p;
}

Nest make_nest(const PointwiseProgram& p, const Segment& s, const Binding& binding) {
  Nest nest(p.space);
  for (int v : p.memory) {
    const Meta& m = s.meta(v);
    nest.add(binding.address(s, v), broadcast_strides(m, p.space), item_size(m.dtype));
  }
  nest.collapse();
  return nest;
}

Nest make_nest(const PointwiseProgram& p, const Segment& s) {
  Nest nest(p.space);
  for (int v : p.memory) {
    nest.add(nullptr, broadcast_strides(s.meta(v), p.space), item_size(s.meta(v).dtype));
  }
  nest.collapse();
  return nest;
}

RunPattern run_pattern(const PointwiseProgram& p, const Segment& s) {
  const Nest nest = make_nest(p, s);
  RunPattern pattern;
  for (std::size_t k = 0; k < p.memory.size(); ++k) {
    i64 stride = nest.dim() == 0 ? 1 : nest.run_strides()[k];
    pattern.stride.push_back(stride == 0 || stride == 1 ? static_cast<int>(stride) : 2);
  }
  return pattern;
}

}  // namespace ingot::compiler
