#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include <ingot/compiler/codegen/cuda.h>
#include <ingot/compiler/codegen/text.h>
#include <ingot/kernels/cuda/row_shape.h>

namespace ingot::compiler {

namespace {

using Place = std::pair<Operand::Kind, int>;
Place place_of(const Operand& o) { return {o.kind, o.index}; }

bool is_row(const RowProgram& p, const Operand& o) {
  if (o.kind == Operand::memory) {
    return p.memory[static_cast<std::size_t>(o.index)].walk.inner != 0;
  }
  return o.kind == Operand::temporary && p.temporaries[static_cast<std::size_t>(o.index)].row;
}

// Which rows are not held in registers. Operands that are read, and results that are computed,
// where the one instruction that needs them does its work; where that is for each instruction,
// since one with such a result does its own later; and results that are only stored.
class Passing {
 public:
  explicit Passing(const RowProgram& p) : p_(p) {
    const int n = static_cast<int>(p.code.size());
    for (int k = 0; k < n; ++k) {
      const RowInstruction& code = p.code[static_cast<std::size_t>(k)];
      for (std::size_t o = 0; o < code.in.size(); ++o) {
        Use& use = uses_[place_of(code.in[o])];
        ++use.count;
        use.at = k;
        use.once = code.kind == RowInstruction::along ||
                   (code.kind == RowInstruction::whole && code.row->is_seen_once(o));
      }
    }
    works_at_.resize(p.code.size());
    lazy_.resize(p.code.size());
    for (int k = n - 1; k >= 0; --k) {
      const auto i = static_cast<std::size_t>(k);
      lazy_[i] = is_lazy(k);
      works_at_[i] = lazy_[i] ? works_at(uses_.at(place_of(p.code[i].out[0])).at) : k;
    }
  }

  bool passes(const Operand& o) const {
    if (o.kind != Operand::memory || o.index < p_.written || !is_row(p_, o)) return false;
    const auto use = uses_.find(place_of(o));
    return use != uses_.end() && use->second.count == 1 && use->second.once;
  }
  bool lazy(int k) const { return lazy_[static_cast<std::size_t>(k)]; }
  bool only_stored(int k) const {
    const RowInstruction& code = p_.code[static_cast<std::size_t>(k)];
    return can_be_lazy(code) && code.out[0].kind == Operand::memory &&
           uses_.count(place_of(code.out[0])) == 0;
  }
  int works_at(int k) const { return works_at_[static_cast<std::size_t>(k)]; }

 private:
  struct Use {
    int count = 0, at = 0;  // the last one
    bool once = false;
  };

  static bool can_be_lazy(const RowInstruction& code) {
    return code.kind == RowInstruction::along ||
           (code.kind == RowInstruction::whole && code.row->held_lazily != nullptr);
  }

  // Nothing may be stored, and no row be reduced, before the row is computed.
  bool is_lazy(int k) const {
    const RowInstruction& code = p_.code[static_cast<std::size_t>(k)];
    if (!can_be_lazy(code) || code.out[0].kind != Operand::temporary) return false;
    const auto found = uses_.find(place_of(code.out[0]));
    if (found == uses_.end() || found->second.count != 1 || !found->second.once) return false;
    for (int i = k; i < works_at(found->second.at); ++i) {
      const RowInstruction& between = p_.code[static_cast<std::size_t>(i)];
      if (i > k && between.kind == RowInstruction::whole) return false;
      for (const Operand& o : between.out) {
        if (o.kind == Operand::memory) return false;
      }
    }
    return true;
  }

