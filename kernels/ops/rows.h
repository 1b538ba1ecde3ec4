#pragma once
// Owns the lists of all elementwise rows: everything that is derived from rows starts here. Must
// not know how a row is used.
#include <ingot/kernels/ops/activation.h>
#include <ingot/kernels/ops/binary.h>
#include <ingot/kernels/ops/compare.h>
#include <ingot/kernels/ops/convert.h>
#include <ingot/kernels/ops/elementary.h>
#include <ingot/kernels/ops/half.h>
#include <ingot/kernels/ops/math_f32.h>
#include <ingot/kernels/ops/math_f32_normal.h>
#include <ingot/kernels/ops/math_f32_pow.h>
#include <ingot/kernels/ops/math_f32_trig.h>
#include <ingot/kernels/ops/math_f64.h>
#include <ingot/kernels/ops/rounding.h>
#include <ingot/kernels/ops/ternary.h>
#include <ingot/kernels/ops/unary.h>

namespace ingot {
inline namespace INGOT_ISA {
namespace rows {

using UnaryRows = RowList<Neg, Abs, Sign, Exp, Expm1, Log, Log1p, Sqrt, Std, Rsqrt, Square,
                          Reciprocal, Sin, Cos, Floor, Ceil, Trunc, Round, LogicalNot, IsNan, Tanh,
                          Sigmoid, Erf, Relu, Gelu, GeluTanh, Silu, Softplus>;
using BinaryRows =
    RowList<Add, Sub, Mul, Div, Pow, Maximum, Minimum, ClampMin, ClampMax, FloorDivide, Remainder,
            Fmod, Eq, Ne, Lt, Le, Gt, Ge, LogicalAnd, LogicalOr>;
using TernaryRows = RowList<Where, Clamp, Lerp, Addcmul, Addcdiv>;  // three operands and more

}  // namespace rows
}  // namespace INGOT_ISA
}  // namespace ingot
