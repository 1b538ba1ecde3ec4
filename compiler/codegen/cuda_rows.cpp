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

// The most rows that are known at once, from the instruction that loads or makes them to the last
// that reads them.
int rows_held(const RowProgram& p) {
  std::map<Place, std::pair<int, int>> life;
  for (int k = 0; k < static_cast<int>(p.code.size()); ++k) {
    const RowInstruction& code = p.code[static_cast<std::size_t>(k)];
    for (const auto* list : {&code.in, &code.out}) {
      for (const Operand& o : *list) {
        if (!is_row(p, o)) continue;
        auto [at, fresh] = life.try_emplace(place_of(o), k, k);
        at->second.second = k;
      }
    }
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

class Writer {
 public:
  Writer(const RowProgram& p, const CudaRows& rows) : p_(p), rows_(rows) {}

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
          write_along(code);
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
        "  Int64 rows;\n  int n, outer;\n",
        n);
    if (rows_.outer) {
      add("FastDivisor sizes[{}];\n", kCudaAxes);
      add("Int64 strides[{}][{}];\n", kCudaAxes, n);
    }
    if (!p_.scalars.empty()) add("alignas(8) char cells[{}][8];\n", p_.scalars.size());
    const int threads = rows_.lanes * rows_.together;
    text_ += fmt::format(
        "}};\n"
        "constexpr int kSlots = {}, kWidth = {}, kLanes = {}, kThreads = {};\n"
        "constexpr int kBlocks = row_blocks(kWidth, kSlots, {}, kThreads);\n"
        "constexpr bool kWhole = {};\n"
        "template <class S>\nusing Row = RowValues<kSlots, HeldRow<S, kWidth, kWhole>>;\n"
        "template <class S, bool kDense>\nusing Load = HeldLoad<S, kWidth, kWhole, kDense>;\n",
        rows_.slots, rows_.width, rows_.lanes, threads, rows_.held, rows_.whole);
    text_ +=
        "extern \"C\" __global__ void __launch_bounds__(kThreads, kBlocks)\n"
        "    ingot_run(const Params p) {\n"
        "  wait_for_previous();\n";
    if (rows_.together > 1) {
      add("const int place = int(threadIdx.x) / kLanes;\n");
      add("const Int64 row = Int64(blockIdx.x) * {} + place;\n", rows_.together);
      add("const LaneOf<kSlots> at{{row < p.rows ? p.n : 0, int(threadIdx.x) - place * kLanes, "
          "kLanes}};\n");
    } else {
      add("const Int64 row = blockIdx.x;\n");
      add("const LaneOf<kSlots> at{{p.n, int(threadIdx.x), kLanes}};\n");
    }
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
        add("const Row<{0}> m{1}(at, Load<{0}, {2}>{{{3}, p.in[{1}].step}});\n", type, o.index,
            m.walk.inner == 1, address(o.index));
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

  void write_along(const RowInstruction& code) {
    std::string values;
    for (const Operand& o : code.in) values += ", " + value(o);
    declare(code.out[0]);
    add("row_held<{}>({}{});  // {}\n", operation(code), variable(code.out[0]), values,
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
          fmt::arg("i", i), fmt::arg("u", 3 * i));
    };
    for (std::size_t k = 0; k < code.in.size(); ++k) {
      in[k] = value(code.in[k]);
      if (k == 0 && row.held_first != nullptr) add("{};\n", text(row.held_first));
    }
    for (std::size_t k = code.in.size(); k < 5; ++k) in[k] = "Absent()";
    if (row.held_statement != nullptr) {
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
  rows.outer = nest.dim() > 1;
  return rows;
}

std::string generate_cuda_rows(const RowProgram& p, const CudaRows& rows) {
  return Writer(p, rows).text();
}

}  // namespace ingot::compiler
