#include <ingot/kernels/core/check.h>
#include <ingot/kernels/ops/elementwise.h>

namespace ingot {

namespace {

bool computes_in(const OpInfo& op, DType t) {
  auto set = static_cast<DTypeSet>(op.dtypes);
  if (t == DType::boolean) return contains(set, DTypeSet::boolean);
  return contains(set, is_floating_point(t) ? DTypeSet::floats : DTypeSet::ints);
}

}  // namespace

void infer_elementwise(const OpInfo& op, const OpArgs& args, Meta* out, i64*) {
  // Tensors of one dtype; only the leading mask of where() is bool beside others.
  const Meta* last = nullptr;
  for (int i = 0; i < args.n_in; ++i) {
    if (!args.has(i)) continue;
    const Meta& m = args[i];
    if (last == nullptr) {
      out->sizes = m.sizes;
    } else {
      INGOT_CHECK(m.device == last->device, "{}: operands on {} and {}", op.name,
                  last->device.str(), m.device.str());
      if (!(m.sizes == out->sizes)) out->sizes = broadcast(out->sizes, m.sizes, op.name);
    }
    last = &m;
  }
  INGOT_BUG(last != nullptr, "{}: no tensor among the operands", op.name);
  INGOT_CHECK(computes_in(op, last->dtype), "{}: not defined for {}", op.name, name(last->dtype));
  out->dtype = op.result_is_bool ? DType::boolean : last->dtype;
  out->device = last->device;
  out->strides = strides_like(out->sizes, args.in, args.n_in);
}

Cost elementwise_cost(const OpInfo& op, const OpArgs& args, const Meta* out) {
  double n = static_cast<double>(out->numel());
  return {.flops = n * op.flops,
          .transcendentals = n * op.transcendentals,
          .bytes = bytes_touched(args, out, 1)};
}

}  // namespace ingot