  const RowProgram& p_;
  std::map<Place, Use> uses_;
  std::vector<bool> lazy_;
  std::vector<int> works_at_;
};

// The most rows that are known at once, from the instruction that loads or makes them to the last
// that reads them.
int rows_held(const RowProgram& p) {
  const Passing passing(p);
  std::map<Place, std::pair<int, int>> life;
  const auto see = [&](const Operand& o, int from, int to) {
    if (!is_row(p, o) || passing.passes(o)) return;
    auto [at, fresh] = life.try_emplace(place_of(o), from, to);
    at->second.second = std::max(at->second.second, to);
  };
  for (int k = 0; k < static_cast<int>(p.code.size()); ++k) {
    const RowInstruction& code = p.code[static_cast<std::size_t>(k)];
    for (const Operand& o : code.in) see(o, k, passing.works_at(k));
    for (std::size_t o = passing.lazy(k) ? 1 : 0; o < code.out.size(); ++o) see(code.out[o], k, k);
  }
  for (int k = 0; k < static_cast<int>(p.code.size()); ++k) {
    if (!passing.lazy(k) && !passing.only_stored(k)) continue;
    life.erase(place_of(p.code[static_cast<std::size_t>(k)].out[0]));
  }
  int most = 1;
  for (int k = 0; k < static_cast<int>(p.code.size()); ++k) {
    int here = 0;
    for (const auto& [row, span] : life) {
      // A result takes the place of an operand that ends with it.
      here += span.first <= k && (k < span.second || span.first == span.second) ? 1 : 0;
    }
    most = std::max(most, here);
  }
  return most;
}

const char* name(RowLanes lanes) {
  switch (lanes) {
    case RowLanes::part:
      return "part";
    case RowLanes::warp:
      return "warp";
    case RowLanes::few_warps:
      return "few_warps";
    case RowLanes::many_warps:
      return "many_warps";
    case RowLanes::any:
      break;
  }
  return "any";
}

class Writer {
 public:
  Writer(const RowProgram& p, const CudaRows& rows) : p_(p), rows_(rows), passing_(p) {}

  std::string text() {
    std::vector<const OpInfo*> ops;
    for (const RowInstruction& code : p_.code) ops.push_back(code.op);
    text_ = user_rows_text(ops);
    write_head();
    for (std::size_t k = 0; k < p_.scalars.size(); ++k) {
      add("const Num<{0}> c{1}(*(const {0}*)p.cells[{1}]);\n", c_type(p_.scalars[k].dtype), k);
    }
    for (std::size_t i = 0; i < p_.code.size(); ++i) {
      const RowInstruction& code = p_.code[i];
      switch (code.kind) {
        case RowInstruction::along:
          write_along(code, i);
          break;
        case RowInstruction::once:
          write_once(code);
          break;
        case RowInstruction::whole:
          write_whole(code, i);
          break;
      }
    }
    return text_ + "}\n";
  }

 private:
  template <class... A>
  void add(fmt::format_string<A...> format, A&&... arguments) {
    text_ += "  ";
    text_ += fmt::format(format, std::forward<A>(arguments)...);
  }

  void write_head() {
    const std::size_t n = p_.memory.size();
    text_ += fmt::format(
        "using namespace ingot;\n"
        "struct Params {{\n"
        "  struct {{ void* data; Int64 stride, step; }} in[{}];\n"
        "  Int64 rows;\n  int n, outer, shift;\n",
        n);
    if (rows_.outer) {
      add("FastDivisor sizes[{}];\n", kCudaAxes);
      add("Int64 strides[{}][{}];\n", kCudaAxes, n);
    }
    if (!p_.scalars.empty()) add("alignas(8) char cells[{}][8];\n", p_.scalars.size());
    text_ += fmt::format(
        "}};\n"
        "constexpr int kSlots = {}, kWidth = {}, kThreads = {};\n"
        "constexpr int kBlocks = row_blocks(kWidth, kSlots, {}, kThreads);\n"
        "constexpr RowFill kFill = RowFill::{};\n"
        "constexpr RowLanes kKnown = RowLanes::{};\n"
        "template <class S>\nusing Row = RowValues<kSlots, HeldRow<S, kWidth, kFill>>;\n"
        "template <class S, bool kDense>\nusing Load = HeldLoad<S, kWidth, kFill, kDense>;\n",
        rows_.slots, rows_.width, rows_.most_threads(), rows_.held + 1,
        rows_.full    ? "lanes"
        : rows_.whole ? "vectors"
                      : "any",
        name(row_lanes(rows_.lanes)));
    text_ +=
        "extern \"C\" __global__ void __launch_bounds__(kThreads, kBlocks)\n"
        "    ingot_run(const Params p) {\n"
        "  wait_for_previous();\n";
    if (rows_.together > 1) {
      if (rows_.knows_lanes()) {
        add("constexpr int lanes = {};\n", rows_.lanes);
      } else {
        add("const int lanes = 1 << p.shift;\n");
      }
      add("const int lane = int(threadIdx.x) & (lanes - 1);\n");
      add("const Int64 row = (Int64(blockIdx.x) * kThreads + int(threadIdx.x)) >> p.shift;\n");
      add("const int n = row < p.rows ? p.n : 0;\n");
    } else {
      add("const int lanes = int(blockDim.x), lane = int(threadIdx.x), n = p.n;\n");
      add("const Int64 row = blockIdx.x;\n");
    }
    add("const LaneOf<kSlots> at = row_lane<kKnown, kWidth>(n, lane, {{lanes, kSlots}});\n");
    if (!rows_.outer) return;
    add("Int64 begin[{}] = {{}};\n", n);
    add("unsigned rest = unsigned(row);\n");
    text_ +=
        "#pragma unroll 1\n"
        "  for (int d = 0; d < p.outer; ++d) {\n"
        "    const unsigned outside = p.sizes[d].quotient(rest);\n"
        "    const Int64 index = rest - outside * p.sizes[d].value();\n";
    for (std::size_t k = 0; k < n; ++k) add("  begin[{0}] += index * p.strides[d][{0}];\n", k);
    add("  rest = outside;\n  }}\n");
  }

