#include <fmt/format.h>

#include <ingot/compiler/codegen/cuda.h>
#include <ingot/compiler/codegen/text.h>

namespace ingot::compiler {

namespace {

std::string statement(const Instruction& code, int index) {
  std::vector<std::string> values;
  for (const Operand& o : code.in) {
    if (o.kind == Operand::none) continue;
    values.push_back(o.kind == Operand::memory      ? fmt::format("x{}[slot]", o.index)
                     : o.kind == Operand::temporary ? fmt::format("t{}", o.index)
                                                    : fmt::format("c{}", o.index));
  }
  const std::string value = call_text(code.op, code.out.dtype, values);
  if (code.out.kind == Operand::temporary) {
    return fmt::format("const auto t{} = {};", code.out.index, value);
  }
  return fmt::format("const auto r{0} = {1}; x{2}[slot] = r{0};", index, value, code.out.index);
}

std::string place(std::size_t k) {
  return fmt::format(
      "(Int64(matrix) * p.in[{0}].step + row * p.in[{0}].row + column * "
      "p.in[{0}].column)",
      k);
}

}  // namespace

std::string generate_cuda_product(const PointwiseProgram& p, const SmallShape& shape) {
  const std::size_t n = p.memory.size();
  std::vector<const OpInfo*> ops;
  for (const Instruction& code : p.code) ops.push_back(code.op);
  const char* const type = c_type(static_cast<DType>(shape.dtype));
  std::string text = user_rows_text(ops);
  text += "using namespace ingot;\nstruct Params {\n  SmallProduct product;\n";
  text += fmt::format("  struct {{ void* data; Int64 step, row, column; }} in[{}];\n", n);
  if (!p.scalars.empty()) {
    text += fmt::format("  alignas(8) char cells[{}][8];\n", p.scalars.size());
  }
  text += fmt::format("}};\nstruct Tail {{\n  static constexpr int kSlots = small_slots<{}>;\n",
                      shape.tile_rows);
  text += fmt::format("  const Params& p;\n  ProductResult<{}, kSlots> result;\n", type);
  std::string load, store;
  for (std::size_t k = 0; k < n; ++k) {
    const char* const t = c_type(p.memory_dtype[k]);
    text += fmt::format("  Num<{}> x{}[kSlots];\n", t, k);
    if (reads_operand(p, static_cast<int>(k))) {
      load += fmt::format("    x{0}[slot] = Num<{1}>(((const {1}*)p.in[{0}].data)[{2}]);\n", k, t,
                          place(k));
    }
    if (static_cast<int>(k) < p.written) {
      store += fmt::format("    (({1}*)p.in[{0}].data)[{2}] = x{0}[slot].v;\n", k, t, place(k));
    }
  }
  // Operands are loaded while the product's own are on their way.
  text +=
      "  __device__ __forceinline__ void load(int slot, unsigned matrix, int row, int column) "
      "{\n    result.load(p.product, slot, row, column);\n" +
      load + "  }\n";
  text += fmt::format(
      "  __device__ __forceinline__ void finish(int slot, unsigned matrix, int row, int column, "
      "Num<{0}> sum) {{\n    const Num<{0}> y(result.value(p.product, slot, sum));  // {1}\n",
      type, p.product_name);
  for (std::size_t k = 0; k < p.scalars.size(); ++k) {
    text += fmt::format("    const Num<{0}> c{1}(*(const {0}*)p.cells[{1}]);\n",
                        c_type(p.scalars[k].dtype), k);
  }
  text += p.product_out.kind == Operand::memory
              ? fmt::format("    x{}[slot] = y;\n", p.product_out.index)
              : fmt::format("    const auto t{} = y;\n", p.product_out.index);
  for (std::size_t k = 0; k < p.code.size(); ++k) {
    text += fmt::format("    {}  // {}\n", statement(p.code[k], static_cast<int>(k)),
                        op_name(p.code[k].op));
  }
  text += store + "  }\n};\n";
  const auto side = [](bool along) { return along ? "true" : "false"; };
  text += fmt::format(
      "extern \"C\" __global__ void __launch_bounds__(kSmallThreads, kSmallBlocks) "
      "ingot_run(const Params p) {{\n  wait_for_previous();\n  Tail tail{{p}};\n"
      "  SmallTile<{}, {}, {}, {}, {}>::run(p.product, tail);\n}}\n",
      type, shape.tile_rows, side(shape.a_along), side(shape.b_along), side(shape.quads));
  return text;
}

}  // namespace ingot::compiler
