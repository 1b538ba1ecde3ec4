// What a fused group costs: the work of its ops, and what it has in memory, each value once.
#include <gtest/gtest.h>

#include <ingot/compiler/fusion/fused_step.h>
#include <ingot/compiler/step_cost.h>
#include <ingot/compiler/step_note.h>
#include <ingot/kernels/ops/registry.h>

#include "support/segment_builder.h"

namespace ingot::compiler {
namespace {

using testing_support::meta_of;
using testing_support::SegmentBuilder;

Meta dense(const Dims& sizes) {
  return meta_of(DType::f32, sizes, contiguous_strides(sizes), kCPU);
}

FusedStep fused(const Segment& segment, std::vector<int> ops) {
  return FusedStep(make_program(segment, {std::move(ops), Group::pointwise, {}}), segment);
}

TEST(StepCost, ValuesInsideAGroupAreNoTraffic) {
  SegmentBuilder b;
  const int x = b.input(dense({32, 8})), bias = b.input(dense({8}));
  const int sum = b.op(*find_op("add"), {x, bias}, false);
  const int square = b.op(*find_op("mul"), {sum, sum}, false);
  (void)b.op(*find_op("tanh"), {square}, true);
  const FusedStep step = fused(b.segment, {0, 1, 2});
  const Cost cost = cost_of(step, b.segment);
  EXPECT_EQ(cost.bytes, 4 * (32 * 8 + 8 + 32 * 8));
  double flops = 0;
  for (const char* op : {"add", "mul", "tanh"}) flops += find_op(op)->flops;
  EXPECT_EQ(cost.flops, 32 * 8 * flops);
  EXPECT_EQ(note_of(step, b.segment).cost.bytes, cost.bytes);
  EXPECT_EQ(note_of(step, b.segment).fused_from, "add mul tanh");
}

TEST(StepCost, WrittenInPlaceIsReadAndWritten) {
  SegmentBuilder b;
  const int x = b.input(dense({32})), y = b.input(dense({32}));
  const int sum = b.op_in_place(*find_op("add"), {x, y});
  (void)b.op_in_place(*find_op("mul"), {sum, y});
  EXPECT_EQ(cost_of(fused(b.segment, {0, 1}), b.segment).bytes, 4 * 32 * 3);
}

TEST(StepCost, OneOpHasItsOwn) {
  SegmentBuilder b;
  const int x = b.input(dense({4, 8})), y = b.input(dense({8, 3}));
  (void)b.op(*find_op("matmul"), {x, y}, true);
  const Cost cost = cost_of(*make_op_step(b.segment, 0), b.segment);
  EXPECT_EQ(cost.flops, 2 * 4 * 8 * 3);
  EXPECT_EQ(cost.bytes, 4 * (32 + 24 + 12));
}

}  // namespace
}  // namespace ingot::compiler
