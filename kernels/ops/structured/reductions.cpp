#include <ingot/kernels/core/check.h>
#include <ingot/kernels/ops/structured/reductions.h>

namespace ingot::structured {

Dims reduced_sizes(const Dims& sizes, const Dims& axes, bool keepdim) {
  Dims out;
  int next = 0;
  for (int d = 0; d < sizes.size(); ++d) {
    bool reduced = next < axes.size() && axes[next] == d;
    if (reduced) ++next;
    if (!reduced) out.push_back(sizes[d]);
    if (reduced && keepdim) out.push_back(1);
  }
  return out;
}

namespace {

void set_reduced(const OpArgs& args, DType dtype, Meta* out) {
  out->dtype = dtype;
  out->device = args[0].device;
  out->sizes = reduced_sizes(args[0].sizes, args.attrs.dims, args.attrs.a != 0);
  out->strides = contiguous_strides(out->sizes);
}

void check_is_floating(const OpInfo& op, const Meta& x) {
  INGOT_CHECK(is_floating_point(x.dtype),
              "{}: needs a floating dtype, got {}; convert it with to()", op.name, describe(x));
}

// An extreme of nothing has no value: each reduced axis must have elements unless the result is
// empty anyway.
void check_not_empty(const OpInfo& op, const OpArgs& args) {
  i64 kept = reduced_sizes(args[0].sizes, args.attrs.dims, false).product();
  INGOT_CHECK(kept == 0 || args[0].numel() > 0, "{}: no elements to reduce in {}", op.name,
              describe(args[0]));
}

DType sum_dtype(DType t) { return is_floating_point(t) ? t : DType::i64; }

}  // namespace

Cost ReductionRow::cost(const OpInfo&, const OpArgs& args, const Meta* out) {
  return {.flops = static_cast<double>(args[0].numel()), .bytes = bytes_touched(args, out, 1)};
}

void ReductionRow::infer(const OpInfo& op, const OpArgs& args, Meta* out, i64*) {
  check_not_empty(op, args);
  set_reduced(args, args[0].dtype, out);
}

void Sum::infer(const OpInfo&, const OpArgs& args, Meta* out, i64*) {
  set_reduced(args, sum_dtype(args[0].dtype), out);
}

void Mean::infer(const OpInfo& op, const OpArgs& args, Meta* out, i64*) {
  check_is_floating(op, args[0]);
  set_reduced(args, args[0].dtype, out);
}

void Prod::infer(const OpInfo&, const OpArgs& args, Meta* out, i64*) {
  set_reduced(args, sum_dtype(args[0].dtype), out);
}

void Any::infer(const OpInfo&, const OpArgs& args, Meta* out, i64*) {
  set_reduced(args, DType::boolean, out);
}

void All::infer(const OpInfo&, const OpArgs& args, Meta* out, i64*) {
  set_reduced(args, DType::boolean, out);
}

void Argmax::infer(const OpInfo& op, const OpArgs& args, Meta* out, i64*) {
  check_not_empty(op, args);
  set_reduced(args, DType::i64, out);
}

void Argmin::infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset) {
  Argmax::infer(op, args, out, offset);
}

void ExtremeWithIndex::infer(const OpInfo& op, const OpArgs& args, Meta* out, i64*) {
  check_not_empty(op, args);
  set_reduced(args, args[0].dtype, out);
  set_reduced(args, DType::i64, out + 1);
}

void Topk::infer(const OpInfo&, const OpArgs& args, Meta* out, i64*) {
  const Meta& x = args[0];
  const auto axis = static_cast<int>(args.attrs.a);
  const i64 size = x.dim() == 0 ? 1 : x.sizes[axis], k = args.attrs.b;
  INGOT_CHECK_AS(IndexError, k >= 0 && k <= size,
                 "topk: k = {} is out of range for size {} of dim {}", k, size, axis);
  for (int i = 0; i < 2; ++i) {
    out[i].dtype = i == 0 ? x.dtype : DType::i64;
    out[i].device = x.device;
    out[i].sizes = x.sizes;
    if (x.dim() > 0) out[i].sizes[axis] = k;
    out[i].strides = contiguous_strides(out[i].sizes);
  }
}

void Var::infer(const OpInfo& op, const OpArgs& args, Meta* out, i64*) {
  check_is_floating(op, args[0]);
  set_reduced(args, args[0].dtype, out);
}

}  // namespace ingot::structured
