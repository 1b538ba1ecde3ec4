// Checks of arguments that are made before dispatch(): their errors, too, end in the caller's line.
// Owns: with_line, and the checks that many ops share. Internal. Must not know: single ops.
#pragma once

#include <string>

#include <ingot/kernels/core/check.h>
#include <ingot/runtime/check_at.h>
#include <ingot/runtime/tensor.h>

namespace ingot {

// Runs f and adds the line to an Error that it throws.
template <class F>
auto with_line(Loc loc, F f) {
  try {
    return f();
  } catch (const IndexError& e) {
    throw IndexError(std::string(e.what()) + "; at " + to_string(loc), std::string(e.op()), loc);
  } catch (const Error& e) {
    throw Error(std::string(e.what()) + "; at " + to_string(loc), std::string(e.op()), loc);
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
  return with_line(loc, [&] { return wrap_axis(d, dims, op); });
}

}  // namespace ingot
