#include <algorithm>
#include <set>

#include <ingot/compiler/step_cost.h>

namespace ingot::compiler {

namespace {

Cost cost_of(const SegmentOp& op, const Segment& segment) {
  if (op.op->cost == nullptr) return {};
  std::vector<const Meta*> in;
  for (int v : op.in) in.push_back(v < 0 ? nullptr : &segment.meta(v));
  std::vector<Meta> out;
  for (int v : op.out) out.push_back(segment.meta(v));
  const Device device = out.empty() ? Device(kCPU) : out[0].device;
  return op.op->cost(*op.op, {in.data(), static_cast<int>(in.size()), op.attrs, device},
                     out.data());
}

}  // namespace

Cost cost_of(const Step& step, const Segment& segment) {
  const std::vector<int>& ops = step.ops();
  if (ops.size() == 1) return cost_of(segment.op(ops[0]), segment);
  Cost cost;
  for (int i : ops) {
    const Cost own = cost_of(segment.op(i), segment);
    cost.flops += own.flops;
    cost.transcendentals += own.transcendentals;
  }
  const std::vector<int> touched = step.touched(segment);
  const auto in_memory = [&](int v) {
    return std::find(touched.begin(), touched.end(), segment.buffer_of(v)) != touched.end();
  };
  const auto add = [&](int v) {
    const Meta& m = segment.meta(v);
    cost.bytes += static_cast<double>(m.numel() * item_size(m.dtype));
  };
  std::set<int> made, read, written;  // values; by buffer
  for (int i : ops) {
    for (int v : segment.op(i).in) {
      if (v >= 0 && in_memory(v) && made.count(v) == 0 && read.insert(v).second) add(v);
    }
    for (int v : segment.op(i).out) {
      made.insert(v);
      if (in_memory(v) && written.insert(segment.buffer_of(v)).second) add(v);
    }
  }
  return cost;
}

}  // namespace ingot::compiler
