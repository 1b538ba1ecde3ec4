// The elementwise kernel: every row and dtype over random shapes, layouts, broadcasts and scalars.
// What a row computes is tested with the rows; here its single-element result must come out of
// every stride pattern, cast, thread count and instruction set level with the same bits.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cpu/iterate.h>
#include <ingot/kernels/cpu/loops.h>
#include <ingot/kernels/cpu/parallel.h>
#include <ingot/kernels/cpu/threads.h>
#include <ingot/kernels/ops/elementwise.h>
#include <ingot/kernels/ops/registry.h>

#include "strided_buffer.h"

namespace ingot::testing {
namespace {

constexpr int kRows = rows::AllRows::size;

std::vector<const OpInfo*> elementwise_ops() {
  std::vector<const OpInfo*> ops;
  for (const OpInfo* op : all_ops()) {
    if (op->kind == OpKind::elementwise) ops.push_back(op);
  }
  return ops;
}

// Which operand is the mask of where(): found by the rows themselves.
template <class Row>
inline constexpr bool has_mask = requires {
  Row::condition_first;
};
template <class Row, int K>
inline constexpr bool has_mask<GradRow<Row, K>> = has_mask<Row> &&
                                                  (GradRow<Row, K>::uses & 1u) != 0;
template <class... Row>
bool mask_of(int id, RowList<Row...>) {
  constexpr bool masks[] = {has_mask<Row>...};
  return masks[id];
}
bool takes_mask_first(const OpInfo& op) { return mask_of(op.id, rows::AllRows{}); }

// Where to sample the operands: small, so that integer powers and exponentials stay finite.
void fill_operand(Buffer& b, Rng& rng) { b.fill_random(rng, -3, 3); }

bool same(Buffer& b, i64 i, const void* bits) {
  Buffer other(b.dtype(), {});
  std::memcpy(other.data(), bits, static_cast<std::size_t>(b.item()));
  return b.same_bits(i, bits) || (std::isnan(b.real(i)) && std::isnan(other.real(0)));
}

struct Operand {
  Buffer buffer;
  bool is_scalar;
};

// The result of one element by itself: operands cast to the compute dtype, one step of the loop,
// the result cast to the dtype of the output.
void reference(const OpInfo& op, LoopFn loop, DType compute, std::vector<Operand>& operands, i64 i,
               const Dims& sizes, DType out, void* bits) {
  alignas(8) char values[kMaxOperands][8], result[8];
  const void* in[kMaxOperands];
  i64 strides[kMaxOperands + 1];
  strides[0] = 1;
  const auto& casts = loops().copy->cast;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    Buffer& b = operands[k].buffer;
    const bool mask = k == 0 && takes_mask_first(op);
    const DType to = mask ? DType::boolean : compute;
    casts[static_cast<int>(b.dtype())][static_cast<int>(to)](
        1, values[k], b.at(broadcast_index(i, sizes, b.meta().sizes)));
    in[k] = values[k];
    strides[1 + k] = 1;
  }
  loop(1, result, in, strides);
  const DType made = op.result_is_bool ? DType::boolean : compute;
  casts[static_cast<int>(made)][static_cast<int>(out)](1, bits, result);
}

// One random call: shapes that broadcast to `sizes`, layouts, perhaps scalars, perhaps in place.
void check_random_call(const OpInfo& op, DType dtype, Rng& rng, i64 max_size) {
  const DType compute =
      op.needs_floating && !is_floating_point(dtype) ? DType::f32 : compute_type(dtype);
  const LoopFn loop = loop_for(op, compute);
  const Dims sizes = random_sizes(rng, 4, max_size);
  const int full = static_cast<int>(draw(rng, 0, op.n_in - 1));  // this one has the full shape
  std::vector<Operand> operands;
  for (int k = 0; k < op.n_in; ++k) {
    const bool mask = k == 0 && takes_mask_first(op);
    Dims own = sizes;
    bool is_scalar = false;
    if (k != full) {
      const i64 kind = draw(rng, 0, 3);
      is_scalar = kind == 0 && !mask;
      if (kind == 1) own = Dims();
      if (kind == 2) {
        for (i64& s : own) s = draw(rng, 0, 1) == 0 ? 1 : s;
      }
    }
    operands.push_back(
        {is_scalar ? Buffer(compute, {}) : Buffer(mask ? DType::boolean : dtype, own, rng),
         is_scalar});
    if (mask) {
      operands[0].buffer.fill_random(rng, 0, 2);
    } else {
      fill_operand(operands.back().buffer, rng);
    }
  }
  // where(mask, scalar, scalar) has no dtype of its own.
  bool typed = false;
  for (int k = takes_mask_first(op) ? 1 : 0; k < op.n_in; ++k) {
    typed |= !operands[static_cast<std::size_t>(k)].is_scalar;
  }
  if (!typed) return;

  Attrs attrs;
  std::vector<BufferView> in;
  for (Operand& o : operands) {
    if (!o.is_scalar) {
      in.push_back(o.buffer.view());
    } else {
      in.push_back({nullptr, nullptr});
      attrs.add_scalar(is_floating_point(compute) ? Scalar(o.buffer.real(0))
                                                  : Scalar(o.buffer.integer(0)));
      if (compute == DType::boolean)
        attrs.s[attrs.n_scalars - 1] = Scalar(o.buffer.integer(0) != 0);
    }
  }
  const DType out_dtype = op.result_is_bool                                         ? DType::boolean
                          : is_floating_point(compute) && !is_floating_point(dtype) ? compute
                                                                                    : dtype;
  // The reference comes first: the call may overwrite an operand.
  Buffer expected(out_dtype, sizes);
  for (i64 i = 0; i < expected.numel(); ++i) {
    reference(op, loop, compute, operands, i, sizes, out_dtype, expected.at(i));
  }
  Buffer fresh(out_dtype, sizes, rng);
  Buffer* out = &fresh;
  Operand& target = operands[static_cast<std::size_t>(full)];
  if (draw(rng, 0, 2) == 0 && target.buffer.dtype() == out_dtype) out = &target.buffer;
  run_kernel(op, in, {out->view()}, attrs);
  for (i64 i = 0; i < out->numel(); ++i) {
    ASSERT_TRUE(same(*out, i, expected.at(i)))
        << op.name << " on " << name(dtype) << to_string(sizes) << " element " << i << ": "
        << out->real(i) << ", alone " << expected.real(i);
  }
  ASSERT_TRUE(out->margins_intact()) << op.name;
}

bool exists(const OpInfo& op, DType t) {
  const bool cast_first = op.needs_floating && !is_floating_point(t);
  return loop_for(op, cast_first ? DType::f32 : compute_type(t)) != nullptr;
}

TEST(Elementwise, EveryRowInEveryDTypeOverRandomLayouts) {
  Rng rng(1);
  int calls = 0;
  for (const OpInfo* op : elementwise_ops()) {
    for (DType t : kAllDTypes) {
      if (!exists(*op, t)) continue;
      for (int round = 0; round < 6; ++round, ++calls) {
        check_random_call(*op, t, rng, 7);
        if (HasFatalFailure()) return;
      }
    }
  }
  EXPECT_GT(calls, 6 * 2 * kRows);
}

TEST(Elementwise, LongRunsAndTiles) {
  Rng rng(2);
  for (const char* name : {"add", "div", "where", "lt", "addcmul", "gelu", "maximum"}) {
    const OpInfo& op = *find_op(name);
    for (DType t : kAllDTypes) {
      if (!exists(op, t)) continue;
      for (int round = 0; round < 8; ++round) {
        check_random_call(op, t, rng, round < 4 ? 40 : 12);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// The loops of a level, on strided, repeated and dense runs of many lengths.
void check_patterns(const OpInfo& op, DType compute, LoopFn loop, Rng& rng) {
  for (i64 n : {1, 3, 16, 33, 515, 1100}) {
    for (int round = 0; round < 4; ++round) {
      std::vector<Operand> operands;
      const void* in[kMaxOperands];
      i64 strides[kMaxOperands];
      strides[0] = round % 2 == 0 ? 1 : draw(rng, 1, 3);
      for (int k = 0; k < op.n_in; ++k) {
        const bool mask = k == 0 && takes_mask_first(op);
        const i64 step = round == 0 ? 1 : draw(rng, 0, 2);
        operands.push_back({Buffer(mask ? DType::boolean : compute, {n}, {step}), false});
        operands.back().buffer.fill_random(rng, mask ? 0 : -3, mask ? 2 : 3);
        strides[1 + k] = step;
      }
      for (int k = 0; k < op.n_in; ++k) in[k] = operands[static_cast<std::size_t>(k)].buffer.data();
      const DType made = op.result_is_bool ? DType::boolean : compute;
      Buffer out(made, {n}, {strides[0]});
      loop(n, out.data(), in, strides);
      for (i64 i = 0; i < n; ++i) {
        alignas(8) char alone[8];
        const void* at[kMaxOperands];
        const i64 ones[kMaxOperands] = {1, 1, 1, 1, 1, 1, 1, 1};
        for (int k = 0; k < op.n_in; ++k)
          at[k] = operands[static_cast<std::size_t>(k)].buffer.at(i);
        loop(1, alone, at, ones);
        ASSERT_TRUE(same(out, i, alone)) << op.name << " " << name(compute) << " n " << n;
      }
      ASSERT_TRUE(out.margins_intact()) << op.name;
    }
  }
}

TEST(Elementwise, EveryLevelGivesOneElementTheSameBitsInEveryPattern) {
  Rng rng(3);
  for (IsaLevel level : {IsaLevel::base, IsaLevel::v3, IsaLevel::v4}) {
    const LevelLoops* table = loops_of(level);
    if (table == nullptr || level > detected_isa_level()) continue;
    for (const OpInfo* op : elementwise_ops()) {
      for (DType t : kAllDTypes) {
        const LoopFn loop = table->elementwise(op->id, static_cast<int>(t));
        if (loop == nullptr) continue;
        check_patterns(*op, t, loop, rng);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Elementwise, LevelsV3AndV4Agree) {
  const LevelLoops *v3 = loops_of(IsaLevel::v3), *v4 = loops_of(IsaLevel::v4);
  if (v3 == nullptr || v4 == nullptr || detected_isa_level() < IsaLevel::v4) {
    GTEST_SKIP() << "this build or this CPU has no two levels with the same bits";
  }
  Rng rng(4);
  constexpr i64 n = 1003;
  for (const OpInfo* op : elementwise_ops()) {
    for (DType t : kAllDTypes) {
      const LoopFn a = v3->elementwise(op->id, static_cast<int>(t));
      const LoopFn b = v4->elementwise(op->id, static_cast<int>(t));
      ASSERT_EQ(a == nullptr, b == nullptr);
      if (a == nullptr) continue;
      std::vector<Buffer> operands;
      const void* in[kMaxOperands];
      const i64 ones[kMaxOperands] = {1, 1, 1, 1, 1, 1, 1, 1};
      for (int k = 0; k < op->n_in; ++k) {
        const bool mask = k == 0 && takes_mask_first(*op);
        operands.emplace_back(mask ? DType::boolean : t, Dims{n});
        operands.back().fill_random(rng, mask ? 0 : -20, mask ? 2 : 20);
      }
      for (int k = 0; k < op->n_in; ++k) in[k] = operands[static_cast<std::size_t>(k)].data();
      const DType made = op->result_is_bool ? DType::boolean : t;
      Buffer x(made, {n}), y(made, {n});
      a(n, x.data(), in, ones);
      b(n, y.data(), in, ones);
      for (i64 i = 0; i < n; ++i) {
        ASSERT_TRUE(same(x, i, y.at(i)))
            << op->name << " " << name(t) << ": " << x.real(i) << " and " << y.real(i);
      }
    }
  }
}

// The value of f32 rows against the same formula in double.
TEST(Elementwise, FloatsFollowTheDoubleFormula) {
  Rng rng(5);
  for (const OpInfo* op : elementwise_ops()) {
    const LoopFn narrow = loop_for(*op, DType::f32), wide = loop_for(*op, DType::f64);
    if (narrow == nullptr) continue;
    for (int round = 0; round < 500; ++round) {
      alignas(8) char f[kMaxOperands][8], d[kMaxOperands][8];
      const void *in_f[kMaxOperands], *in_d[kMaxOperands];
      const i64 ones[kMaxOperands] = {1, 1, 1, 1, 1, 1, 1, 1};
      double scale = 1;
      for (int k = 0; k < op->n_in; ++k) {
        const float x = static_cast<float>(std::uniform_real_distribution<double>(0.1, 3)(rng));
        const double as_double = x;
        std::memcpy(f[k], &x, 4);
        std::memcpy(d[k], &as_double, 8);
        if (k == 0 && takes_mask_first(*op)) f[k][0] = d[k][0] = x > 1;
        in_f[k] = f[k];
        in_d[k] = d[k];
        scale *= 1 + 3 * as_double;
      }
      Buffer x(op->result_is_bool ? DType::boolean : DType::f32, {});
      Buffer y(op->result_is_bool ? DType::boolean : DType::f64, {});
      narrow(1, x.data(), in_f, ones);
      wide(1, y.data(), in_d, ones);
      ASSERT_NEAR(x.real(0), y.real(0), 3e-6 * (std::fabs(y.real(0)) + scale)) << op->name;
    }
  }
}

TEST(Elementwise, ThreadsDoNotMatter) {
  Rng rng(6);
  const int before = num_threads();
  for (const char* name : {"tanh", "mul", "lt"}) {
    const OpInfo& op = *find_op(name);
    for (DType t : {DType::f32, DType::bf16}) {
      Buffer a(t, {601, 1003}), b(t, {1003});
      a.fill_random(rng, -3, 3);
      b.fill_random(rng, -3, 3);
      std::vector<BufferView> in{a.view()};
      if (op.n_in == 2) in.push_back(b.view());
      const Meta meta = inferred(op, in, {})[0];
      Buffer alone(meta), many(meta);
      set_num_threads(1);
      run_kernel(op, in, {alone.view()});
      set_num_threads(4);
      run_kernel(op, in, {many.view()});
      set_num_threads(before);
      for (i64 i = 0; i < alone.numel(); ++i) ASSERT_TRUE(many.same_bits(i, alone.at(i)));
      EXPECT_TRUE(many.margins_intact());
    }
  }
}

TEST(Elementwise, HostScalarsAreTakenInOperandOrder) {
  Buffer x(DType::i64, {3}), y(DType::i64, {3});
  for (i64 i = 0; i < 3; ++i) x.set(i, static_cast<double>(10 * i));
  Attrs attrs;
  attrs.add_scalar(5);
  attrs.add_scalar(15);
  run_kernel(*find_op("clamp"), {x.view(), {nullptr, nullptr}, {nullptr, nullptr}}, {y.view()},
             attrs);
  EXPECT_EQ(y.integer(0), 5);
  EXPECT_EQ(y.integer(1), 10);
  EXPECT_EQ(y.integer(2), 15);
}

TEST(Elementwise, ADTypeWithoutTheRowIsAnError) {
  Buffer x(DType::boolean, {3}), y(DType::boolean, {3});
  x.fill_random(*std::make_unique<Rng>(7), 0, 2);
  try {
    run_kernel(*find_op("neg"), {x.view()}, {y.view()});
    FAIL() << "neg has no loop for bool";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "neg: not defined for bool");
  }
}

TEST(KernelTable, NamesWhatItLacks) {
  try {
    kernel_for(*find_op("view"), DeviceType::cpu);
    FAIL() << "a view has no kernel";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "view: no kernel for cpu");
  }
}

TEST(KernelTable, EveryOpButViewsHasACpuKernel) {
  for (const OpInfo* op : all_ops()) {
    if (op->kind == OpKind::view) continue;
    EXPECT_NE(kernel_for(*op, DeviceType::cpu), nullptr) << op->name;
  }
}

// Shapes that walk by tiles: rows repeated under a short axis, operands across the result's order.
TEST(Elementwise, RepeatedRowsAndTransposedOperands) {
  Rng rng(9);
  const OpInfo& op = *find_op("sub");
  struct Case {
    Dims sizes, a_strides, b_sizes, b_strides;
  };
  for (const Case& c :
       {Case{{300, 7}, {7, 1}, {7}, {1}}, Case{{2, 9, 64}, {576, 64, 1}, {64}, {1}},
        Case{{2000, 3}, {3, 1}, {1, 3}, {3, 1}}, Case{{300, 70}, {70, 1}, {300, 70}, {1, 300}},
        Case{{16, 517}, {1, 16}, {16, 517}, {517, 1}},
        Case{{37, 48, 33}, {1, 37, 37 * 48}, {48, 33}, {33, 1}},
        Case{{3, 37, 48}, {37 * 48, 48, 1}, {3, 37, 48}, {37 * 48, 1, 37}}}) {
    for (DType t : {DType::f32, DType::f64, DType::bf16, DType::u8}) {
      std::vector<Operand> operands;
      operands.push_back({Buffer(t, c.sizes, c.a_strides), false});
      operands.push_back({Buffer(t, c.b_sizes, c.b_strides), false});
      for (Operand& o : operands) fill_operand(o.buffer, rng);
      Buffer out(t, c.sizes);
      run_kernel(op, {operands[0].buffer.view(), operands[1].buffer.view()}, {out.view()});
      const LoopFn loop = loop_for(op, compute_type(t));
      for (i64 i = 0; i < out.numel(); ++i) {
        alignas(8) char expected[8];
        reference(op, loop, compute_type(t), operands, i, c.sizes, t, expected);
        ASSERT_TRUE(same(out, i, expected)) << name(t) << to_string(c.sizes) << " element " << i;
      }
      ASSERT_TRUE(out.margins_intact());
    }
  }
}

TEST(Nest, DenseOperandsOfAnyOrderAreOneRun) {
  for (Dims strides : {Dims{12, 4, 1}, Dims{1, 2, 6}, Dims{4, 8, 1}}) {
    Nest nest({2, 3, 4});
    char byte = 0;
    nest.add(&byte, strides, 4);
    nest.add(&byte, strides, 4);
    nest.add_value(&byte);
    nest.collapse();
    EXPECT_EQ(nest.dim(), 1);
    EXPECT_EQ(nest.size(0), 24);
    EXPECT_EQ(nest.stride(0, 0), 1);
    EXPECT_EQ(nest.stride(0, 2), 0);
  }
}

TEST(Nest, ARowBroadcastKeepsTwoAxes) {
  Nest nest({5, 1, 3, 4});
  char byte = 0;
  nest.add(&byte, {12, 12, 4, 1}, 4);
  nest.add(&byte, {0, 0, 4, 1}, 4);
  nest.collapse();
  EXPECT_EQ(nest.dim(), 2);
  EXPECT_EQ(nest.size(0), 12);
  EXPECT_EQ(nest.size(1), 5);
}

TEST(Nest, AnyPieceVisitsItsElementsOnce) {
  Rng rng(8);
  for (int round = 0; round < 200; ++round) {
    const Dims sizes = random_sizes(rng, 5, 6);
    const i64 n = sizes.product();
    std::vector<int> visits(static_cast<std::size_t>(n) + 1, 0);
    Nest nest(sizes);
    nest.add(visits.data(), random_strides(rng, sizes, Layout::permuted), sizeof(int));
    round % 2 == 0 ? nest.collapse() : nest.merge();
    if (round % 4 == 0) nest.lengthen_runs();
    for (i64 begin = 0; begin < n;) {
      const i64 end = begin + draw(rng, 1, n - begin);
      nest.walk(begin, end, [&](i64 count, char* const* at) {
        for (i64 i = 0; i < count; ++i) {
          ++reinterpret_cast<int*>(at[0])[i * nest.run_strides()[0]];
        }
      });
      begin = end;
    }
    for (i64 i = 0; i < n; ++i) ASSERT_EQ(visits[static_cast<std::size_t>(i)], 1);
  }
}

}  // namespace
}  // namespace ingot::testing
