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
    return results(info, std::move(in), live, std::move(attrs))[0];
  }
  // The same with all results.
  std::vector<int> results(const OpInfo& info, std::vector<int> in, bool live, Attrs attrs = {}) {
    std::vector<int> out;
    for (const Meta& m : infer(info, in, attrs)) out.push_back(value(m, true, live));
    add(info, std::move(in), out, attrs, -1);
    return out;
  }
  // The same with the result in the memory of the first operand.
  int op_in_place(const OpInfo& info, std::vector<int> in, Attrs attrs = {}) {
    const auto target = static_cast<std::size_t>(in[0]);
    segment.values.push_back(segment.values[target]);
    segment.buffer(segment.values[target].buffer).written = true;
    const int out = static_cast<int>(segment.values.size()) - 1;
    add(info, std::move(in), {out}, attrs, 0);
    return out;
  }

 private:
  std::vector<Meta> infer(const OpInfo& info, const std::vector<int>& in, const Attrs& attrs) {
    std::vector<const Meta*> metas;
    for (int v : in) metas.push_back(v < 0 ? nullptr : &segment.meta(v));
    std::vector<Meta> out(static_cast<std::size_t>(info.n_out));
    i64 offsets[kMaxOutputs] = {};
    info.infer(info, {metas.data(), static_cast<int>(metas.size()), attrs, kCUDA}, out.data(),
               offsets);
    return out;
  }
  void add(const OpInfo& info, std::vector<int> in, std::vector<int> out, const Attrs& attrs,
           int writes) {
    compiler::SegmentOp made;
    made.op = &info;
    made.attrs = attrs;
    made.in = std::move(in);
    made.out = std::move(out);
    made.writes = writes;
    segment.ops.push_back(made);
  }
};

}  // namespace ingot::testing_support