  // The address of the row of memory operand k.
  std::string address(int k) const {
    const bool written = k < p_.written;
    const std::string offset =
        rows_.outer ? fmt::format("begin[{}]", k) : fmt::format("row * p.in[{}].stride", k);
    const char* const type = stored_type(p_.memory[static_cast<std::size_t>(k)].dtype);
    return fmt::format("({0}{1}*)p.in[{2}].data + {3}", written ? "" : "const ", type, k, offset);
  }

  // The variable of an operand, loaded before its first use.
  std::string value(const Operand& o) {
    if (o.kind == Operand::none) return "Absent()";
    if (o.kind == Operand::scalar) return fmt::format("c{}", o.index);
    if (o.kind == Operand::temporary) return fmt::format("t{}", o.index);
    const RowMemory& m = p_.memory[static_cast<std::size_t>(o.index)];
    if (o.index >= p_.written && loaded_.insert(o.index).second) {
      const char* const type = stored_type(m.dtype);
      if (m.walk.inner == 0) {
        add("const auto m{} = load_value(at, {});\n", o.index, address(o.index));
      } else {
        const std::string load = fmt::format("Load<{}, {}>{{{}, p.in[{}].step}}", type,
                                             m.walk.inner == 1, address(o.index), o.index);
        add("const {} m{}{{at, {}}};\n",
            passing_.passes(o)
                ? fmt::format("RowReads<kSlots, Load<{}, {}>>", type, m.walk.inner == 1)
                : fmt::format("Row<{}>", type),
            o.index, load);
      }
    }
    return fmt::format("m{}", o.index);
  }

  static std::string variable(const Operand& o) {
    return fmt::format("{}{}", o.kind == Operand::memory ? "m" : "t", o.index);
  }

  // A row's struct, or a cast, as a functor over values.
  std::string operation(const RowInstruction& code) const {
    const DType result = code.out[0].dtype;
    if (code.op == nullptr) return fmt::format("CastTo<{}>", c_type(compute_type(result)));
    const std::string row = row_type(*code.op);
    const bool same = std::all_of(code.in.begin(), code.in.end(), [&](const Operand& o) {
      return o.dtype == result && o.kind != Operand::scalar;
    });
    return same && compute_type(result) != result
               ? fmt::format("RowOver<{}, {}>", row, stored_type(result))
               : row;
  }

  void declare(const Operand& out) { add("Row<{}> {};\n", stored_type(out.dtype), variable(out)); }
  void finish(const Operand& out) {
    if (out.kind != Operand::memory) return;
    add("{}(at, {}, {});\n", is_row(p_, out) ? "store_held" : "store_value", address(out.index),
        variable(out));
  }

