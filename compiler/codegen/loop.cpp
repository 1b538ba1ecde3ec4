#include <fmt/format.h>

#include <ingot/compiler/codegen/codegen.h>
#include <ingot/compiler/codegen/text.h>
#include <ingot/kernels/cpu/isa_level.h>

namespace ingot::compiler {

std::string generate_loop(const OpInfo& op, DType compute) {
  return function_head({&op}) + fmt::format(
                                    "void ingot_run(Int64 n, void* out, const void* const* in, "
                                    "const Int64* strides) {{\n"
                                    "  TiledLoop<{}, {}>::run(n, out, in, strides);  // {}\n}}\n",
                                    row_type(op), c_type(compute), op.name);
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
