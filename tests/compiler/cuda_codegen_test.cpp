// Generated CUDA kernels are accepted by NVRTC: every elementwise row in every type it computes in,
// and every pattern of strides. Needs no GPU; skipped where there is no NVRTC.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ingot/compiler/codegen/cuda.h>
#include <ingot/compiler/cuda/nvrtc.h>
#include <ingot/compiler/fusion/group.h>
#include <ingot/kernels/ops/registry.h>
#include <ingot/kernels/ops/structured/data.h>

namespace ingot {
extern const char kCudaText[];
extern const unsigned long kCudaTextSize;
}  // namespace ingot

namespace ingot::compiler {
namespace {

Meta meta_of(DType t, const Dims& sizes, const Dims& strides) {
  Meta m;
  m.dtype = t;
  m.device = kCUDA;
  m.sizes = sizes;
  m.strides = strides;
  return m;
}

// A segment of single operands in memory and ops whose last result is live.
struct Builder {
  Segment segment;

  int value(const Meta& m, bool produced, bool live) {
    segment.buffers.push_back({produced, live, false, m.numel() * item_size(m.dtype), m.device});
    segment.values.push_back({static_cast<int>(segment.buffers.size()) - 1, m});
    return static_cast<int>(segment.values.size()) - 1;
  }
  int input(const Meta& m) { return value(m, false, true); }

  int op(const OpInfo& info, std::vector<int> in, bool live, Attrs attrs = {}) {
    std::vector<const Meta*> metas;
    // Metas move when values grow: they are copied first.
    std::vector<Meta> copies;
    for (int v : in) copies.push_back(v < 0 ? Meta{} : segment.meta(v));
    for (std::size_t i = 0; i < in.size(); ++i) metas.push_back(in[i] < 0 ? nullptr : &copies[i]);
    Meta out;
    i64 offset = 0;
    info.infer(info, {metas.data(), static_cast<int>(metas.size()), attrs, kCUDA}, &out, &offset);
    SegmentOp made;
    made.op = &info;
    made.attrs = attrs;
    made.in = std::move(in);
    made.out = {value(out, true, live)};
    segment.ops.push_back(made);
    return made.out[0];
  }
};

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

// Several kernels as one unit: NVRTC takes 40 ms for each unit, whatever is in it.
class Unit {
 public:
  void add(std::string text) {
    const std::string name = fmt::format("ingot_run{}", count_);
    for (std::size_t at = 0; (at = text.find("ingot_run", at)) != std::string::npos;
         at += name.size()) {
      text.replace(at, 9, name);
    }
    body_ += fmt::format("namespace unit{} {{\n{}}}\n", count_++, text);
  }
  void compile(int architecture = 90) const {
    const std::string prelude =
        "#define INGOT_ISA isa_jit\n" + std::string(kCudaText, kCudaTextSize);
    const NvrtcResult result = nvrtc_compile(prelude, body_, architecture);
    EXPECT_EQ(result.error, "") << body_;
    EXPECT_GT(result.cubin.size(), 0u);
  }
  int count() const { return count_; }

 private:
  std::string body_;
  int count_ = 0;
};

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
  Unit unit;
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
      unit = Unit();
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
  Unit unit;
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

TEST_F(CudaCodegen, ABrokenUnitIsOneSentenceAndTheCompilersLines) {
  const NvrtcResult result = nvrtc_compile("", "extern \"C\" __global__ void f() { what }", 90);
  EXPECT_TRUE(result.cubin.empty());
  EXPECT_NE(result.error.find("NVRTC: "), std::string::npos);
  EXPECT_NE(result.error.find("what"), std::string::npos);
}

}  // namespace
}  // namespace ingot::compiler
