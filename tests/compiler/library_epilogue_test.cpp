// Which ops after a product on the GPU become part of the library's launch, by numerics level. On
// segments made by hand: nothing runs.
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <ingot/compiler/cuda/library_epilogue.h>
#include <ingot/kernels/ops/elementwise.h>
#include <ingot/kernels/ops/structured/products.h>
#include <ingot/kernels/ops/structured/reductions.h>

#include "support/segment_builder.h"

namespace ingot {
namespace {

using namespace compiler;
using testing_support::meta_of;
using testing_support::SegmentBuilder;

const OpInfo& kMatmul = structured_op<structured::Matmul>;
const OpInfo& kLinear = structured_op<structured::Linear>;
const OpInfo& kAdd = elementwise_op<rows::Add>;
const OpInfo& kMul = elementwise_op<rows::Mul>;
const OpInfo& kRelu = elementwise_op<rows::Relu>;
const OpInfo& kGelu = elementwise_op<rows::Gelu>;
const OpInfo& kGeluTanh = elementwise_op<rows::GeluTanh>;

constexpr i64 kM = 96, kN = 1000, kK = 512;

// x [m, k], w [k, n], a weight [n, k], a row [n], and ops over them.
struct Layer {
  explicit Layer(DType t, i64 m = kM, i64 n = kN, i64 k = kK)
      : dtype(t),
        x(b.input(dense({m, k}))),
        w(b.input(dense({k, n}))),
        weight(b.input(dense({n, k}))),
        row(b.input(dense({n}))) {}

  Meta dense(const Dims& sizes) const { return meta_of(dtype, sizes, contiguous_strides(sizes)); }
  int op(const OpInfo& info, std::vector<int> in, bool live = false) {
    return b.op(info, std::move(in), live);
  }

  // "matmul add", each chain in a line; refusals are counted.
  std::string joined(Numerics level) {
    const char* why = level == Numerics::exact ? "only level library allows it" : nullptr;
    const Segment& s = b.segment;
    std::vector<int> before(s.ops.size(), -1);
    std::vector<Ledger::Event> events;
    find_library_epilogues(s, std::vector<bool>(s.ops.size(), true), why, &before, &events);
    refusals = static_cast<int>(events.size());
    if (refusals > 0) refusal = events[0].what;
    std::vector<bool> inside(s.ops.size(), false);
    for (int i : before) {
      if (i >= 0) inside[static_cast<std::size_t>(i)] = true;
    }
    std::string text;
    for (std::size_t i = 0; i < s.ops.size(); ++i) {
      if (before[i] < 0 || inside[i]) continue;
      std::string chain = s.ops[i].op->name;
      for (int k = before[i]; k >= 0; k = before[static_cast<std::size_t>(k)]) {
        chain = s.ops[static_cast<std::size_t>(k)].op->name + (" " + chain);
      }
      text += (text.empty() ? "" : "\n") + chain;
    }
    return text;
  }

