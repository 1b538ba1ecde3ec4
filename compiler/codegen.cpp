#include <set>

#include <fmt/format.h>

#include <ingot/compiler/codegen.h>
#include <ingot/kernels/cpu/isa_level.h>
#include <ingot/kernels/ops/all_rows.h>
#include <ingot/kernels/ops/user_row.h>

namespace ingot::compiler {

namespace {

std::string element(const RunPattern& p, int k) {
  int stride = p.stride[static_cast<std::size_t>(k)];
  return stride == 0   ? fmt::format("p{}[0]", k)
         : stride == 1 ? fmt::format("p{}[i]", k)
                       : fmt::format("p{}[i * s{}]", k, k);
}

template <class Row>
std::string type_name() {
  // "... type_name() [with Row = ingot::isa_host::rows::Tanh; ...]", or "[Row = ...]".
  std::string text = __PRETTY_FUNCTION__;
  std::size_t begin = text.find("Row = ") + 6, end = begin;
  for (int depth = 0; end < text.size() && (depth > 0 || (text[end] != ';' && text[end] != ']'));
       ++end) {
    depth += text[end] == '<' ? 1 : text[end] == '>' ? -1 : 0;
  }
  text = text.substr(begin, end - begin);
  for (std::size_t at; (at = text.find("isa_host::")) != std::string::npos;) text.erase(at, 10);
  return text;
}

template <class... R>
std::vector<std::string> type_names(RowList<R...>) {
  return {type_name<R>()...};
}

// One namespace for each op: two structs of one name may meet in a kernel.
std::string user_row_type(const UserRow& row) {
  std::string type = fmt::format("user::{}::{}", row.row_name, row.text.type);
  return row.gradient < 0 ? type : fmt::format("GradRow<{}, {}>", type, row.gradient);
}

}  // namespace

std::string user_rows_text(const std::vector<const OpInfo*>& ops) {
  std::string text;
  std::set<std::string_view> seen;
  for (const OpInfo* op : ops) {
    if (op == nullptr || op->user == nullptr || !seen.insert(op->user->row_name).second) continue;
    const UserRow& row = *op->user;
    text += fmt::format("namespace ingot::user::{} {{\nstruct {} {};\n}}\n", row.row_name,
                        row.text.type, row.text.body);
  }
  return text;
}

std::string function_head(const std::vector<const OpInfo*>& ops) {
  const std::string rows = user_rows_text(ops);
  return rows + "using namespace ingot;\n" +
         (rows.empty() ? "extern \"C\" " : "extern \"C\" __attribute__((flatten)) ");
}

std::string generate_loop(const OpInfo& op, DType compute) {
  return function_head({&op}) + fmt::format(
                                    "void ingot_run(Int64 n, void* out, const void* const* in, "
                                    "const Int64* strides) {{\n"
                                    "  TiledLoop<{}, {}>::run(n, out, in, strides);  // {}\n}}\n",
                                    row_type(op), c_type(compute), op.name);
}

const char* c_type(DType t) {
  switch (t) {
    case DType::f32:
      return "float";
    case DType::f64:
      return "double";
    case DType::i64:
      return "Int64";
    case DType::i32:
      return "int";
    case DType::u8:
      return "unsigned char";
    case DType::boolean:
      return "bool";
    case DType::f16:
    case DType::bf16:
      break;  // groups have no 16-bit operands
  }
  return "";
}

std::string row_type(const OpInfo& op) {
  if (op.user != nullptr) return user_row_type(*op.user);
  static const std::vector<std::string> names = type_names(rows::AllRows{});
  return names[static_cast<std::size_t>(op.id)];
}

std::string generate_run(const PointwiseProgram& p, const RunPattern& pattern) {
  std::vector<DType> memory_dtype(p.memory.size(), DType::f32);
  for (const Instruction& code : p.code) {
    auto note = [&](const Operand& o) {
      if (o.kind == Operand::memory) memory_dtype[static_cast<std::size_t>(o.index)] = o.dtype;
    };
    for (const Operand& o : code.in) note(o);
    note(code.out);
  }
  std::vector<const OpInfo*> ops;
  for (const Instruction& code : p.code) ops.push_back(code.op);
  std::string text = function_head(ops);
  text +=
      "void ingot_run(Int64 n, char* const* data, const Int64* strides, "
      "const void* scalars) {\n";
  for (std::size_t k = 0; k < p.memory.size(); ++k) {
    bool written = static_cast<int>(k) < p.written;
    text += fmt::format("  {0}{1}* p{2} = ({0}{1}*)data[{2}];\n", written ? "" : "const ",
                        c_type(memory_dtype[k]), k);
    if (pattern.stride[k] == 2) text += fmt::format("  const Int64 s{0} = strides[{0}];\n", k);
  }
  for (std::size_t k = 0; k < p.scalars.size(); ++k) {
    text += fmt::format("  const Num<{0}> c{1}(*(const {0}*)((const char*)scalars + {2}));\n",
                        c_type(p.scalars[k].dtype), k, 8 * k);
  }
  text += "  (void)strides; (void)scalars;\n#pragma GCC ivdep\n";
  text += "  for (Int64 i = 0; i < n; ++i) {\n";
  for (std::size_t k = 0; k < p.code.size(); ++k) {
    const Instruction& code = p.code[k];
    auto value = [&](const Operand& o) {
      switch (o.kind) {
        case Operand::memory:
          return fmt::format("Num<{}>({})", c_type(o.dtype), element(pattern, o.index));
        case Operand::temporary:
          return fmt::format("t{}", o.index);
        case Operand::scalar:
          return fmt::format("c{}", o.index);
        case Operand::none:
          break;
      }
      return std::string();
    };
    std::string expression;
    if (code.op == nullptr) {
      expression = fmt::format("convert<{}>({})", c_type(code.out.dtype), value(code.in[0]));
    } else {
      for (const Operand& o : code.in) {
        expression += (expression.empty() ? "" : ", ") + value(o);
      }
      expression = fmt::format("{}::value({})", row_type(*code.op), expression);
    }
    if (code.out.kind == Operand::temporary) {
      text += fmt::format("    const auto t{} = {};", code.out.index, expression);
    } else {
      text += fmt::format("    {} = ({}).v;", element(pattern, code.out.index), expression);
    }
    text += fmt::format("  // {}\n", code.op == nullptr ? "cast" : code.op->name);
  }
  return text + "  }\n}\n";
}

std::vector<std::string> level_flags() {
  switch (isa_level()) {
    case IsaLevel::v4:
      return {"-march=x86-64-v4", "-mprefer-vector-width=512"};
    case IsaLevel::v3:
      return {"-march=x86-64-v3"};
    case IsaLevel::base:
      break;
  }
  return {};
}

}  // namespace ingot::compiler
