#include <ingot/compiler/segment.h>
#include <ingot/kernels/core/check.h>

namespace ingot::compiler {

std::string names_of(const Segment& s, const std::vector<int>& ops) {
  std::string text;
  for (int i : ops) {
    if (!text.empty()) text += ' ';
    text += s.op(i).op->name;
  }
  return text;
}

std::string to_text(const Segment& s) {
  std::string text;
  for (const SegmentOp& op : s.ops) {
    std::string results, operands;
    for (int v : op.out) results += fmt::format("{}%{}", results.empty() ? "" : ", ", v);
    for (int v : op.in) {
      operands += operands.empty() ? "" : ", ";
      operands += v < 0 ? "scalar" : fmt::format("%{}", v);
    }
    text += fmt::format("{} = {}{}({}) {}  ; {}\n", results, op.op->name,
                        op.writes >= 0 ? " in place" : "", operands, describe(s.meta(op.out[0])),
                        to_string(op.loc));
  }
  return text;
}

}  // namespace ingot::compiler
