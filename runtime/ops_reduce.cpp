// Reductions: axes are settled here (none given: all; negative ones count from the back).
#include <ingot/kernels/core/check.h>
#include <ingot/kernels/ops/structured/composites.h>
#include <ingot/kernels/ops/structured/reductions.h>
#include <ingot/runtime/arguments.h>
#include <ingot/runtime/internal_ops.h>

namespace ingot {

namespace {

// Ascending non-negative axes; a 0-d tensor accepts 0 and -1 and reduces over nothing.
Dims settle_axes(const char* op, const Tensor& x, const Dims& axes, Loc loc) {
  (void)given(x, op, loc);
  unsigned mask = 0;
  for (i64 a : axes) {
    unsigned bit = 1u << axis_of(x, a, op, loc);
    INGOT_CHECK_AT(op, loc, (mask & bit) == 0, "dim {} appears twice in {}", a, to_string(axes));
    mask |= bit;
  }
  Dims out;
  for (int d = 0; d < x.dim(); ++d) {
    if (axes.empty() || (mask >> d & 1) != 0) out.push_back(d);
  }
  return out;
}

template <class Row>
void reduce(const Tensor& x, const Dims& axes, bool keepdim, Tensor* out, Loc loc,
            i64 correction = 0) {
  Attrs attrs;
  attrs.dims = settle_axes(structured_op<Row>.name, x, axes, loc);
  attrs.a = keepdim ? 1 : 0;
  attrs.b = correction;
  const Tensor* in[] = {&x};
  dispatch({structured_op<Row>, in, 1, attrs, loc}, out);
}

template <class Row>
Tensor reduce(const Tensor& x, const Dims& axes, bool keepdim, Loc loc, i64 correction = 0) {
  Tensor out;
  reduce<Row>(x, axes, keepdim, &out, loc, correction);
  return out;
}

template <class Row>
ValuesIndices with_index(const Tensor& x, int axis, bool keepdim, Loc loc) {
  Tensor out[2];
  reduce<Row>(x, axis, keepdim, out, loc);
  return {out[0], out[1]};
}

// A sum over no axes is the tensor itself, in the sum's dtype.
Tensor sum_over_nothing(const Tensor& x, Loc loc) {
  return is_floating_point(x.dtype()) ? x : x.to(kInt64, loc);
}

}  // namespace

Tensor sum(const Tensor& x, Loc loc) { return reduce<structured::Sum>(x, {}, false, loc); }
Tensor sum(const Tensor& x, Dims axes, Flag keepdim, Loc loc) {
  return reduce<structured::Sum>(x, axes, keepdim, loc);
}
Tensor mean(const Tensor& x, Loc loc) { return reduce<structured::Mean>(x, {}, false, loc); }
Tensor mean(const Tensor& x, Dims axes, Flag keepdim, Loc loc) {
  return reduce<structured::Mean>(x, axes, keepdim, loc);
}
Tensor prod(const Tensor& x, Loc loc) { return reduce<structured::Prod>(x, {}, false, loc); }
Tensor prod(const Tensor& x, Dims axes, Flag keepdim, Loc loc) {
  return reduce<structured::Prod>(x, axes, keepdim, loc);
}
Tensor amax(const Tensor& x, Dims axes, Flag keepdim, Loc loc) {
  return reduce<structured::Amax>(x, axes, keepdim, loc);
}
Tensor amin(const Tensor& x, Dims axes, Flag keepdim, Loc loc) {
  return reduce<structured::Amin>(x, axes, keepdim, loc);
}
Tensor max(const Tensor& x, Loc loc) {
  return as_op("max", [&] { return amax(x, {}, false, loc); });
}
Tensor min(const Tensor& x, Loc loc) {
  return as_op("min", [&] { return amin(x, {}, false, loc); });
}
ValuesIndices max(const Tensor& x, Int axis, Flag keepdim, Loc loc) {
  return with_index<structured::MaxDim>(x, axis, keepdim, loc);
}
ValuesIndices min(const Tensor& x, Int axis, Flag keepdim, Loc loc) {
  return with_index<structured::MinDim>(x, axis, keepdim, loc);
}
ValuesIndices topk(const Tensor& x, i64 k, Int axis, Flag largest, Loc loc) {
  Attrs attrs;
  attrs.a = axis_of(x, axis, "topk", loc);
  attrs.b = k;
  attrs.c = largest ? 1 : 0;
  const Tensor* in[] = {&x};
  Tensor out[2];
  dispatch({structured_op<structured::Topk>, in, 1, attrs, loc}, out);
  return {out[0], out[1]};
}
Tensor argmax(const Tensor& x, Loc loc) { return reduce<structured::Argmax>(x, {}, false, loc); }
Tensor argmax(const Tensor& x, Int axis, Flag keepdim, Loc loc) {
  return reduce<structured::Argmax>(x, int{axis}, keepdim, loc);
}
Tensor argmin(const Tensor& x, Loc loc) { return reduce<structured::Argmin>(x, {}, false, loc); }
Tensor argmin(const Tensor& x, Int axis, Flag keepdim, Loc loc) {
  return reduce<structured::Argmin>(x, int{axis}, keepdim, loc);
}
Tensor any(const Tensor& x, Dims axes, Flag keepdim, Loc loc) {
  return reduce<structured::Any>(x, axes, keepdim, loc);
}
Tensor all(const Tensor& x, Dims axes, Flag keepdim, Loc loc) {
  return reduce<structured::All>(x, axes, keepdim, loc);
}
Tensor var(const Tensor& x, Dims axes, Int correction, Flag keepdim, Loc loc) {
  return reduce<structured::Var>(x, axes, keepdim, loc, correction);
}
Tensor logsumexp(const Tensor& x, Int axis, Flag keepdim, Loc loc) {
  Attrs attrs;
  attrs.dims = axis_of(x, axis, "logsumexp", loc);
  attrs.a = keepdim ? 1 : 0;
  const Tensor* in[] = {&x};
  return dispatch({structured_op<structured::Logsumexp>, in, 1, attrs, loc});
}

Tensor sum_to_size(const Tensor& x, const Dims& sizes, Loc loc) {
  if (x.sizes() == sizes) return x;
  int shift = x.dim() - sizes.size();
  Dims axes;
  for (int d = 0; d < x.dim(); ++d) {
    if (d < shift || (sizes[d - shift] == 1 && x.sizes()[d] != 1)) axes.push_back(d);
  }
  Tensor summed = axes.empty() ? sum_over_nothing(x, loc) : sum(x, axes, true, loc);
  return reshape(summed, sizes, loc);
}

}  // namespace ingot
