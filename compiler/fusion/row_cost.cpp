#include <algorithm>

#include <ingot/compiler/fusion/row_program.h>

namespace ingot::compiler {

Cost cost_of(const RowProgram& p, const Segment& s) {
  Cost cost;
  for (int i : p.ops) {
    const SegmentOp& op = s.ops[static_cast<std::size_t>(i)];
    if (op.op->kind == OpKind::elementwise) {
      const double n = static_cast<double>(s.meta(op.out[0]).numel());
      cost.flops += n * op.op->flops;
      cost.transcendentals += n * op.op->transcendentals;
    } else if (op.op->cost != nullptr) {
      std::vector<const Meta*> in;
      for (int v : op.in) in.push_back(v < 0 ? nullptr : &s.meta(v));
      std::vector<Meta> out;
      for (int v : op.out) out.push_back(s.meta(v));
      const Cost own = op.op->cost(
          *op.op, {in.data(), static_cast<int>(in.size()), op.attrs, out[0].device}, out.data());
      cost.flops += own.flops;
      cost.transcendentals += own.transcendentals;
    }
  }
  for (const RowMemory& m : p.memory) {
    cost.bytes += static_cast<double>(s.meta(m.value).numel()) * item_size(m.dtype);
  }
  return cost;
}

double row_divisor(const ScalarUse& use, const Segment& s, i64 length) {
  const i64 correction =
      use.kind == ScalarUse::freedom ? s.ops[static_cast<std::size_t>(use.op)].attrs.b : 0;
  return static_cast<double>(std::max<i64>(length - correction, 0));
}

}  // namespace ingot::compiler
