#include <ingot/compiler/cuda/small_products.h>
#include <ingot/kernels/core/check.h>

namespace ingot::compiler {

namespace {

bool call_of(const Segment& s, const SegmentOp& op, const Binding* binding, const Attrs& attrs,
             SmallCall* call) {
  return small_product(segment_product(s, op, binding, attrs), &call->product, &call->shape);
}

}  // namespace

ProductView segment_product(const Segment& s, const SegmentOp& op, const Binding* binding,
                            const Attrs& attrs) {
  alignas(256) static char somewhere[256];
  const auto view = [&](int v) {
    if (v < 0) return BufferView{nullptr, nullptr};
    return BufferView{binding == nullptr ? somewhere : binding->address(s, v), &s.meta(v)};
  };
  std::vector<BufferView> in;
  for (int v : op.in) in.push_back(view(v));
  const BufferView out{nullptr, &s.meta(op.out[0])};
  return product_view({*op.op, in.data(), static_cast<int>(in.size()), &out, 1, attrs, {}});
}

std::vector<bool> find_small_products(const Segment& s, const std::vector<bool>& needed) {
  std::vector<bool> small(s.ops.size(), false);
  for (std::size_t i = 0; i < s.ops.size(); ++i) {
    const SegmentOp& op = s.ops[i];
    SmallCall call;
    small[i] = needed[i] && op.op->kind == OpKind::product && s.meta(op.out[0]).device.is_cuda() &&
               s.meta(op.out[0]).dtype != DType::boolean &&
               call_of(s, op, nullptr, op.attrs, &call);
  }
  return small;
}

SmallCall small_call(const Segment& s, const SegmentOp& op, const Binding* binding,
                     const Attrs& attrs) {
  SmallCall call;
  const bool small = call_of(s, op, binding, attrs, &call);
  INGOT_BUG(small, "{}: not small any more", op.op->name);
  return call;
}

}  // namespace ingot::compiler
