// Generated CUDA kernels are accepted by NVRTC: every elementwise row in every type it computes in,
// and every pattern of strides. Needs no GPU; skipped where there is no NVRTC.
#include <gtest/gtest.h>

#include <ingot/compiler/codegen/cuda.h>
#include <ingot/compiler/cuda/small_products.h>
#include <ingot/compiler/fusion/group.h>
#include <ingot/kernels/ops/registry.h>
#include <ingot/kernels/ops/structured/data.h>
#include <ingot/kernels/ops/structured/products.h>

#include "compiler/cuda_unit.h"
#include "support/segment_builder.h"

namespace ingot::compiler {
namespace {

using namespace testing_support;
using Builder = SegmentBuilder;

std::string kernel_of(Builder& b) {
  Group group;
  group.kind = Group::pointwise;
  for (std::size_t i = 0; i < b.segment.ops.size(); ++i) {
    EXPECT_TRUE(is_pointwise(b.segment, b.segment.ops[i])) << b.segment.ops[i].op->name;
    group.ops.push_back(static_cast<int>(i));
  }
  const PointwiseProgram program = make_program(b.segment, group);
  return generate_cuda_run(program, cuda_pattern(program, make_nest(program, b.segment)));
}

class CudaCodegen : public ::testing::Test {
  void SetUp() override {
    if (!nvrtc_missing().empty()) GTEST_SKIP() << nvrtc_missing();
  }
};

bool computes_in(const OpInfo& op, DType t) {
  const auto set = static_cast<DTypeSet>(op.dtypes);
  if (t == DType::boolean) return contains(set, DTypeSet::boolean);
  return contains(set, is_floating_point(t) ? DTypeSet::floats : DTypeSet::ints);
}

void compile_all_rows(DType t, int architecture = 90) {
  constexpr int kInUnit = 24;
  Unit unit(jit::kCudaText);
  int rows = 0;
  for (const OpInfo* op : all_ops()) {
    if (op->kind != OpKind::elementwise || !computes_in(*op, t)) continue;
    Builder b;
    std::vector<int> in;
    const bool mask = std::string_view(op->name).find("where") != std::string_view::npos;
    for (int i = 0; i < op->n_in; ++i) {
      const DType type = mask && i == 0 ? DType::boolean : t;
      in.push_back(b.input(meta_of(type, {64, 64}, {64, 1})));
    }
    // The gradient rows of where() may not read the mask: they are tried with and without.
    try {
      const int y = b.op(*op, in, true);
      Attrs attrs;
      attrs.a = static_cast<i64>(DType::f32);
      attrs.b = static_cast<i64>(DeviceType::cuda);
      if (b.segment.meta(y).dtype != DType::f32) {
        (void)b.op(structured_op<structured::ToCopy>, {y}, true, attrs);
      } else {
        (void)b.op(*find_op("neg"), {y}, true);
      }
    } catch (const Error&) {
      continue;
    }
    unit.add(kernel_of(b));
    ++rows;
    if (unit.count() == kInUnit) {
      unit.compile(architecture);
      unit = Unit(jit::kCudaText);
    }
  }
  if (unit.count() > 0) unit.compile(architecture);
  EXPECT_GT(rows, 10);
}

TEST_F(CudaCodegen, EveryRowInF32) { compile_all_rows(DType::f32); }
TEST_F(CudaCodegen, EveryRowInF64) { compile_all_rows(DType::f64); }
TEST_F(CudaCodegen, EveryRowInBF16) { compile_all_rows(DType::bf16); }
TEST_F(CudaCodegen, EveryRowInF16) { compile_all_rows(DType::f16); }
// GPUs before sm_90 and before sm_80 lack some of the instructions on two elements.
TEST_F(CudaCodegen, EveryRowInBF16OnOlderGpus) {
  compile_all_rows(DType::bf16, 80);
  compile_all_rows(DType::bf16, 75);
}
TEST_F(CudaCodegen, EveryRowInI64) { compile_all_rows(DType::i64); }

TEST_F(CudaCodegen, EveryPatternOfStrides) {
  Unit unit(jit::kCudaText);
  const std::vector<std::pair<Dims, Dims>> layouts = {{{6, 8}, {8, 1}},   // dense
                                                      {{6, 8}, {1, 6}},   // transposed
                                                      {{6, 1}, {1, 1}},   // one value a row
                                                      {{8}, {1}},         // one row for all
                                                      {{6, 8}, {32, 2}},  // every other element
                                                      {{}, {}}};          // one value
  for (const auto& [a_sizes, a_strides] : layouts) {
    for (const auto& [b_sizes, b_strides] : layouts) {
      Builder b;
      const int full = b.input(meta_of(DType::f32, {6, 8}, {8, 1}));
      const int x = b.input(meta_of(DType::f32, a_sizes, a_strides));
      const int y = b.input(meta_of(DType::bf16, b_sizes, b_strides));
      Attrs cast;
      cast.a = static_cast<i64>(DType::f32);
      cast.b = static_cast<i64>(DeviceType::cuda);
      const int sum = b.op(*find_op("add"), {full, x}, false);
      const int scaled = b.op(*find_op("mul"), {sum, -1}, false);
      (void)y;
      (void)b.op(*find_op("tanh"), {scaled}, true);
      unit.add(kernel_of(b));
    }
  }
  unit.compile();
}

// Every kernel of the small product, with a tail of several results.
TEST_F(CudaCodegen, ProductsWithTails) {
  for (const int architecture : {75, 90}) {
    Unit unit(jit::kCudaProductText);
    for (const auto& [t, m] :
         {std::pair<DType, i64>{DType::f32, 20}, {DType::f32, 250}, {DType::f64, 20}}) {
      for (const bool a_rows : {true, false}) {
        for (const bool b_rows : {true, false}) {
          Builder b;
          const i64 n = 200, k = 40;
          const int x = b.input(meta_of(t, {m, k}, a_rows ? Dims{k, 1} : Dims{1, m}));
          const int w = b.input(meta_of(t, {k, n}, b_rows ? Dims{n, 1} : Dims{1, k}));
          const int bias = b.input(meta_of(t, {n}, {1}));
          const int y = b.op(structured_op<structured::Matmul>, {x, w}, true);
          const int sum = b.op(*find_op("add"), {y, bias}, false);
          (void)b.op(*find_op("relu"), {sum}, true);
          Attrs scale;
          scale.add_scalar(0.5);
          (void)b.op(*find_op("mul"), {sum, -1}, true, scale);
          Group group{{0, 1, 2, 3}, Group::product, {}};
          const SegmentOp& product = b.segment.ops[0];
          unit.add(
              generate_cuda_product(make_program(b.segment, group),
                                    small_call(b.segment, product, nullptr, product.attrs).shape));
        }
      }
    }
    unit.compile(architecture);
  }
}

TEST_F(CudaCodegen, ABrokenUnitIsOneSentenceAndTheCompilersLines) {
  const NvrtcResult result = nvrtc_compile("", "extern \"C\" __global__ void f() { what }", 90);
  EXPECT_TRUE(result.cubin.empty());
  EXPECT_NE(result.error.find("NVRTC: "), std::string::npos);
  EXPECT_NE(result.error.find("what"), std::string::npos);
}

}  // namespace
}  // namespace ingot::compiler
