// topk as CUDA kernels on the host against the CPU's: both ways of choosing, any axis, ties and
// NaN.
#include <gtest/gtest.h>

#include <ingot/kernels/ops/structured/list.h>
#include <ingot/kernels/ops/structured/reductions.h>

#include "kernels/op_harness.h"

namespace ingot::isa_emulated {
Kernel cuda_kernel(const OpInfo& op);
}

namespace ingot::testing {
namespace {

void check_topk(Buffer& x, int axis, i64 k, bool largest) {
  const OpInfo& op = structured_op<structured::Topk>;
  Attrs attrs;
  attrs.a = axis;
  attrs.b = k;
  attrs.c = largest;
  std::vector<Buffer> want = run_op(op, kernel_for(op, DeviceType::cpu), {&x}, attrs);
  std::vector<Buffer> got = run_op(op, isa_emulated::cuda_kernel(op), {&x}, attrs);
  for (i64 i = 0; i < want[0].numel(); ++i) {
    ASSERT_EQ(got[1].integer(i), want[1].integer(i))
        << describe(x.meta()) << " axis " << axis << ", k " << k << ", result " << i;
    if (std::isnan(want[0].real(i))) {
      ASSERT_TRUE(std::isnan(got[0].real(i)));
    } else {
      ASSERT_EQ(got[0].real(i), want[0].real(i));
    }
  }
}

TEST(CudaTopk, AnyAxisAndDtype) {
  Rng rng(1);
  for (int round = 0; round < 200; ++round) {
    const DType t = kAllDTypes[draw(rng, 0, 7)];
    Buffer x(t, random_sizes(rng, 4, 9), rng);
    x.fill_random(rng, -3, 3);
    const int axis = x.meta().dim() == 0 ? 0 : static_cast<int>(draw(rng, 0, x.meta().dim() - 1));
    const i64 n = x.meta().dim() == 0 ? 1 : x.meta().sizes[axis];
    check_topk(x, axis, draw(rng, 0, n), round % 2 == 0);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(CudaTopk, FewAndManyOfLongRows) {
  Rng rng(2);
  for (DType t : {DType::f32, DType::bf16, DType::i64}) {
    for (i64 k : {1, 5, 64, 65, 700}) {
      Buffer rows(t, {2, 700}), columns(t, {2, 700}, {1, 2});
      for (Buffer* x : {&rows, &columns}) {
        x->fill_random(rng, -50, 50);
        check_topk(*x, 1, k, true);
        check_topk(*x, 1, k, false);
      }
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(CudaTopk, NaNIsAboveAllAndEqualsKeepTheirOrder) {
  const Values values = {1, kNaN, -0.0, kInf, 0.0, -kInf, kNaN, 1};
  for (DType t : kFloating) {
    Buffer x = buffer_of({8}, values, t);
    for (i64 k : {1, 3, 8}) {
      check_topk(x, 0, k, true);
      check_topk(x, 0, k, false);
    }
  }
}

TEST(CudaTopk, IntegersReachTheirEnds) {
  Buffer x(DType::i64, {4});
  const i64 values[] = {INT64_MAX, INT64_MIN, -1, INT64_MIN};
  for (i64 i = 0; i < 4; ++i) x.set_raw(i, values[i]);
  for (bool largest : {true, false}) check_topk(x, 0, 4, largest);
}

}  // namespace
}  // namespace ingot::testing
