#include <ingot/kernels/core/check.h>
#include <ingot/kernels/ops/structured/composites.h>
#include <ingot/kernels/ops/structured/reductions.h>

namespace ingot::structured {

namespace {

void check_floating(const OpInfo& op, const Meta& x) {
  INGOT_CHECK(is_floating_point(x.dtype),
              "{}: needs a floating dtype, got {}; convert it with to()", op.name, describe(x));
}

void set_dense(const Meta& like, const Dims& sizes, DType dtype, Meta* out) {
  out->dtype = dtype;
  out->device = like.device;
  out->sizes = sizes;
  out->strides = contiguous_strides(sizes);
}

// The leading sizes that layer_norm keeps, and the trailing ones it normalises.
Dims split(const Dims& sizes, i64 trailing, bool lead) {
  Dims out;
  int cut = sizes.size() - static_cast<int>(trailing);
  for (int i = lead ? 0 : cut; i < (lead ? cut : sizes.size()); ++i) out.push_back(sizes[i]);
  return out;
}

// Composites make a few passes over a row: a multiply, an add and an exponential or root for each
// element is the order that a roofline needs.
Cost row_cost(const OpArgs& args, const Meta* out, int n_out, const Meta& rows, double flops,
              double transcendentals) {
  double n = static_cast<double>(rows.numel());
  return {.flops = flops * n,
          .transcendentals = transcendentals * n,
          .bytes = bytes_touched(args, out, n_out)};
}

void check_cross_entropy(const OpInfo& op, const Meta& logits, const Meta& target,
                         const Meta* weight) {
  check_floating(op, logits);
  INGOT_CHECK(logits.dim() == 2 && target.dim() == 1 && target.sizes[0] == logits.sizes[0],
              "{}: logits {} need targets i64{}, got {}", op.name, describe(logits),
              logits.dim() == 2 ? to_string(Dims(logits.sizes[0])) : "[rows]", describe(target));
  INGOT_CHECK(target.dtype == DType::i64, "{}: targets must be class numbers i64, got {}", op.name,
              describe(target));
  INGOT_CHECK(weight == nullptr || (weight->dim() == 1 && weight->sizes[0] == logits.sizes[1] &&
                                    weight->dtype == logits.dtype),
              "{}: class weight {} does not fit logits {}", op.name, describe(*weight),
              describe(logits));
}

}  // namespace

void AxisRow::infer(const OpInfo& op, const OpArgs& args, Meta* out, i64*) {
  check_floating(op, args[0]);
  set_dense(args[0], args[0].sizes, args[0].dtype, out);
}

Cost AxisRow::cost(const OpInfo&, const OpArgs& args, const Meta* out) {
  return row_cost(args, out, 1, args[0], 4, 1);
}

void Logsumexp::infer(const OpInfo& op, const OpArgs& args, Meta* out, i64*) {
  check_floating(op, args[0]);
  set_dense(args[0], reduced_sizes(args[0].sizes, args.attrs.dims, args.attrs.a != 0),
            args[0].dtype, out);
}

Cost Logsumexp::cost(const OpInfo&, const OpArgs& args, const Meta* out) {
  return row_cost(args, out, 1, args[0], 3, 1);
}

void LayerNorm::infer(const OpInfo& op, const OpArgs& args, Meta* out, i64*) {
  const Meta& x = args[0];
  check_floating(op, x);
  INGOT_CHECK(args.attrs.c >= 1 && args.attrs.c <= x.dim(), "layer_norm: {} trailing axes of {}",
              args.attrs.c, describe(x));
  Dims inner = split(x.sizes, args.attrs.c, false);
  for (int i = 1; i < 3; ++i) {
    INGOT_CHECK(!args.has(i) || (args[i].sizes == inner && args[i].dtype == x.dtype),
                "layer_norm: {} must be {}{}, got {}", i == 1 ? "weight" : "bias",
                ingot::name(x.dtype), to_string(inner), describe(args[i]));
  }
  Dims lead = split(x.sizes, args.attrs.c, true);
  set_dense(x, x.sizes, x.dtype, out);
  set_dense(x, lead, compute_type(x.dtype), out + 1);
  set_dense(x, lead, compute_type(x.dtype), out + 2);
}

Cost LayerNorm::cost(const OpInfo&, const OpArgs& args, const Meta* out) {
  return row_cost(args, out, 3, args[0], 8, 0);
}

void LayerNormBackward::infer(const OpInfo&, const OpArgs& args, Meta* out, i64*) {
  set_dense(args[1], args[1].sizes, args[1].dtype, out);
}

Cost LayerNormBackward::cost(const OpInfo&, const OpArgs& args, const Meta* out) {
  return row_cost(args, out, 1, args[1], 11, 0);
}

void LayerNormBackwardParams::infer(const OpInfo&, const OpArgs& args, Meta* out, i64*) {
  i64 width = split(args[1].sizes, args.attrs.c, false).product();
  set_dense(args[1], {width}, args[1].dtype, out);
  set_dense(args[1], {width}, args[1].dtype, out + 1);
}

Cost LayerNormBackwardParams::cost(const OpInfo&, const OpArgs& args, const Meta* out) {
  return row_cost(args, out, 2, args[1], 5, 0);
}

void CrossEntropy::infer(const OpInfo& op, const OpArgs& args, Meta* out, i64*) {
  const Meta& logits = args[0];
  check_cross_entropy(op, logits, args[1], args.has(2) ? args.in[2] : nullptr);
  bool none = args.attrs.a == static_cast<i64>(Reduction::none);
  set_dense(logits, none ? Dims{logits.sizes[0]} : Dims{}, logits.dtype, out);
  set_dense(logits, {logits.sizes[0]}, compute_type(logits.dtype), out + 1);
  set_dense(logits, {}, compute_type(logits.dtype), out + 2);
}

Cost CrossEntropy::cost(const OpInfo&, const OpArgs& args, const Meta* out) {
  return row_cost(args, out, 3, args[0], 3, 1);
}

void CrossEntropyBackward::infer(const OpInfo&, const OpArgs& args, Meta* out, i64*) {
  set_dense(args[1], args[1].sizes, args[1].dtype, out);
}

Cost CrossEntropyBackward::cost(const OpInfo&, const OpArgs& args, const Meta* out) {
  return row_cost(args, out, 1, args[1], 4, 1);
}

}  // namespace ingot::structured
