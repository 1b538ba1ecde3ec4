#include <fmt/format.h>

#include <ingot/compiler/codegen/codegen.h>
#include <ingot/compiler/codegen/text.h>

namespace ingot::compiler {

namespace {

// The text of an operand's element; empty when it is not in memory.
std::string element(const RunPattern& p, const Operand& o) {
  if (o.kind != Operand::memory) return {};
  const int k = o.index, stride = p.stride[static_cast<std::size_t>(k)];
  return stride == 0   ? fmt::format("p{}[0]", k)
         : stride == 1 ? fmt::format("p{}[i]", k)
                       : fmt::format("p{}[i * s{}]", k, k);
}

std::string statement(const Instruction& code, const RunPattern& pattern) {
  std::vector<std::string> values;
  for (const Operand& o : code.in) values.push_back(operand_value(o, element(pattern, o)));
  const std::string call = call_text(code.op, code.out.dtype, values);
  return code.out.kind == Operand::temporary
             ? fmt::format("const auto t{} = {};", code.out.index, call)
             : fmt::format("{} = {};", element(pattern, code.out),
                           memory_value(code.out.dtype, call));
}

}  // namespace

std::string generate_run(const PointwiseProgram& p, const RunPattern& pattern) {
  std::vector<const OpInfo*> ops;
  for (const Instruction& code : p.code) ops.push_back(code.op);
  std::string text = function_head(ops);
  text +=
      "void ingot_run(Int64 n, char* const* data, const Int64* strides, "
      "const void* scalars) {\n";
  for (std::size_t k = 0; k < p.memory.size(); ++k) {
    const bool written = static_cast<int>(k) < p.written;
    text +=
        fmt::format("  {0} p{1} = ({0})data[{1}];\n", pointer_type(p.memory_dtype[k], written), k);
    if (pattern.stride[k] == 2) text += stride_constant(k);
  }
  text += scalar_constants(p.scalars);
  text += "  (void)strides; (void)scalars;\n#pragma GCC ivdep\n";
  text += "  for (Int64 i = 0; i < n; ++i) {\n";
  for (const Instruction& code : p.code) {
    text += fmt::format("    {}  // {}\n", statement(code, pattern), op_name(code.op));
  }
  return text + "  }\n}\n";
}

}  // namespace ingot::compiler
