// Random ops as CUDA kernels: the CPU's draws, in every dtype, at sizes with rests and in every
// layout that is written.
#include <gtest/gtest.h>

#include <ingot/ingot.h>

#include "cuda_on_host/layouts.h"
#include "cuda_on_host/shadow.h"

namespace ingot {
namespace {

using namespace emulation;

constexpr DType kFloating[] = {DType::f32, DType::f64, DType::f16, DType::bf16};
constexpr i64 kSizes[] = {1, 2, 3, 5, 8, 1023, 5001};

TEST(ShadowRandom, Creation) {
  Shadow shadow;
  for (const i64 n : kSizes) {
    for (const DType t : kFloating) {
      (void)rand(Dims{n}, dtype(t));
      (void)randn(Dims{n}, dtype(t));
      (void)randint(-5, 1000, Dims{n}, dtype(t));
    }
    (void)randint(-(i64{1} << 62), i64{1} << 62, Dims{n}, dtype(DType::i64));
    (void)randint(-7, 2000000000, Dims{n}, dtype(DType::i32));
    (void)randint(3, 256, Dims{n}, dtype(DType::u8));
    (void)randint(0, 2, Dims{n}, dtype(DType::boolean));
  }
}

TEST(ShadowRandom, FillsAndDropout) {
  Rng rng(31);
  NoGradGuard guard;
  for (const DType t : kFloating) {
    for (const Layout layout : kLayouts) {
      for (const Dims& sizes : {Dims{6, 5, 7}, Dims{8, 4}, Dims{3}}) {
        Tensor x = tensor_in(layout, sizes, t, rng);
        Shadow shadow;
        (void)dropout(x, 0.3);
        (void)dropout(x, 1.0);
        (void)dropout(x, 0.0);
        if (layout == Layout::expanded) continue;
        x.uniform_(-2, 0.5);
        x.normal_(3, 0.25);
        if (HasFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace ingot
