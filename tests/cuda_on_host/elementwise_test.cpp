// Every elementwise row, values and gradients, in every dtype and layout; copies and casts between
// all dtypes: the CUDA kernel's bits are the CPU's.
#include <gtest/gtest.h>

#include <ingot/ingot.h>
#include <ingot/kernels/ops/registry.h>
#include <ingot/runtime/dispatch.h>

#include "cuda_on_host/layouts.h"
#include "cuda_on_host/shadow.h"

namespace ingot {
namespace {

using namespace emulation;

constexpr DType kAllDTypes[] = {DType::f32, DType::f64, DType::f16, DType::bf16,
                                DType::i64, DType::i32, DType::u8,  DType::boolean};

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

// Ops that need floating operands get no others: dispatch() would refuse them.
bool exists(const OpInfo& op, DType t) {
  if (op.needs_floating && !is_floating_point(t)) return false;
  return loop_for(op, compute_type(t)) != nullptr;
}

// Operands that broadcast to `sizes`; at least one has these sizes and is a tensor.
struct Operands {
  std::vector<Tensor> tensors;
  Attrs attrs;
  int full = 0;

  Operands(const OpInfo& op, DType t, const Dims& sizes, Layout layout, Rng& rng) {
    const bool mask = mask_of(op.id, rows::AllRows{});
    full = op.n_in - 1 - static_cast<int>(rng() % (mask ? 1u : static_cast<unsigned>(op.n_in)));
    for (int k = 0; k < op.n_in; ++k) {
      const bool is_mask = mask && k == 0;
      const unsigned kind = k == full ? 3 : static_cast<unsigned>(rng() % 4);
      Dims own = sizes;
      if (kind == 1) own = {};
      if (kind == 2) {
        for (i64& s : own) s = rng() % 2 == 0 ? 1 : s;
      }
      if (kind == 0 && !is_mask) {
        const double v = static_cast<double>(rng() % 3) - (t == DType::u8 ? 0 : 1);
        tensors.emplace_back();
        attrs.add_scalar(t == DType::boolean    ? Scalar(v > 0)
                         : is_floating_point(t) ? Scalar(v + 0.5)
                                                : Scalar(static_cast<i64>(v)));
        continue;
      }
      tensors.push_back(tensor_in(layout, own, is_mask ? DType::boolean : t, rng));
    }
  }
};

TEST(ShadowElementwise, EveryRowInEveryDTypeAndLayout) {
  Rng rng(1);
  int calls = 0;
  for (const OpInfo* op : all_ops()) {
    if (op->kind != OpKind::elementwise) continue;
    for (const DType t : kAllDTypes) {
      if (!exists(*op, t)) continue;
      for (const Layout layout : kLayouts) {
        // Long runs in one call of five: more than a block, and a rest.
        const Dims sizes = calls % 5 == 0 ? Dims{1031} : random_sizes(rng, 6);
        const Operands operands(*op, t, sizes, layout, rng);
        std::vector<const Tensor*> in;
        for (const Tensor& x : operands.tensors) in.push_back(x.defined() ? &x : nullptr);
        const DType made = op->result_is_bool ? DType::boolean : t;
        const int writes =
            calls % 3 == 0 && made == t && layout != Layout::expanded ? operands.full : -1;
        NoGradGuard guard;
        Shadow shadow;
        (void)dispatch({*op, in.data(), op->n_in, operands.attrs, Loc::here(), kCPU, writes});
        ++calls;
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_GT(calls, 5 * 2 * rows::AllRows::size);
}

TEST(ShadowCopies, BetweenAllDTypesAndLayouts) {
  Rng rng(2);
  NoGradGuard guard;
  for (const DType from : kAllDTypes) {
    for (const DType to : kAllDTypes) {
      for (const Layout layout : kLayouts) {
        const Dims sizes = layout == Layout::shifted ? Dims{777} : random_sizes(rng, 7);
        const Tensor source = tensor_in(layout, sizes, from, rng);
        const Layout other = kLayouts[rng() % 4];
        Tensor target = tensor_in(other, sizes, to, rng);
        Shadow shadow;
        (void)source.to(to);
        (void)source.clone();
        target.copy_(source);
        target.fill_(1.0);
        if (HasFailure()) return;
      }
    }
  }
}

TEST(ShadowCopies, OverlapOfSourceAndTarget) {
  Rng rng(3);
  NoGradGuard guard;
  for (const DType t : kAllDTypes) {
    Tensor square = tensor_in(Layout::dense, {19, 19}, t, rng);
    Tensor line = tensor_in(Layout::dense, {700}, t, rng);
    Shadow shadow;
    square.copy_(square.t());
    slice(line, 0, 1).copy_(slice(line, 0, 0, 699));
    slice(line, 0, 0, 699).copy_(slice(line, 0, 1));
  }
}

TEST(ShadowCopies, JoiningTurningAndCounting) {
  Rng rng(4);
  for (const DType t : kAllDTypes) {
    const Tensor a = tensor_in(Layout::permuted, {3, 5, 4}, t, rng);
    const Tensor b = tensor_in(Layout::stepped, {3, 2, 4}, t, rng);
    Shadow shadow;
    (void)cat({a, b, a}, 1);
    (void)stack({a, a}, 2);
    (void)flip(a, {0, 2});
    (void)zeros({3, 0, 2}, dtype(t));
    (void)full({3, 7}, 1, dtype(t));
    if (t == DType::boolean) continue;
    (void)arange(0, 100, 3, dtype(t));
  }
}

}  // namespace
}  // namespace ingot
