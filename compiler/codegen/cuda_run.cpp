#include <algorithm>

#include <fmt/format.h>

#include <ingot/compiler/codegen/cuda.h>
#include <ingot/compiler/codegen/text.h>

namespace ingot::compiler {

namespace {

// Programs with 16-bit floats compute two elements at a time: the values of a step are twins.
bool has_narrow(const PointwiseProgram& p) {
  bool narrow = std::any_of(p.memory_dtype.begin(), p.memory_dtype.end(), is_narrow);
  for (const Instruction& code : p.code) narrow = narrow || is_narrow(code.out.dtype);
  return narrow;
}

// The instruction for element l, or twin l.
std::string statement(const Instruction& code, int index, bool twins) {
  const char* const element = twins ? "x{}.at[l]" : "x{}[l]";
  const auto in_memory = [&](int k) { return fmt::format(fmt::runtime(element), k); };
  std::vector<std::string> values;
  for (const Operand& o : code.in) {
    switch (o.kind) {
      case Operand::memory:
        values.push_back(in_memory(o.index));
        break;
      case Operand::temporary:
        values.push_back(fmt::format("t{}", o.index));
        break;
      case Operand::scalar:
        values.push_back(fmt::format("c{}", o.index));
        break;
      case Operand::none:
        break;
    }
  }
  const DType result = code.out.dtype;
  const std::string value = !twins ? call_text(code.op, result, values)
                            : code.op == nullptr
                                ? fmt::format("twin_cast<{}>({})", stored_type(result), values[0])
                                : fmt::format("twin_value<{}, {}>({})", row_type(*code.op),
                                              stored_type(result), fmt::join(values, ", "));
  if (code.out.kind == Operand::temporary) {
    return fmt::format("const auto t{} = {};", code.out.index, value);
  }
  return fmt::format("const auto r{0} = {1}; {2} = r{0};", index, value, in_memory(code.out.index));
}

// Operand k at p<k>, `stride` apart: 0, 1, or 2 for what the parameter says. Whole vectors have
// count == W.
std::string load_text(std::size_t k, int stride, const char* type, bool twins) {
  if (stride == 0) {
    if (twins) return fmt::format("  x{0}.fill(*p{0});\n", k);
    return fmt::format(
        "  {{ const auto v = widen(*p{0}); for (int l = 0; l < W; ++l) x{0}[l] = v; }}\n", k);
  }
  const std::string step = stride == 1 ? "1" : fmt::format("p.in[{}].stride", k);
  const std::string some =
      twins ? fmt::format("x{0}.load(p{0}, {1}, count);\n", k, step)
            : fmt::format(
                  "for (int l = 0; l < W; ++l) if (l < count) x{0}[l] = widen(p{0}[l * "
                  "{1}]);\n",
                  k, step);
  if (stride != 1) return "  " + some;
  const std::string whole =
      twins ? fmt::format("x{0}.load(p{0});\n", k)
            : fmt::format("widen_all(*(const Pack<{0}, W>*)p{1}, x{1});\n", type, k);
  return "  if (count == W) " + whole + "  else " + some;
}

std::string store_text(std::size_t k, int stride, const char* type, bool twins) {
  const std::string step = stride == 1 ? "1" : fmt::format("p.in[{}].stride", k);
  const std::string some = twins ? fmt::format("x{0}.store(p{0}, {1}, count);\n", k, step)
                                 : fmt::format(
                                       "for (int l = 0; l < W; ++l) if (l < count) p{0}[l * {1}] = "
                                       "narrow<{2}>(x{0}[l]);\n",
                                       k, step, type);
  if (stride != 1) return "  " + some;
  const std::string whole =
      twins ? fmt::format("x{0}.store(p{0});\n", k)
            : fmt::format("*(Pack<{0}, W>*)p{1} = narrow_all<{0}, W>(x{1});\n", type, k);
  return "  if (count == W) " + whole + "  else " + some;
}

}  // namespace

CudaPattern cuda_pattern(const PointwiseProgram& p, const Nest& nest) {
  CudaPattern pattern;
  int widest = 1;
  for (DType t : p.memory_dtype) widest = std::max(widest, item_size(t));
  pattern.width = 16 / widest;
  pattern.outer = nest.dim() > 1;
  for (int k = 0; k < nest.operands(); ++k) {
    const i64 inner = nest.stride(0, k);
    pattern.stride.push_back(inner == 0 || inner == 1 ? static_cast<int>(inner) : 2);
  }
  return pattern;
}

std::string generate_cuda_run(const PointwiseProgram& p, const CudaPattern& pattern) {
  const std::size_t n = p.memory.size();
  std::vector<const OpInfo*> ops;
  for (const Instruction& code : p.code) ops.push_back(code.op);
  std::string text = user_rows_text(ops);
  text += "using namespace ingot;\n";
  text += "struct Params {\n";
  text += fmt::format("  struct {{ void* data; Int64 stride; }} in[{}];\n", n);
  text += "  Int64 n;\n  int vectors, outer;\n";
  if (pattern.outer) {
    text += fmt::format("  FastDivisor run, sizes[{0}];\n  int strides[{0}][{1}];\n", kCudaAxes, n);
  }
  if (!p.scalars.empty()) {
    text += fmt::format("  alignas(8) char cells[{}][8];\n", p.scalars.size());
  }
  text += "};\n";
  text += fmt::format(
      "extern \"C\" __global__ void __launch_bounds__({}) ingot_run(const Params p) {{\n"
      "  wait_for_previous();\n"
      "  constexpr int W = {};\n"
      "  const Int64 thread = Int64(blockIdx.x) * {} + threadIdx.x;\n"
      "  const Int64 first = p.vectors ? thread * W : thread;\n"
      "  if (first >= p.n) return;\n"
      "  int count = p.vectors ? W : 1;\n",
      kCudaThreads, pattern.width, kCudaThreads);
  if (pattern.outer) {
    text += fmt::format(
        "  unsigned rest = p.run.quotient(unsigned(thread));\n"
        "  const Int64 inside = Int64(unsigned(thread) - rest * p.run.value()) * "
        "(p.vectors ? W : 1);\n"
        "  Int64 at[{}] = {{}};\n"
        "#pragma unroll 1\n"
        "  for (int d = 0; d < p.outer; ++d) {{\n"
        "    const unsigned outside = p.sizes[d].quotient(rest);\n"
        "    const int index = int(rest - outside * p.sizes[d].value());\n",
        n);
    for (std::size_t k = 0; k < n; ++k) {
      text += fmt::format("    at[{0}] += Int64(index) * p.strides[d][{0}];\n", k);
    }
    text += "    rest = outside;\n  }\n";
  } else {
    text += "  if (p.n - first < count) count = int(p.n - first);\n";
    text += "  const Int64 inside = first;\n";
  }
  for (std::size_t k = 0; k < p.scalars.size(); ++k) {
    text += fmt::format("  const Num<{0}> c{1}(*(const {0}*)p.cells[{1}]);\n",
                        c_type(p.scalars[k].dtype), k);
  }
  // Operands are loaded before the first result is stored: a result may be an operand.
  const auto element = [&](std::size_t k) {
    const std::string offset = pattern.outer ? fmt::format("at[{}] + ", k) : std::string();
    switch (pattern.stride[k]) {
      case 0:
        return pattern.outer ? fmt::format("at[{}]", k) : std::string("0");
      case 1:
        return fmt::format("{}inside", offset);
      default:
        return fmt::format("{}inside * p.in[{}].stride", offset, k);
    }
  };
  const bool twins = has_narrow(p);
  for (std::size_t k = 0; k < n; ++k) {
    const bool written = static_cast<int>(k) < p.written;
    const char* const type = stored_type(p.memory_dtype[k]);
    text += fmt::format("  {0}{1}* p{2} = ({0}{1}*)p.in[{2}].data + {3};\n",
                        written ? "" : "const ", type, k, element(k));
    text += twins ? fmt::format("  Twins<{}, W> x{};\n", type, k)
                  : fmt::format("  Num<{}> x{}[W];\n", c_type(p.memory_dtype[k]), k);
  }
  for (std::size_t k = 0; k < n; ++k) {
    if (!reads_operand(p, static_cast<int>(k))) continue;
    text += load_text(k, pattern.stride[k], stored_type(p.memory_dtype[k]), twins);
  }
  text += fmt::format("#pragma unroll\n  for (int l = 0; l < W{}; ++l) {{\n", twins ? " / 2" : "");
  for (std::size_t k = 0; k < p.code.size(); ++k) {
    text += fmt::format("    {}  // {}\n", statement(p.code[k], static_cast<int>(k), twins),
                        op_name(p.code[k].op));
  }
  text += "  }\n";
  for (int k = 0; k < p.written; ++k) {
    const auto place = static_cast<std::size_t>(k);
    text += store_text(place, pattern.stride[place], stored_type(p.memory_dtype[place]), twins);
  }
  return text + "}\n";
}

}  // namespace ingot::compiler
