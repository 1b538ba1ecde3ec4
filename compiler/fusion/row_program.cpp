#include <algorithm>
#include <map>
#include <set>

#include <ingot/compiler/fusion/group.h>
#include <ingot/compiler/fusion/row_program.h>

namespace ingot::compiler {

namespace {

// Reads the ops of a group in order: how each operand and result is walked.
class Reader {
 public:
  Reader(const Segment& s, const RowSpace& space)
      : s_(s), space_(space), whole_(dense_whole(space)), values_(dense_row_values(space)) {}

  // Takes the next op in; a reason why it cannot be part of the program.
  const char* add(int i) {
    const SegmentOp& op = s_.op(i);
    if (op.writes >= 0) return "it writes in place";
    walks.assign(op.in.size(), {});
    depends_ = false;
    const std::optional<RowSpace> own = row_space(s_, op);
    if (own) {
      if (!(*own == space_)) return "rows of another shape";
      kind = RowInstruction::whole;
    } else {
      const Meta& out = s_.meta(op.out[0]);
      if (!is_contiguous(out)) return "its result is not row-major";
      const bool along = out.sizes == space_.sizes;
      if (!along && !walk_of_row_values(out, out.sizes, space_)) return "another shape";
      kind = along ? RowInstruction::along : RowInstruction::once;
      if (!along && is_long()) return kTooLong;
    }
    for (std::size_t k = 0; k < op.in.size(); ++k) {
      if (op.in[k] < 0) continue;
      if (const char* why = add_operand(op, k, &walks[k])) return why;
    }
    for (int v : op.out) {
      const bool row = kind == RowInstruction::along ||
                       (kind == RowInstruction::whole && s_.meta(v).sizes == space_.sizes);
      made_[s_.buffer_of(v)] = {v, row, depends_ || kind != RowInstruction::along};
    }
    return nullptr;
  }

  bool is_made(int v) const { return made_.count(s_.buffer_of(v)) > 0; }
  bool is_row(int v) const { return made_.at(s_.buffer_of(v)).row; }
  int maker(int v) const { return made_.at(s_.buffer_of(v)).value; }

  // Of the op added last.
  RowInstruction::Kind kind = RowInstruction::along;
  std::vector<RowWalk> walks;  // by operand

 private:
  struct Made {
    int value;
    bool row;
    bool needs_whole;  // known only when a whole row was seen
  };

  const char* add_operand(const SegmentOp& op, std::size_t k, RowWalk* walk) {
    const int v = op.in[k];
    const Meta& m = s_.meta(v);
    std::optional<RowWalk> found;
    if (kind == RowInstruction::once) {
      found = walk_of_row_values(m, s_.meta(op.out[0]).sizes, space_);
    } else if (kind == RowInstruction::whole && is_contiguous(m) && m.numel() == space_.rows() &&
               row_op(*op.op)->is_row_value(k)) {
      found = values_;
    } else {
      found = walk_of_whole(m, space_);
    }
    if (!found) return "an operand is not walked at one stride along a row";
    *walk = *found;
    auto made = made_.find(s_.buffer_of(v));
    if (made == made_.end()) return nullptr;
    if (!(*walk == (made->second.row ? whole_ : values_))) {
      return "a result is read in another order than it is made";
    }
    if (is_long() && made->second.needs_whole) return kTooLong;
    depends_ |= made->second.needs_whole;
    return nullptr;
  }

  static constexpr const char* kTooLong = "the row is too long to be held";
  bool is_long() const { return space_.length() > space_.longest(); }

  const Segment& s_;
  const RowSpace& space_;
  RowWalk whole_, values_;
  std::map<int, Made> made_;  // by buffer
  bool depends_ = false;
};

}  // namespace

std::string RowProgram::names() const {
  std::string text;
  for (const RowInstruction& i : code) {
    text += text.empty() ? "" : " ";
    text += i.op == nullptr ? "cast" : i.op->name;
  }
  return text;
}

i64 inner_stride(const RowProgram& p, const Operand& o) {
  const auto k = static_cast<std::size_t>(o.index);
  if (o.kind == Operand::memory) return p.memory[k].walk.inner;
  return o.kind == Operand::temporary && p.temporaries[k].row ? 1 : 0;
}

const char* row_refusal(const Segment& s, const RowSpace& space, const std::vector<int>& ops) {
  Reader reader(s, space);
  for (int i : ops) {
    if (const char* why = reader.add(i)) return why;
  }
  return nullptr;
}

namespace {

class Maker {
 public:
  Maker(const Segment& s, RowProgram& p) : s_(s), p_(p), reader_(s, p.space) {}

  void run() {
    place_results();
    for (int i : p_.ops) add(i);
    p_.blocks = !p_.space.on_gpu() && p_.space.length() > kRowBlock && !waits_;
    give_slots();
  }

 private:
  // A result needs memory when its buffer outlives the group.
  void place_results() {
    std::set<int> inside(p_.ops.begin(), p_.ops.end());
    std::set<int> read_outside;
    for (int i = 0; i < static_cast<int>(s_.ops.size()); ++i) {
      if (inside.count(i) > 0) continue;
      for (int v : s_.op(i).in) {
        if (v >= 0) read_outside.insert(s_.buffer_of(v));
      }
    }
    for (int i : p_.ops) {
      for (int v : s_.op(i).out) {
        const int b = s_.buffer_of(v);
        if (s_.buffer(b).live || read_outside.count(b) > 0) written_.insert(v);
      }
    }
    p_.written = static_cast<int>(written_.size());
    p_.memory.resize(written_.size());
  }

