#include <set>

#include <fmt/format.h>

#include <ingot/compiler/codegen/text.h>
#include <ingot/kernels/ops/all_rows.h>
#include <ingot/kernels/ops/user_row.h>

namespace ingot::compiler {

namespace {

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

// One namespace for each op: two structs of one name may meet in a kernel. Its name is no op's name
// as it stands: that may be a keyword, a macro of NVRTC, or hide a function that the row calls.
std::string user_namespace(const UserRow& row) { return fmt::format("row_{}", row.row_name); }

std::string user_row_type(const UserRow& row) {
  std::string type = fmt::format("user::{}::{}", user_namespace(row), row.text.type);
  return row.gradient < 0 ? type : fmt::format("GradRow<{}, {}>", type, row.gradient);
}

}  // namespace

std::string user_rows_text(const std::vector<const OpInfo*>& ops) {
  std::string text;
  std::set<std::string_view> seen;
  for (const OpInfo* op : ops) {
    if (op == nullptr || op->user == nullptr || !seen.insert(op->user->row_name).second) continue;
    const UserRow& row = *op->user;
    text += fmt::format("namespace ingot::user::{} {{\nstruct {} {};\n}}\n", user_namespace(row),
                        row.text.type, row.text.body);
  }
  return text;
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

const char* stored_type(DType t) {
  return t == DType::f16 ? "Half" : t == DType::bf16 ? "BFloat16" : c_type(t);
}

const char* memory_type(DType t) { return t == DType::boolean ? "unsigned char" : c_type(t); }

std::string pointer_type(DType t, bool written) {
  return fmt::format("{}{}*", written ? "" : "const ", memory_type(t));
}

std::string function_head(const std::vector<const OpInfo*>& ops) {
  const std::string rows = user_rows_text(ops);
  return rows + "using namespace ingot;\n" +
         (rows.empty() ? "extern \"C\" " : "extern \"C\" __attribute__((flatten)) ");
}

std::string scalar_constants(const std::vector<ScalarUse>& scalars) {
  std::string text;
  for (std::size_t k = 0; k < scalars.size(); ++k) {
    text += fmt::format("  const Num<{0}> c{1}(*(const {0}*)((const char*)scalars + {2}));\n",
                        c_type(scalars[k].dtype), k, k * sizeof(Cell));
  }
  return text;
}

std::string stride_constant(std::size_t k) {
  return fmt::format("  const Int64 s{0} = strides[{0}];\n", k);
}

std::string operand_value(const Operand& o, const std::string& element) {
  switch (o.kind) {
    case Operand::memory:
      return fmt::format("Num<{}>({})", c_type(o.dtype), element);
    case Operand::temporary:
      return fmt::format("t{}", o.index);
    case Operand::scalar:
      return fmt::format("c{}", o.index);
    case Operand::none:
      break;
  }
  return {};
}

std::string memory_value(DType t, const std::string& value) {
  return t == DType::boolean ? fmt::format("convert<{}>({}).v", memory_type(t), value)
                             : fmt::format("({}).v", value);
}

std::string call_text(const OpInfo* op, DType result, const std::vector<std::string>& values) {
  if (op == nullptr) return fmt::format("convert<{}>({})", c_type(result), values[0]);
  return fmt::format("{}::value({})", row_type(*op), fmt::join(values, ", "));
}

const char* op_name(const OpInfo* op) { return op == nullptr ? "cast" : op->name; }

std::string row_type(const OpInfo& op) {
  if (op.user != nullptr) return user_row_type(*op.user);
  static const std::vector<std::string> names = type_names(rows::AllRows{});
  return names[static_cast<std::size_t>(op.id)];
}

}  // namespace ingot::compiler