  SegmentBuilder b;
  DType dtype;
  int x, w, weight, row;
  int refusals = 0;
  std::string refusal;
};

constexpr DType kNarrow[] = {DType::f16, DType::bf16}, kWide[] = {DType::f32, DType::f64};

TEST(LibraryEpilogue, ARowIsExactWhereTheSumIsNotRoundedBefore) {
  for (const DType t : kWide) {
    Layer l(t);
    l.op(kAdd, {l.row, l.op(kMatmul, {l.x, l.w})}, true);
    EXPECT_EQ(l.joined(Numerics::exact), "matmul add");
    EXPECT_EQ(l.refusals, 0);
    EXPECT_EQ(l.joined(Numerics::library), "matmul add");
    EXPECT_TRUE(library_epilogue_is_exact(l.b.segment, {0, 1}));
  }
  for (const DType t : kNarrow) {
    Layer l(t);
    l.op(kAdd, {l.op(kMatmul, {l.x, l.w}), l.row}, true);
    EXPECT_EQ(l.joined(Numerics::exact), "");
    EXPECT_EQ(l.refusals, 1);
    EXPECT_NE(l.refusal.find("matmul add"), std::string::npos) << l.refusal;
    EXPECT_NE(l.refusal.find("level library"), std::string::npos) << l.refusal;
    EXPECT_EQ(l.joined(Numerics::library), "matmul add");
    EXPECT_FALSE(library_epilogue_is_exact(l.b.segment, {0, 1}));
  }
}

TEST(LibraryEpilogue, GeluByTanhJoins16BitProductsAtLevelLibrary) {
  for (const DType t : kNarrow) {
    Layer l(t);
    l.op(kGeluTanh, {l.op(kAdd, {l.op(kMatmul, {l.x, l.w}), l.row})}, true);
    EXPECT_EQ(l.joined(Numerics::library), "matmul add gelu_tanh");
    EXPECT_EQ(l.joined(Numerics::exact), "");
    EXPECT_EQ(l.refusals, 1);
    Layer of_linear(t);
    of_linear.op(kGeluTanh, {of_linear.op(kLinear, {of_linear.x, of_linear.weight, of_linear.row})},
                 true);
    EXPECT_EQ(of_linear.joined(Numerics::library), "linear gelu_tanh");
    Layer erf(t);
    erf.op(kGelu, {erf.op(kAdd, {erf.op(kMatmul, {erf.x, erf.w}), erf.row})}, true);
    EXPECT_EQ(erf.joined(Numerics::library), "");  // one kernel with the addition
  }
  for (const DType t : kWide) {
    Layer l(t);
    l.op(kGeluTanh, {l.op(kAdd, {l.op(kMatmul, {l.x, l.w}), l.row})}, true);
    EXPECT_EQ(l.joined(Numerics::library), "");
    EXPECT_EQ(l.refusals, 0);
  }
}

TEST(LibraryEpilogue, ReluJoinsAtLevelLibrary) {
  for (const DType t : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    Layer l(t);
    l.op(kRelu, {l.op(kLinear, {l.x, l.weight, l.row})}, true);
    EXPECT_EQ(l.joined(Numerics::library), "linear relu");
    EXPECT_EQ(l.joined(Numerics::exact), "");
    EXPECT_EQ(l.refusals, 1);
    Layer bare(t);
    bare.op(kRelu, {bare.op(kMatmul, {bare.x, bare.w})}, true);
    EXPECT_EQ(bare.joined(Numerics::library), "matmul relu");
  }
}

TEST(LibraryEpilogue, JoinsOnlyWhereThatSparesALaunch) {
  // Each makes what follows h = matmul + row; whether the addition joins the product.
  struct Case {
    const char* what;
    bool joins;
    std::function<void(Layer&, int)> after;
  };
  const Case cases[] = {
      {"another product", true,
       [](Layer& l, int h) {
         l.op(kMatmul, {h, l.b.input(l.dense({kN, 64}))}, true);
       }},
      {"a sum over columns", true,
       [](Layer& l, int h) {
         Attrs attrs;
         attrs.dims = {0};
         l.b.op(structured_op<structured::Sum>, {h}, true, attrs);
       }},
      {"an elementwise op", false,
       [](Layer& l, int h) {
         l.op(kMul, {h, l.b.input(l.dense({kM, kN}))}, true);
       }},
      {"an elementwise op that also needs a later product", true,
       [](Layer& l, int h) {
         const int other = l.op(kMatmul, {h, l.b.input(l.dense({kN, kN}))});
         l.op(kMul, {h, other}, true);
       }},
  };
  for (const Case& c : cases) {
    Layer l(DType::f32);
    c.after(l, l.op(kAdd, {l.op(kMatmul, {l.x, l.w}), l.row}));
    EXPECT_EQ(l.joined(Numerics::exact), c.joins ? "matmul add" : "") << c.what;
  }
}

TEST(LibraryEpilogue, TheRowMayBeMadeAfterTheProductButNotChangedAfterTheAddition) {
  Layer made(DType::f32);
  const int product = made.op(kMatmul, {made.x, made.w});
  made.op(kAdd, {product, made.op(kRelu, {made.row})}, true);
  EXPECT_EQ(made.joined(Numerics::exact), "matmul add");

  Layer written(DType::f32);
  const int h = written.op(kMatmul, {written.x, written.w});
  written.b.op_in_place(kMul, {written.row, written.row});
  const int sum = written.op(kAdd, {h, written.row});
  EXPECT_EQ(written.joined(Numerics::library), "matmul add");
  written.b.op_in_place(kMul, {written.row, written.row});
  written.op(kRelu, {sum}, true);
  EXPECT_EQ(written.joined(Numerics::library), "");
}

TEST(LibraryEpilogue, OtherAdditionsAndOtherReadersStayApart) {
  for (const Numerics level : {Numerics::exact, Numerics::library}) {
    Layer full(DType::f32);
    full.op(kAdd, {full.op(kMatmul, {full.x, full.w}), full.b.input(full.dense({kM, kN}))}, true);
    EXPECT_EQ(full.joined(level), "");

    Layer column(DType::f32);
    column.op(kAdd,
              {column.op(kMatmul, {column.x, column.w}), column.b.input(column.dense({kM, 1}))},
              true);
    EXPECT_EQ(column.joined(level), "");

    Layer gaps(DType::f32);
    gaps.op(kAdd,
            {gaps.op(kMatmul, {gaps.x, gaps.w}), gaps.b.input(meta_of(DType::f32, {kN}, {2}))},
            true);
    EXPECT_EQ(gaps.joined(level), "");

    Layer square(DType::f32, 300, 300, 512);  // a column of as many elements as a row has
    square.op(kAdd,
              {square.op(kMatmul, {square.x, square.w}), square.b.input(square.dense({300, 1}))},
              true);
    EXPECT_EQ(square.joined(level), "");

    Layer twice(DType::f32);
    const int y = twice.op(kMatmul, {twice.x, twice.w});
    twice.op(kAdd, {y, twice.row}, true);
    twice.op(kMatmul, {y, twice.b.input(twice.dense({kN, 64}))}, true);
    EXPECT_EQ(twice.joined(level), "");

    Layer kept(DType::f32);
    kept.op(kAdd, {kept.op(kMatmul, {kept.x, kept.w}, true), kept.row}, true);
    EXPECT_EQ(kept.joined(level), "");

    Layer dot(DType::f32);
    dot.op(kAdd, {dot.op(kMatmul, {dot.row, dot.row}), dot.b.input(dot.dense({}))}, true);
    EXPECT_EQ(dot.joined(level), "");

    Layer small(DType::f32, 64, 64, 64);
    small.op(kAdd, {small.op(kMatmul, {small.x, small.w}), small.row}, true);
    EXPECT_EQ(small.joined(level), "");

    Layer changed(DType::f32);
    const int product = changed.op(kMatmul, {changed.x, changed.w});
    changed.b.op_in_place(kMul, {changed.x, changed.x});
    changed.op(kAdd, {product, changed.row}, true);
    EXPECT_EQ(changed.joined(level), "");
  }
}

}  // namespace
}  // namespace ingot
