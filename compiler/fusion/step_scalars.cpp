#include <ingot/compiler/fusion/step_scalars.h>

namespace ingot::compiler {

Cell make_cell(Scalar s, DType t) {
  Cell c{};
  switch (t) {
    case DType::f32:
      // As eager kernels convert it: a whole number is rounded once.
      c.f = s.is_floating() || s.above_i64() ? static_cast<float>(s.to_double())
                                             : static_cast<float>(s.to_int());
      break;
    case DType::f64:
      c.d = s.to_double();
      break;
    case DType::i64:
      c.i = s.to_int();
      break;
    case DType::i32:
      c.i32 = static_cast<int>(s.to_int());
      break;
    case DType::u8:
      c.u8 = static_cast<unsigned char>(s.to_int());
      break;
    case DType::boolean:
      c.b = s.to_double() != 0;
      break;
    case DType::f16:
    case DType::bf16:
      break;
  }
  return c;
}

}  // namespace ingot::compiler