  // Whether an instruction's row is not held but computed where it is read or stored.
  bool passes(std::size_t i) const {
    return passing_.lazy(static_cast<int>(i)) || passing_.only_stored(static_cast<int>(i));
  }
  void finish_passing(const Operand& out) {
    if (out.kind != Operand::memory) return;
    add("store_lazy<kSlots, kFill>(at, {}, {});\n", address(out.index), variable(out));
  }

  void write_along(const RowInstruction& code, std::size_t i) {
    std::string values;
    for (const Operand& o : code.in) values += ", " + value(o);
    if (passes(i)) {
      add("const auto {} = row_lazy<{}, {}, kWidth>({});  // {}\n", variable(code.out[0]),
          operation(code), stored_type(code.out[0].dtype), values.substr(2), op_name(code.op));
      return finish_passing(code.out[0]);
    }
    declare(code.out[0]);
    add("row_held<{}>(at, {}{});  // {}\n", operation(code), variable(code.out[0]), values,
        op_name(code.op));
    finish(code.out[0]);
  }

  void define(const Operand& out, const std::string& text, const char* comment) {
    add("const auto {} = rounded<{}>({});  // {}\n", variable(out), stored_type(out.dtype), text,
        comment);
    finish(out);
  }

  void write_once(const RowInstruction& code) {
    std::vector<std::string> values;
    for (const Operand& o : code.in) values.push_back(value(o));
    define(code.out[0], fmt::format("{}::value({})", operation(code), fmt::join(values, ", ")),
           op_name(code.op));
  }

  void write_whole(const RowInstruction& code, std::size_t i) {
    const RowOp& row = *code.row;
    std::string in[5];
    const auto text = [&](const char* pattern) {
      return fmt::format(
          fmt::runtime(pattern), fmt::arg("t", c_type(code.compute)), fmt::arg("a", in[0]),
          fmt::arg("b", in[1]), fmt::arg("c", in[2]), fmt::arg("d", in[3]), fmt::arg("e", in[4]),
          fmt::arg("y", variable(code.out[0])), fmt::arg("s", fmt::format("c{}", code.scalar)),
          fmt::arg("i", i), fmt::arg("u", 3 * i), fmt::arg("r", stored_type(code.out[0].dtype)));
    };
    for (std::size_t k = 0; k < code.in.size(); ++k) {
      in[k] = value(code.in[k]);
      if (k == 0 && row.held_first != nullptr) add("{};\n", text(row.held_first));
    }
    for (std::size_t k = code.in.size(); k < 5; ++k) in[k] = "Absent()";
    if (row.held_lazily != nullptr && passes(i)) {
      add("const auto {} = {};  // {}\n", variable(code.out[0]), text(row.held_lazily),
          code.op->name);
      finish_passing(code.out[0]);
    } else if (row.held_statement != nullptr) {
      declare(code.out[0]);
      add("{};  // {}\n", text(row.held_statement), code.op->name);
      finish(code.out[0]);
    }
    for (std::size_t k = 0; k < code.out.size(); ++k) {
      if (row.held_values[k] != nullptr) {
        define(code.out[k], text(row.held_values[k]), code.op->name);
      }
    }
  }

  const RowProgram& p_;
  const CudaRows& rows_;
  const Passing passing_;
  std::set<int> loaded_;
  std::string text_;
};

}  // namespace

CudaRows cuda_rows(const RowProgram& p, const Nest& nest) {
  CudaRows rows;
  rows.width = vector_width(p.space.item);
  const i64 n = p.space.length();
  const RowShape shape = row_shape(n, rows.width);
  rows.slots = shape.slots;
  rows.lanes = shape.lanes;
  rows.together = rows_per_block(shape.lanes);
  rows.held = rows_held(p);
  rows.whole = n % rows.width == 0;
  rows.full = rows.together == 1 && n == i64{rows.slots} * rows.lanes * rows.width;
  rows.outer = nest.dim() > 1;
  return rows;
}

std::string generate_cuda_rows(const RowProgram& p, const CudaRows& rows) {
  return Writer(p, rows).text();
}

}  // namespace ingot::compiler
