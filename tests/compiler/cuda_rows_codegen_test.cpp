// Generated CUDA kernels over whole rows are accepted by NVRTC: every op of rows with pointwise ops
// around it, in every type, on the oldest and the newest GPU. Needs no GPU; skipped where there is
// no NVRTC.
#include <set>

#include <gtest/gtest.h>

#include <ingot/compiler/codegen/cuda.h>
#include <ingot/compiler/fusion/group.h>
#include <ingot/kernels/ops/structured/list.h>

#include "compiler/cuda_unit.h"
#include "support/row_segments.h"

namespace ingot::compiler {
namespace {

using namespace testing_support;

class CudaRowsCodegen : public ::testing::Test {
  void SetUp() override {
    if (!nvrtc_missing().empty()) GTEST_SKIP() << nvrtc_missing();
  }
};

// The one group that all ops make.
std::string kernel_of(const Segment& segment) {
  std::vector<Ledger::Event> refusals;
  const std::vector<bool> needed(segment.ops.size(), true), none(segment.ops.size(), false);
  const std::vector<int> no_product(segment.ops.size(), -1);
  const std::vector<Group> groups = make_groups(segment, needed, no_product, none, &refusals);
  for (const Ledger::Event& e : refusals) ADD_FAILURE() << e.what;
  EXPECT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].kind, Group::rows);
  const RowProgram p = make_row_program(segment, groups[0].space, groups[0].ops);
  Nest nest(p.space.leading());
  for (const RowMemory& m : p.memory) nest.add(nullptr, m.walk.lead, item_size(m.dtype));
  nest.collapse();
  return generate_cuda_rows(p, cuda_rows(p, nest));
}

void compile_all(DType t, int architecture) {
  Unit unit(jit::kCudaRowsText);
  for (const SegmentBuilder& b : row_segments(t)) unit.add(kernel_of(b.segment));
  unit.compile(architecture);
}

std::string softmax_kernel(DType t, i64 n) {
  SegmentBuilder b;
  Attrs axis, factor;
  axis.a = 1;
  factor.add_scalar(2.0);
  const int y = b.op(structured_op<structured::Softmax>, {b.input(dense(t, {7, n}))}, false, axis);
  (void)b.op(*find_op("mul"), {y, -1}, true, factor);
  return kernel_of(b.segment);
}

// A new length asks for a kernel only where a lane holds another number of vectors, where the last
// vector is cut short or a row fills its block for the first time, or where it takes another of a
// part of a warp, a warp, a few and many.
TEST(CudaRows, AKernelServesManyLengths) {
  std::set<std::string> of_words;
  for (i64 n = 2; n <= 1024; ++n) of_words.insert(softmax_kernel(DType::f32, n));
  EXPECT_LE(of_words.size(), 13u);
  for (const DType t : {DType::f32, DType::bf16}) {
    std::set<std::string> all;
    for (i64 n = 2; n <= 16384; n += n < 4096 ? 1 : 4) all.insert(softmax_kernel(t, n));
    EXPECT_LE(all.size(), 40u) << name(t);
  }
  EXPECT_EQ(softmax_kernel(DType::f32, 1500), softmax_kernel(DType::f32, 1540));
  EXPECT_EQ(softmax_kernel(DType::f32, 8192), softmax_kernel(DType::f32, 4096));
}

// A launch with more threads than its kernel was made for fails on a GPU, and nowhere else.
TEST(CudaRows, NoBlockIsLargerThanItsKernelAllows) {
  for (const int width : {2, 4, 8}) {
    for (i64 n = 1; n <= kLongRow + 1; ++n) {
      const RowShape shape = row_shape(n, width);
      CudaRows rows;
      rows.lanes = shape.lanes;
      rows.together = rows_per_block(shape.lanes);
      const int threads = rows.threads();
      ASSERT_LE(threads, row_threads(width, shape.slots)) << n << " in vectors of " << width;
      ASSERT_LE(threads, rows.most_threads()) << n << " in vectors of " << width;
      // Generated kernels find their row by that.
      if (rows.together > 1) {
        ASSERT_EQ(threads, rows.most_threads());
      }
    }
  }
}

TEST_F(CudaRowsCodegen, F32) { compile_all(DType::f32, 90); }
TEST_F(CudaRowsCodegen, BF16) { compile_all(DType::bf16, 75); }

}  // namespace
}  // namespace ingot::compiler
