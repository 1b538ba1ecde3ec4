// Generated kernels of products with tails, run on the host: the bits of the product and its ops
// one by one as CUDA kernels.
#include <memory>

#include <gtest/gtest.h>

#include <ingot/compiler/cuda/product_step.h>
#include <ingot/compiler/fusion/group.h>
#include <ingot/kernels/ops/registry.h>
#include <ingot/kernels/ops/structured/data.h>
#include <ingot/kernels/ops/structured/products.h>

#include "cuda_on_host/generated.h"
#include "cuda_on_host/grid.h"
#include "cuda_on_host/segment_memory.h"
#include "support/segment_builder.h"

namespace ingot::testing {
namespace {

using namespace compiler;
using namespace structured;
using testing_support::meta_of;
using testing_support::SegmentBuilder;

// One program: all ops must join the product's group.
struct Case {
  SegmentBuilder b;
  std::unique_ptr<ProductStep> step;

  void make_step() {
    std::vector<Ledger::Event> refusals;
    const std::vector<bool> needed(b.segment.ops.size(), true);
    const std::vector<Group> groups =
        make_groups(b.segment, needed, std::vector<int>(needed.size(), -1),
                    find_small_products(b.segment, needed), &refusals);
    ASSERT_EQ(groups.size(), 1u) << to_text(b.segment)
                                 << (refusals.empty() ? "" : refusals[0].what);
    ASSERT_EQ(groups[0].kind, Group::product);
    const char* why = "";
    step = ProductStep::make(make_program(b.segment, groups[0]), b.segment, &why);
    ASSERT_NE(step, nullptr) << why << "\n" << to_text(b.segment);
  }
};

void compare(std::vector<Case>& cases) {
  std::vector<std::string> texts;
  for (Case& c : cases) {
    ASSERT_NO_FATAL_FAILURE(c.make_step());
    texts.push_back(c.step->source());
  }
  const auto kernels =
      emulation::compile_for_host({"kernels/ops/rows.h", "kernels/cuda/small_product.cuh"}, texts,
                                  std::vector<unsigned>(texts.size(), kSmallThreads));
  ASSERT_EQ(kernels.size(), cases.size());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Segment& s = cases[i].b.segment;
    SegmentMemory want(s);
    run_on_host(s, want.binding);
    for (const auto order : {emulation::Order::ascending, emulation::Order::descending}) {
      SegmentMemory got(s);
      const ProductStep& step = *cases[i].step;
      KernelParameter parameter = step.parameter(s, got.binding, step.call(s, got.binding));
      emulation::set_order(order);
      kernels[i](parameter.data(), step.blocks());
      emulation::set_order(emulation::Order::ascending);
      expect_same(s, got, want, texts[i]);
    }
  }
}

Attrs numbers(std::initializer_list<double> values) {
  Attrs attrs;
  for (double v : values) attrs.add_scalar(v);
  return attrs;
}

TEST(GeneratedProducts, HaveTheBitsOfTheirOpsOneByOne) {
  std::vector<Case> cases(8);
  const DType f = DType::f32;
  {  // relu(x w + bias), the product kept
    SegmentBuilder& b = cases[0].b;
    const int y = b.op(
        structured_op<Matmul>,
        {b.input(meta_of(f, {33, 40}, {40, 1})), b.input(meta_of(f, {40, 70}, {70, 1}))}, true);
    const int sum = b.op(*find_op("add"), {y, b.input(meta_of(f, {70}, {1}))}, false);
    (void)b.op(*find_op("relu"), {sum}, true);
  }
  {  // gelu(linear) * 0.5 + a residual that lies by columns
    SegmentBuilder& b = cases[1].b;
    const int y = b.op(structured_op<Linear>,
                       {b.input(meta_of(f, {3, 5, 31}, {160, 32, 1})),
                        b.input(meta_of(f, {10, 31}, {31, 1})), b.input(meta_of(f, {10}, {1}))},
                       false);
    const int g = b.op(*find_op("gelu"), {y}, false);
    const int scaled = b.op(*find_op("mul"), {g, -1}, false, numbers({0.5}));
    (void)b.op(*find_op("add"), {scaled, b.input(meta_of(f, {3, 5, 10}, {5, 1, 15}))}, true);
  }
  {  // gradients: transposed factors, many blocks; two results
    SegmentBuilder& b = cases[2].b;
    const int y = b.op(
        structured_op<Matmul>,
        {b.input(meta_of(f, {260, 64}, {1, 260})), b.input(meta_of(f, {64, 130}, {1, 64}))}, false);
    (void)b.op(*find_op("tanh"), {y}, true);
    (void)b.op(*find_op("mul"), {y, b.input(meta_of(f, {260, 1}, {1, 1}))}, true);
  }
  {  // a batch, a column for each matrix
    SegmentBuilder& b = cases[3].b;
    const int y = b.op(
        structured_op<Matmul>,
        {b.input(meta_of(f, {4, 9, 17}, {153, 17, 1})), b.input(meta_of(f, {17, 33}, {33, 1}))},
        false);
    (void)b.op(*find_op("sub"), {b.input(meta_of(f, {4, 9, 1}, {9, 1, 1})), y}, true);
  }
  {  // w += -0.1 * (x^T g), in place
    SegmentBuilder& b = cases[4].b;
    const int w = b.input(meta_of(f, {20, 30}, {30, 1}));
    const int y = b.op(
        structured_op<Matmul>,
        {b.input(meta_of(f, {20, 64}, {1, 20})), b.input(meta_of(f, {64, 30}, {30, 1}))}, false);
    const int step = b.op(*find_op("mul"), {y, -1}, false, numbers({-0.1}));
    (void)b.op_in_place(*find_op("add"), {w, step});
  }
  {  // addmm, a mask, a choice
    SegmentBuilder& b = cases[5].b;
    const int y = b.op(structured_op<Addmm>,
                       {b.input(meta_of(f, {12}, {2})), b.input(meta_of(f, {7, 129}, {129, 1})),
                        b.input(meta_of(f, {129, 12}, {12, 1}))},
                       true, numbers({2, -0.5}));
    const int mask = b.op(*find_op("gt"), {y, b.input(meta_of(f, {7, 12}, {12, 1}))}, true);
    (void)b.op(*find_op("where"), {mask, y, b.input(meta_of(f, {12}, {1}))}, true);
  }
  {  // f64, a cast
    SegmentBuilder& b = cases[6].b;
    const int y = b.op(structured_op<Matmul>,
                       {b.input(meta_of(DType::f64, {50, 100}, {100, 1})),
                        b.input(meta_of(DType::f64, {100, 3}, {3, 1}))},
                       false);
    Attrs cast;
    cast.a = static_cast<i64>(f);
    cast.b = static_cast<i64>(DeviceType::cuda);
    const int narrow = b.op(structured_op<ToCopy>, {b.op(*find_op("exp"), {y}, true)}, false, cast);
    (void)b.op(*find_op("neg"), {narrow}, true);
  }
  {  // whole panels, element by element
    SegmentBuilder& b = cases[7].b;
    const int y =
        b.op(structured_op<Matmul>,
             {b.input(meta_of(f, {64, 256}, {257, 1})), b.input(meta_of(f, {256, 10}, {1, 256}))},
             false);
    (void)b.op(*find_op("sigmoid"), {y}, true);
  }
  compare(cases);
}

TEST(GeneratedProducts, StayApartFromWhatTheyCannotTake) {
  const DType f = DType::f32;
  const auto groups_of = [](SegmentBuilder& b, std::string* why) {
    std::vector<Ledger::Event> refusals;
    const std::vector<bool> needed(b.segment.ops.size(), true);
    const auto groups = make_groups(b.segment, needed, std::vector<int>(needed.size(), -1),
                                    find_small_products(b.segment, needed), &refusals);
    *why = refusals.empty() ? "" : refusals[0].what;
    return groups.size();
  };
  std::string why;
  {  // x += x w: other blocks still read x
    SegmentBuilder b;
    const int x = b.input(meta_of(f, {16, 16}, {16, 1}));
    const int y = b.op(structured_op<Matmul>, {x, b.input(meta_of(f, {16, 16}, {16, 1}))}, false);
    (void)b.op_in_place(*find_op("add"), {x, y});
    EXPECT_EQ(groups_of(b, &why), 2u);
    EXPECT_EQ(why, "add not with matmul: it writes what other blocks of the product still read");
  }
  {  // a result that is broadcast
    SegmentBuilder b;
    const int y = b.op(
        structured_op<Matmul>,
        {b.input(meta_of(f, {4, 16}, {16, 1})), b.input(meta_of(f, {16, 16}, {16, 1}))}, false);
    (void)b.op(*find_op("add"), {y, b.input(meta_of(f, {3, 4, 16}, {64, 16, 1}))}, true);
    EXPECT_EQ(groups_of(b, &why), 2u);
    EXPECT_EQ(why, "add not with matmul: another shape");
  }
  {  // 512 x 512 is not small
    SegmentBuilder b;
    const int y = b.op(
        structured_op<Matmul>,
        {b.input(meta_of(f, {512, 16}, {16, 1})), b.input(meta_of(f, {16, 512}, {512, 1}))}, false);
    (void)b.op(*find_op("relu"), {y}, true);
    EXPECT_EQ(groups_of(b, &why), 2u);
  }
}

}  // namespace
}  // namespace ingot::testing
