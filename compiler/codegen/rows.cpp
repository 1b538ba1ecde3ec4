#include <map>
#include <set>

#include <fmt/format.h>

#include <ingot/compiler/codegen/codegen.h>
#include <ingot/compiler/codegen/text.h>

namespace ingot::compiler {

namespace {

class RowsWriter {
 public:
  explicit RowsWriter(const RowProgram& p) : p_(p) {}

  std::string text() {
    std::vector<const OpInfo*> ops;
    for (const RowInstruction& code : p_.code) ops.push_back(code.op);
    text_ = function_head(ops);
    text_ +=
        "void ingot_run(Int64 rows, Int64 n, char* const* data,\n"
        "    const Int64* row_strides, const Int64* strides, const void* scalars, char* scratch) "
        "{\n";
    for (std::size_t k = 0; k < p_.memory.size(); ++k) {
      const i64 inner = p_.memory[k].walk.inner;
      if (inner != 0 && inner != 1) text_ += stride_constant(k);
    }
    text_ += scalar_constants(p_.scalars);
    text_ += "  const Int64 slot = (8 * n + 63) / 64 * 64;\n";
    for (std::size_t k = 0; k < p_.temporaries.size(); ++k) {
      const RowTemporary& t = p_.temporaries[k];
      if (!t.row) continue;
      text_ += fmt::format("  {0}* const t{1} = ({0}*)(scratch + {2} * slot);\n",
                           memory_type(t.dtype), k, t.slot);
    }
    text_ += "  (void)strides; (void)scalars; (void)scratch; (void)slot;\n";
    text_ += "  for (Int64 r = 0; r < rows; ++r) {\n";
    for (std::size_t k = 0; k < p_.memory.size(); ++k) {
      const bool written = static_cast<int>(k) < p_.written;
      text_ += fmt::format("    {0} const p{1} = ({0})data[{1}] + r * row_strides[{1}];\n",
                           pointer_type(p_.memory[k].dtype, written), k);
    }
    for (std::size_t i = 0; i < p_.code.size();) {
      std::size_t end = i + 1;
      if (p_.code[i].kind == RowInstruction::along) {
        while (end < p_.code.size() && p_.code[end].kind == RowInstruction::along) ++end;
        write_loop(i, end);
      } else {
        p_.code[i].kind == RowInstruction::once ? write_once(p_.code[i]) : write_whole(i);
      }
      i = end;
    }
    return text_ + "  }\n}\n";
  }

 private:
  using Place = std::pair<Operand::Kind, int>;
  static Place place(const Operand& o) { return {o.kind, o.index}; }

  // The operand of an element's or a value's instruction, outside of a loop: one value.
  static std::string value(const Operand& o) {
    return operand_value(o, fmt::format("p{}[0]", o.index));
  }

  // Rows that an instruction from `begin` on reads.
  std::set<Place> read_from(std::size_t begin) const {
    std::set<Place> read;
    for (std::size_t i = begin; i < p_.code.size(); ++i) {
      for (const Operand& o : p_.code[i].in) read.insert(place(o));
    }
    return read;
  }

  void write_loop(std::size_t begin, std::size_t end) {
    const std::set<Place> needed_later = read_from(end);
    std::map<Place, std::string> local;
    std::string constants, body;
    for (std::size_t i = begin; i < end; ++i) {
      const RowInstruction& code = p_.code[i];
      std::vector<std::string> values;
      for (const Operand& o : code.in) {
        std::string& element = local[place(o)];
        if (element.empty()) {
          const i64 step = inner_stride(p_, o);
          if (o.kind == Operand::memory && step == 0) {
            element = fmt::format("m{}", o.index);
            constants += fmt::format("    const auto m{} = {};\n", o.index, value(o));
          } else if (step == 0) {
            element = value(o);
          } else {
            element = fmt::format("Num<{}>({}{}[i{}])", c_type(o.dtype),
                                  o.kind == Operand::memory ? "p" : "t", o.index,
                                  step == 1 ? "" : fmt::format(" * s{}", o.index));
          }
        }
        values.push_back(element);
      }
      const Operand& out = code.out[0];
      body += fmt::format("      const auto v{} = {};  // {}\n", i,
                          call_text(code.op, out.dtype, values), op_name(code.op));
      local[place(out)] = fmt::format("v{}", i);
      const std::string element = memory_value(out.dtype, fmt::format("v{}", i));
      if (out.kind == Operand::memory) {
        body += fmt::format("      p{}[i] = {};\n", out.index, element);
      }
      if (out.kind == Operand::temporary && needed_later.count(place(out)) > 0) {
        body += fmt::format("      t{}[i] = {};\n", out.index, element);
      }
    }
    // Constants of their own scope: two loops may read the same operand.
    text_ += "    {\n" + constants + "#pragma GCC ivdep\n    for (Int64 i = 0; i < n; ++i) {\n" +
             body + "    }\n    }\n";
  }

  void write_once(const RowInstruction& code) {
    std::vector<std::string> values;
    for (const Operand& o : code.in) values.push_back(value(o));
    store(code.out[0], call_text(code.op, code.out[0].dtype, values), op_name(code.op));
  }

  void store(const Operand& out, const std::string& expression, const char* comment) {
    text_ += out.kind == Operand::memory
                 ? fmt::format("    p{}[0] = {};  // {}\n", out.index,
                               memory_value(out.dtype, expression), comment)
                 : fmt::format("    const auto t{} = {};  // {}\n", out.index, expression, comment);
  }

  void write_whole(std::size_t i) {
    const RowInstruction& code = p_.code[i];
    const auto in = [&](std::size_t k) {
      if (k >= code.in.size()) return std::string();
      return code.row->is_row_value(k) ? value(code.in[k]) : row(code.in[k]);
    };
    const auto text = [&](const char* pattern) {
      return fmt::format(fmt::runtime(pattern), fmt::arg("t", c_type(code.compute)),
                         fmt::arg("a", in(0)), fmt::arg("b", in(1)), fmt::arg("c", in(2)),
                         fmt::arg("d", in(3)), fmt::arg("e", in(4)),
                         fmt::arg("y", row(code.out[0])),
                         fmt::arg("s", fmt::format("c{}", code.scalar)), fmt::arg("i", i));
    };
    if (code.row->statement != nullptr) {
      text_ += fmt::format("    {};  // {}\n", text(code.row->statement), code.op->name);
    }
    for (std::size_t k = 0; k < code.out.size(); ++k) {
      const char* value = code.row->values[k];
      if (value != nullptr) store(code.out[k], text(value), code.op->name);
    }
  }

  // The address of a whole row.
  static std::string row(const Operand& o) {
    if (o.kind == Operand::none) return "nullptr";
    return fmt::format("{}{}", o.kind == Operand::memory ? "p" : "t", o.index);
  }

  const RowProgram& p_;
  std::string text_;
};

}  // namespace

std::string generate_rows(const RowProgram& p) { return RowsWriter(p).text(); }

}  // namespace ingot::compiler
