#include <limits>

#include <ingot/runtime/arguments.h>

namespace ingot {

namespace {

template <class T>
bool fits(Scalar value) {
  constexpr T least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
  if (value.is_floating()) {
    const double v = value.to_double();
    // The largest i64 is no double; its successor is.
    return v >= static_cast<double>(least) &&
           (sizeof(T) == 8 ? v < static_cast<double>(most) : v <= static_cast<double>(most));
  }
  if (value.above_i64()) return false;
  const i64 v = value.to_int();
  // A negative one of an unsigned type wraps, as in C.
  return (least == 0 ? v >= -static_cast<i64>(most) : v >= static_cast<i64>(least)) &&
         v <= static_cast<i64>(most);
}

}  // namespace

void refuse_unless_fits(const char* op, Scalar value, DType dtype, Loc loc) {
  const bool ok = dtype == DType::i64   ? fits<i64>(value)
                  : dtype == DType::i32 ? fits<int>(value)
                                        : fits<unsigned char>(value);
  INGOT_CHECK_AT(op, loc, ok, "{} does not fit {}", value.str(), name(dtype));
}

}  // namespace ingot
