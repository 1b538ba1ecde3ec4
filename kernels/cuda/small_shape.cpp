#include <cstdint>

#include <ingot/kernels/cuda/product_view.h>
#include <ingot/kernels/cuda/small_shape.h>

namespace ingot {
inline namespace INGOT_ISA {

namespace {

// Elements of the result and of a factor, and terms of a sum, up to which the kernel of our own is
// the faster one; of few results (a sixteenth), more terms. Tensor cores win earlier with 16-bit
// factors.
struct Limits {
  i64 results, factor, terms, terms_of_few;
};
Limits limits_of(DType t) {
  switch (t) {
    case DType::f32:
      return {65536, 262144, 256, 1024};
    case DType::f64:
    case DType::f16:
    case DType::bf16:
      return {16384, 32768, 128, 128};
    default:
      return {0, 0, 0, 0};
  }
}

// The processors of the GPU on which the tiles were measured: no property of this one, for the
// choice must not depend on it.
constexpr i64 kManyBlocks = 132;

i64 tiles(i64 size, i64 tile) { return (size + tile - 1) / tile; }

// Whether four neighbours along an axis are one aligned load, wherever they begin.
bool quads(const void* data, DType t, i64 along, i64 across, i64 size_across, i64 step) {
  const auto bytes = static_cast<std::uintptr_t>(4 * item_size(t) > 16 ? 16 : 4 * item_size(t));
  return along == 1 && (size_across == 1 || across % 4 == 0) && step % 4 == 0 &&
         reinterpret_cast<std::uintptr_t>(data) % bytes == 0;
}

}  // namespace

bool small_product(const ProductView& v, SmallProduct* p, SmallShape* shape) {
  const Limits most = limits_of(v.dtype);
  if (v.batch.size() > 1) return false;
  const i64 batch = v.batch.empty() ? 1 : v.batch[0];
  if (v.m <= 0 || v.n <= 0 || batch <= 0 || v.k > most.terms_of_few || v.m > most.results ||
      v.n > most.results || batch > most.results) {
    return false;
  }
  if (v.m * v.n > most.results || batch * v.m * v.n > most.results) return false;
  if (v.k > most.terms && 16 * batch * v.m * v.n > most.results) return false;
  if (batch * v.m * v.k > most.factor || batch * v.n * v.k > most.factor) return false;

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

  *shape = {};
  shape->dtype = static_cast<int>(v.dtype);
  const i64 across = tiles(v.n, kSmallColumns);
  const bool many = batch * tiles(v.m, 8) * across > kManyBlocks;
  shape->tile_rows = v.dtype == DType::f32 && many ? 16 : 8;
  const i64 down = tiles(v.m, shape->tile_rows);
  shape->blocks = static_cast<unsigned>(batch * down * across);
  p->tiles_m = FastDivisor(static_cast<unsigned>(down));
  p->tiles_n = FastDivisor(static_cast<unsigned>(across));
  shape->a_along = v.a_column == 1 || v.a_row != 1;
  shape->b_along = v.b_row == 1 && v.b_column != 1;
  p->a_quads = shape->a_along ? quads(v.a, v.dtype, v.a_column, v.a_row, v.m, p->a_step)
                              : quads(v.a, v.dtype, v.a_row, v.a_column, v.k, p->a_step);
  p->b_quads = shape->b_along ? quads(v.b, v.dtype, v.b_row, v.b_column, v.n, p->b_step)
                              : quads(v.b, v.dtype, v.b_column, v.b_row, v.k, p->b_step);
  return true;
}

}  // namespace INGOT_ISA
}  // namespace ingot
