// Checks of arguments that are made before dispatch(): their errors, too, end in the caller's line.
// Owns: with_line, as_op, and the checks that many ops share. Internal. Must not know: single ops.
#pragma once

#include <string>

#include <ingot/kernels/core/check.h>
#include <ingot/kernels/core/check_at.h>
#include <ingot/runtime/op_errors.h>
#include <ingot/runtime/tensor.h>

namespace ingot {

// Runs f; an Error that it throws becomes one of `op`, with its line.
template <class F>
auto with_line(const char* op, Loc loc, F f) {
  try {
    return f();
  } catch (const Error& e) {
    throw_at(op, loc, e);
  }
}

// Runs f, which makes up `op` from other ops: an Error of one of these becomes one of `op`.
template <class F>
decltype(auto) as_op(const char* op, F f) {
  try {
    return f();
  } catch (const Error& e) {
    throw_as(op, e);
  }
}

// x itself; an Error when it is undefined.
inline const Tensor& given(const Tensor& x, const char* op, Loc loc) {
  INGOT_CHECK_AT(op, loc, x.defined(),
                 "an undefined Tensor (default constructed, or moved from) was given");
  return x;
}

// Axis d of x as a non-negative one.
inline int axis_of(const Tensor& x, i64 d, const char* op, Loc loc) {
  const int dims = given(x, op, loc).dim();
  return with_line(op, loc, [&] { return wrap_axis(d, dims, op); });
}

void refuse_unless_fits(const char* op, Scalar value, DType dtype, Loc loc);

// A number that elements of an integer dtype are set to, or bounded by, must be one of its values,
// where -1 stands for 255 of u8. PyTorch's rule.
inline void check_fits(const char* op, Scalar value, DType dtype, Loc loc) {
  if (is_integral(dtype)) refuse_unless_fits(op, value, dtype, loc);
}

}  // namespace ingot
