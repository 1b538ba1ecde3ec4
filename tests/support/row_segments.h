// Programs over rows as segments: every op of rows on a GPU with pointwise ops around it.
// Owns: row_segments(). Must not know: what is done with them.
#pragma once

#include <ingot/kernels/ops/registry.h>
#include <ingot/kernels/ops/structured/list.h>

#include "support/segment_builder.h"

namespace ingot::testing_support {

inline Meta dense(DType t, const Dims& sizes) {
  return meta_of(t, sizes, contiguous_strides(sizes));
}

namespace row_segments_detail {

using namespace structured;

inline Attrs last_axis(i64 axis) {
  Attrs attrs;
  attrs.a = axis;
  return attrs;
}
inline Attrs reduced(int axis) {
  Attrs attrs;
  attrs.dims = {axis};
  attrs.a = 1;  // the axis is kept
  return attrs;
}
inline Attrs number(double x) {
  Attrs attrs;
  attrs.add_scalar(x);
  return attrs;
}

// softmax(x * s + mask), then gradients and logarithms, each over the one before.
inline void add_softmaxes(DType t, i64 n, SegmentBuilder& b) {
  const int x = b.input(dense(t, {3, 5, n})), mask = b.input(dense(t, {n}));
  const int scaled = b.op(*find_op("mul"), {x, -1}, false, number(0.3));
  const int masked = b.op(*find_op("add"), {scaled, mask}, false);
  const int y = b.op(structured_op<Softmax>, {masked}, true, last_axis(2));
  const int dy = b.op(structured_op<SoftmaxBackward>, {scaled, y}, true, last_axis(2));
  const int log_y = b.op(structured_op<LogSoftmax>, {dy}, false, last_axis(2));
  const int dl = b.op(structured_op<LogSoftmaxBackward>, {scaled, log_y}, true, last_axis(2));
  const int last = b.op(structured_op<Logsumexp>, {dl}, false, reduced(2));
  (void)b.op(*find_op("tanh"), {last}, true);
}

// x + gelu(layer_norm(x)), its root mean square norm, the gradient of the first norm.
inline void add_norms(DType t, i64 n, bool weights, SegmentBuilder& b) {
  const int x = b.input(dense(t, {9, n}));
  const int w = weights ? b.input(dense(t, {n})) : -1, bias = weights ? b.input(dense(t, {n})) : -1;
  Attrs attrs = number(1e-5);
  attrs.c = 1;
  const std::vector<int> y = b.results(structured_op<LayerNorm>, {x, w, bias}, true, attrs);
  const int g = b.op(*find_op("gelu_tanh"), {y[0]}, false);
  const int z = b.op(*find_op("add"), {x, g}, true);
  const int squares = b.op(*find_op("mul"), {z, z}, false);
  const int mean = b.op(structured_op<Mean>, {squares}, false, reduced(1));
  const int root = b.op(*find_op("rsqrt"), {mean}, false);
  const int normal = b.op(*find_op("mul"), {z, root}, true);
  Attrs backward;
  backward.c = 1;
  (void)b.op(structured_op<LayerNormBackward>, {normal, x, y[1], y[2], w}, true, backward);
}

inline void add_reduction(const OpInfo& op, DType t, i64 n, SegmentBuilder& b) {
  const int x = b.input(dense(t, {33, n}));
  const int other = b.input(meta_of(t, {33, n}, {1, 33}));  // walked across rows
  const int column = b.input(dense(t, {33, 1}));
  const int product = b.op(*find_op("mul"), {x, other}, false);
  const int value = b.op(op, {product}, true, reduced(1));
  const int moved = b.op(*find_op("sub"), {product, value}, true);
  const int mask = b.op(*find_op("lt"), {moved, column}, false);
  (void)b.op(*find_op("where"), {mask, moved, x}, true);
}

}  // namespace row_segments_detail

inline std::vector<SegmentBuilder> row_segments(DType t) {
  using namespace row_segments_detail;
  std::vector<SegmentBuilder> all;
  const auto next = [&]() -> SegmentBuilder& { return all.emplace_back(); };
  // The last length fills every slot of a block.
  const i64 full = item_size(t) == 2 ? 4096 : 2048;
  for (const i64 n : {i64{10}, i64{64}, i64{1000}, full}) add_softmaxes(t, n, next());
  // As many rows as these have at once fit registers only where few elements are on a thread.
  const i64 longest = item_size(t) == 4 ? 2048 : 128;
  for (const i64 n : {i64{7}, i64{96}, longest}) add_norms(t, n, n != 96, next());
  for (const OpInfo* op : {&structured_op<Sum>, &structured_op<Prod>, &structured_op<Amax>,
                           &structured_op<Amin>, &structured_op<Mean>, &structured_op<Var>}) {
    add_reduction(*op, t, 260, next());
  }
  return all;
}

}  // namespace ingot::testing_support