  Operand temporary(DType dtype, bool row) {
    p_.temporaries.push_back({dtype, row});
    return {Operand::temporary, static_cast<int>(p_.temporaries.size()) - 1, dtype};
  }

  Operand result(int v) {
    const DType dtype = s_.meta(v).dtype;
    const bool row = reader_.is_row(v);
    Operand o{Operand::memory, next_written_, dtype};
    if (written_.count(v) == 0) {
      o = temporary(dtype, row);
    } else {
      p_.memory[static_cast<std::size_t>(next_written_++)] = {
          v, row ? dense_whole(p_.space) : dense_row_values(p_.space), dtype};
    }
    place_[s_.buffer_of(v)] = o;
    return o;
  }

  Operand operand(int v, const RowWalk& walk) {
    if (auto at = place_.find(s_.buffer_of(v)); at != place_.end()) {
      if (reader_.maker(v) != v) p_.same_offset.emplace_back(reader_.maker(v), v);
      return at->second;
    }
    for (std::size_t k = written_.size(); k < p_.memory.size(); ++k) {
      if (p_.memory[k].value == v && p_.memory[k].walk == walk) {
        return {Operand::memory, static_cast<int>(k), p_.memory[k].dtype};
      }
    }
    p_.memory.push_back({v, walk, s_.meta(v).dtype});
    return {Operand::memory, static_cast<int>(p_.memory.size()) - 1, s_.meta(v).dtype};
  }

  // Formulas of rows read rows without gaps: others are copied first.
  Operand packed(Operand o) {
    if (inner_stride(p_, o) == 1) return o;
    Operand copy = temporary(o.dtype, true);
    p_.code.push_back({RowInstruction::along, nullptr, o.dtype, {o}, {copy}});
    return copy;
  }

  void add(int i) {
    const SegmentOp& op = s_.op(i);
    reader_.add(i);
    const bool elementwise = op.op->kind == OpKind::elementwise;
    const bool whole = reader_.kind == RowInstruction::whole;
    RowInstruction code{reader_.kind, whole || elementwise ? op.op : nullptr,
                        compute_type(s_.meta(op.out[0]).dtype)};
    if (whole) code.row = row_op(*op.op);
    for (int v : op.in) {
      if (v >= 0) code.compute = compute_type(s_.meta(v).dtype);
    }
    int scalar = 0;
    for (std::size_t k = 0; k < op.in.size(); ++k) {
      if (op.in[k] < 0 && elementwise) {
        code.in.push_back(number({i, scalar++, code.compute}));
      } else if (op.in[k] < 0) {
        code.in.push_back({Operand::none, 0, code.compute});
      } else {
        Operand o = operand(op.in[k], reader_.walks[k]);
        code.in.push_back(whole && !code.row->is_row_value(k) ? packed(o) : o);
      }
    }
    if (whole && code.row->scalar) {
      code.scalar = number({i, 0, code.compute, *code.row->scalar}).index;
    }
    for (int v : op.out) code.out.push_back(result(v));
    waits_ |= code.kind == RowInstruction::once || (whole && code.row->combine == nullptr);
    for (const Operand& o : code.in) waits_ |= is_row_value(o);
    p_.code.push_back(std::move(code));
  }

  // One value a row that the group has made.
  bool is_row_value(const Operand& o) const {
    const bool made =
        o.kind == Operand::temporary || (o.kind == Operand::memory && o.index < p_.written);
    return made && inner_stride(p_, o) == 0;
  }

  Operand number(ScalarUse use) {
    p_.scalars.push_back(use);
    return {Operand::scalar, static_cast<int>(p_.scalars.size()) - 1, use.dtype};
  }

  // Rows that do not live at the same time share memory.
  void give_slots() {
    std::vector<int> last(p_.temporaries.size(), -1), free_from;
    for (int k = 0; k < static_cast<int>(p_.code.size()); ++k) {
      const RowInstruction& code = p_.code[static_cast<std::size_t>(k)];
      for (const auto* list : {&code.in, &code.out}) {
        for (const Operand& o : *list) {
          if (o.kind == Operand::temporary) last[static_cast<std::size_t>(o.index)] = k;
        }
      }
    }
    for (int k = 0; k < static_cast<int>(p_.code.size()); ++k) {
      for (const Operand& o : p_.code[static_cast<std::size_t>(k)].out) {
        if (o.kind != Operand::temporary) continue;
        const auto t = static_cast<std::size_t>(o.index);
        auto slot =
            std::find_if(free_from.begin(), free_from.end(), [&](int when) { return when <= k; });
        p_.temporaries[t].slot = static_cast<int>(slot - free_from.begin());
        if (slot == free_from.end()) slot = free_from.insert(slot, 0);
        *slot = last[t] + 1;
      }
    }
    p_.slots = static_cast<int>(free_from.size());
  }

  const Segment& s_;
  RowProgram& p_;
  Reader reader_;
  std::set<int> written_;         // values
  std::map<int, Operand> place_;  // by buffer, of what the group made
  int next_written_ = 0;
  bool waits_ = false;  // an op needs a whole row to be finished before it
};

}  // namespace

RowProgram make_row_program(const Segment& segment, const RowSpace& space,
                            const std::vector<int>& ops) {
  RowProgram p;
  p.ops = ops;
  p.space = space;
  Maker(segment, p).run();
  return p;
}

double row_divisor(const ScalarUse& use, const Segment& s, i64 length) {
  const i64 correction =
      use.kind == ScalarUse::freedom ? s.ops[static_cast<std::size_t>(use.op)].attrs.b : 0;
  return static_cast<double>(std::max<i64>(length - correction, 0));
}

}  // namespace ingot::compiler
