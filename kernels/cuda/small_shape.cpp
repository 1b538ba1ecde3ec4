#include <cstdint>

#include <ingot/kernels/cuda/product_view.h>
#include <ingot/kernels/cuda/small_shape.h>

namespace ingot {
inline namespace INGOT_ISA {

namespace {

// Elements of the result and of a factor, up to which the kernel of our own is the faster one. Not
// of 16-bit factors: tensor cores win at any size.
constexpr i64 kMostResults = 65536, kMostOfAFactor = 262144;

// The processors of the GPU on which the tiles were measured: no property of this one, for the
// choice must not depend on it.
constexpr i64 kManyBlocks = 132;

i64 tiles(i64 size, i64 tile) { return (size + tile - 1) / tile; }

// Whether four neighbours along an axis are one aligned load, wherever they begin.
bool quads(const void* data, i64 along, i64 across, i64 size_across, i64 step) {
  return along == 1 && (size_across == 1 || across % 4 == 0) && step % 4 == 0 &&
         reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
}

}  // namespace

bool small_product(const ProductView& v, SmallProduct* p, SmallShape* shape) {
  const bool f32 = v.dtype == DType::f32;
  if ((!f32 && v.dtype != DType::f64) || v.batch.size() > 1) return false;
  const i64 batch = v.batch.empty() ? 1 : v.batch[0];
  const auto fits = [](i64 size) { return size > 0 && size <= kMostResults; };
  if (!fits(v.m) || !fits(v.n) || !fits(batch)) return false;
  if (v.k > (f32 ? kSmallDepth<float> : kSmallDepth<double>)) return false;
  // With one row or column nothing is read twice: the library's kernels for these are better.
  if (v.m == 1 || v.n == 1) return false;
  if (v.m * v.n > kMostResults || batch * v.m * v.n > kMostResults) return false;
  if (batch * v.m * v.k > kMostOfAFactor || batch * v.n * v.k > kMostOfAFactor) return false;

  *p = {};
  p->a = v.a;
  p->b = v.b;
  p->d = v.d;
  p->bias = v.bias;
  p->a_row = v.a_row;
  p->a_column = v.a_column;
  p->b_row = v.b_row;
  p->b_column = v.b_column;
  p->bias_row = v.bias_row;
  p->bias_column = v.bias_column;
  if (!v.batch.empty()) {
    p->a_step = v.a_steps[0];
    p->b_step = v.b_steps[0];
    p->d_step = v.d_steps[0];
  }
  p->alpha = v.alpha;
  p->beta = v.beta;
  p->m = static_cast<int>(v.m);
  p->n = static_cast<int>(v.n);
  p->k = static_cast<int>(v.k);
  while (4 << p->log2_quads < p->k) ++p->log2_quads;

  *shape = {};
  shape->dtype = static_cast<int>(v.dtype);
  const i64 across = tiles(v.n, kSmallColumns);
  const bool many = batch * tiles(v.m, 8) * across > kManyBlocks;
  shape->tile_rows = f32 && many ? 16 : 8;
  const i64 down = tiles(v.m, shape->tile_rows);
  shape->blocks = static_cast<unsigned>(batch * down * across);
  p->tiles_m = FastDivisor(static_cast<unsigned>(down));
  p->tiles_n = FastDivisor(static_cast<unsigned>(across));
  shape->a_along = v.a_column == 1 || v.a_row != 1;
  shape->b_along = v.b_row == 1 && v.b_column != 1;
  const bool a_quads = shape->a_along ? quads(v.a, v.a_column, v.a_row, v.m, p->a_step)
                                      : quads(v.a, v.a_row, v.a_column, v.k, p->a_step);
  const bool b_quads = shape->b_along ? quads(v.b, v.b_row, v.b_column, v.n, p->b_step)
                                      : quads(v.b, v.b_column, v.b_row, v.k, p->b_step);
  shape->quads = f32 && a_quads && b_quads;
  return true;
}

}  // namespace INGOT_ISA
}  // namespace ingot
