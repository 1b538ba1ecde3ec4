#include <algorithm>

#include <ingot/compiler/step_note.h>

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

// The largest value in a buffer, in bytes.
double bytes_of(int buffer, const Segment& segment) {
  i64 bytes = 0;
  for (const Value& v : segment.values) {
    if (v.buffer == buffer) bytes = std::max(bytes, v.meta.numel() * item_size(v.meta.dtype));
  }
  return static_cast<double>(bytes);
}

}  // namespace

StepNote note_of(const Step& step, const Segment& segment) {
  const auto op_at = [&](int i) -> const SegmentOp& {
    return segment.ops[static_cast<std::size_t>(i)];
  };
  const std::vector<int>& ops = step.ops();
  const SegmentOp& first = op_at(ops[0]);
  StepNote note{first.op->name, "", first.loc, cost_of(first, segment)};
  if (ops.size() == 1) return note;
  note.name = "fused";
  note.cost = {};
  for (int i : ops) {
    if (!note.fused_from.empty()) note.fused_from += ' ';
    note.fused_from += op_at(i).op->name;
    const Cost cost = cost_of(op_at(i), segment);
    note.cost.flops += cost.flops;
    note.cost.transcendentals += cost.transcendentals;
  }
  // What stays inside the step is not memory traffic.
  std::vector<int> buffers = step.touched(segment);
  std::sort(buffers.begin(), buffers.end());
  buffers.erase(std::unique(buffers.begin(), buffers.end()), buffers.end());
  for (int b : buffers) note.cost.bytes += bytes_of(b, segment);
  return note;
}

}  // namespace ingot::compiler
