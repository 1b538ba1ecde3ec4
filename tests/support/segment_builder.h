// Segments by hand, for tests of groups and of generated text.
// Owns: SegmentBuilder, metas of any layout. Needs no tensor and no device.
#pragma once

#include <utility>
#include <vector>

#include <ingot/compiler/segment.h>

namespace ingot::testing_support {

inline Meta meta_of(DType t, const Dims& sizes, const Dims& strides, Device device = kCUDA) {
  Meta m;
  m.dtype = t;
  m.device = device;
  m.sizes = sizes;
  m.strides = strides;
  return m;
}

// Operands in memory, and ops.
struct SegmentBuilder {
  compiler::Segment segment;

  int value(const Meta& m, bool produced, bool live) {
    segment.buffers.push_back({produced, live, false, m.numel() * item_size(m.dtype), m.device});
    segment.values.push_back({static_cast<int>(segment.buffers.size()) - 1, m});
    return static_cast<int>(segment.values.size()) - 1;
  }
  int input(const Meta& m) { return value(m, false, true); }

  // live: the result outlives the segment. Inputs of -1 are host scalars, or left out.
  int op(const OpInfo& info, std::vector<int> in, bool live, Attrs attrs = {}) {
    const Meta out = infer(info, in, attrs);
    return add(info, std::move(in), value(out, true, live), attrs, -1);
  }
  // The same with the result in the memory of the first operand.
  int op_in_place(const OpInfo& info, std::vector<int> in, Attrs attrs = {}) {
    const auto target = static_cast<std::size_t>(in[0]);
    segment.values.push_back(segment.values[target]);
    segment.buffer(segment.values[target].buffer).written = true;
    return add(info, std::move(in), static_cast<int>(segment.values.size()) - 1, attrs, 0);
  }

 private:
  Meta infer(const OpInfo& info, const std::vector<int>& in, const Attrs& attrs) {
    std::vector<const Meta*> metas;
    for (int v : in) metas.push_back(v < 0 ? nullptr : &segment.meta(v));
    Meta out;
    i64 offset = 0;
    info.infer(info, {metas.data(), static_cast<int>(metas.size()), attrs, kCUDA}, &out, &offset);
    return out;
  }
  int add(const OpInfo& info, std::vector<int> in, int out, const Attrs& attrs, int writes) {
    compiler::SegmentOp made;
    made.op = &info;
    made.attrs = attrs;
    made.in = std::move(in);
    made.out = {out};
    made.writes = writes;
    segment.ops.push_back(made);
    return out;
  }
};

}  // namespace ingot::testing_support
