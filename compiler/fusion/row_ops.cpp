#include <ingot/compiler/fusion/row_ops.h>
#include <ingot/kernels/ops/structured/composites.h>
#include <ingot/kernels/ops/structured/reductions.h>

namespace ingot::compiler {

namespace {

using namespace structured;

// Entries of RowLoops that share a signature.
using Reduce = void (*RowLoops::*)(RowLoops::Int n, const void* x, void* out);
using AlongAxis = RowLoops::AxisRow RowLoops::*;

template <Reduce loop>
void run_reduction(const RowCall& c) {
  (c.f.*loop)(c.n, c.in[0], c.out[0]);
  if (c.scalar != nullptr) c.f.divide(c.out[0], c.scalar, c.out[0]);
}
template <AlongAxis loop>
void run_along_axis(const RowCall& c) {
  (c.f.*loop)(c.n, c.in[0], c.in[1], c.out[0]);
}
void run_layer_norm(const RowCall& c) {
  const double eps = c.compute == DType::f32 ? static_cast<double>(c.scalar->f) : c.scalar->d;
  c.f.layer_norm(c.n, c.in[0], c.in[1], c.in[2], eps, c.out[0], c.out[1], c.out[2]);
}
void run_layer_norm_backward(const RowCall& c) {  // in: dy, x, mean, rstd, weight
  c.f.layer_norm_backward(c.n, c.in[0], c.in[1], c.in[4], c.in[2], c.in[3], c.out[0]);
}

template <Reduce loop>
constexpr RowOp reduction(const OpInfo& op, const char* value, const char* held,
                          std::optional<ScalarUse::Kind> divisor = {}) {
  return {.op = &op,
          .axes = RowOp::list,
          .run = run_reduction<loop>,
          .values = {value},
          .held_values = {held},
          .reduces = true,
          .scalar = divisor};
}
// A reduction whose partial results are reduced by the same loop.
template <Reduce loop>
constexpr RowOp fold(const OpInfo& op, const char* value, const char* held,
                     std::optional<ScalarUse::Kind> divisor = {}) {
  RowOp entry = reduction<loop>(op, value, held, divisor);
  entry.combine = loop;
  return entry;
}
template <AlongAxis loop>
constexpr RowOp along_axis(const OpInfo& op, const char* statement, const char* held) {
  return {.op = &op,
          .axes = RowOp::axis,
          .run = run_along_axis<loop>,
          .statement = statement,
          .held_statement = held};
}

constexpr RowOp kRowOps[] = {
    fold<&RowLoops::sum>(structured_op<Sum>,
                         "rows::reduce_row<rows::SumRow>(n, rows::Elements<{t}>{{{a}}})",
                         "reduce_held<rows::SumRow, {u}>(at, {a})"),
    fold<&RowLoops::prod>(structured_op<Prod>,
                          "rows::reduce_row<rows::ProdRow>(n, rows::Elements<{t}>{{{a}}})",
                          "reduce_held<rows::ProdRow, {u}>(at, {a})"),
    fold<&RowLoops::max>(structured_op<Amax>,
                         "rows::reduce_row<rows::MaxRow>(n, rows::Elements<{t}>{{{a}}})",
                         "reduce_held<rows::MaxRow, {u}>(at, {a})"),
    fold<&RowLoops::min>(structured_op<Amin>,
                         "rows::reduce_row<rows::MinRow>(n, rows::Elements<{t}>{{{a}}})",
                         "reduce_held<rows::MinRow, {u}>(at, {a})"),
    fold<&RowLoops::sum>(structured_op<Mean>,
                         "rows::reduce_row<rows::SumRow>(n, rows::Elements<{t}>{{{a}}}) / {s}",
                         "reduce_held<rows::SumRow, {u}>(at, {a}) / {s}", ScalarUse::count),
    reduction<&RowLoops::squares>(
        structured_op<Var>, "rows::squares_row<{t}>(n, {a}, rows::centre_row<{t}>(n, {a})) / {s}",
        "variance_held<{u}>(at, {a}, {s})", ScalarUse::freedom),
    reduction<&RowLoops::logsumexp>(structured_op<Logsumexp>, "rows::logsumexp_row<{t}>(n, {a})",
                                    "logsumexp_held<{u}>(at, {a})"),
    along_axis<&RowLoops::softmax>(structured_op<Softmax>, "rows::softmax_row<{t}>(n, {a}, {y})",
                                   "softmax_held<{u}>(at, {a}, {y})"),
    along_axis<&RowLoops::log_softmax>(structured_op<LogSoftmax>,
                                       "rows::log_softmax_row<{t}>(n, {a}, {y})",
                                       "log_softmax_held<{u}>(at, {a}, {y})"),
    along_axis<&RowLoops::softmax_backward>(structured_op<SoftmaxBackward>,
                                            "rows::softmax_backward_row<{t}>(n, {a}, {b}, {y})",
                                            "softmax_backward_held<{u}>(at, {a}, {b}, {y})"),
    along_axis<&RowLoops::log_softmax_backward>(
        structured_op<LogSoftmaxBackward>, "rows::log_softmax_backward_row<{t}>(n, {a}, {b}, {y})",
        "log_softmax_backward_held<{u}>(at, {a}, {b}, {y})"),
    {.op = &structured_op<LayerNorm>,
     .axes = RowOp::trailing,
     .run = run_layer_norm,
     .statement = "const auto moments{i} = rows::layer_norm_row<{t}>(n, {a}, {b}, {c}, {s}, {y})",
     .values = {nullptr, "moments{i}.mean", "moments{i}.rstd"},
     .held_first = "const auto moments{i} = moments_lanes<kSlots, {u}>(at, {a}, {s})",
     .held_statement = "layer_norm_held(at, {a}, {b}, {c}, moments{i}, {y})",
     .held_values = {nullptr, "moments{i}.mean", "moments{i}.rstd"},
     .held_lazily = "layer_norm_lazy<{r}, kWidth>({a}, {b}, {c}, moments{i})",
     .scalar = ScalarUse::attribute,
     .seen_once = 1u << 1 | 1u << 2},
    {.op = &structured_op<LayerNormBackward>,
     .axes = RowOp::trailing,
     .run = run_layer_norm_backward,
     .statement = "rows::layer_norm_backward_row<{t}>(n, {a}, {b}, {e}, "
                  "rows::RowMoments<{t}>{{{c}, {d}}}, {y})",
     .held_statement = "layer_norm_backward_held<{u}>(at, {a}, {b}, {e}, "
                       "rows::RowMoments<{t}>{{{c}, {d}}}, {y})",
     .row_values = 1u << 2 | 1u << 3},
};

}  // namespace

const RowOp* row_op(const OpInfo& op) {
  for (const RowOp& entry : kRowOps) {
    if (*entry.op == op) return &entry;
  }
  return nullptr;
}

}  // namespace ingot::compiler
