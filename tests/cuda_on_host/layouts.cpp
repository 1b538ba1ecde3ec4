#include "cuda_on_host/layouts.h"

#include <cmath>
#include <limits>

#include <ingot/runtime/ops.h>

namespace ingot::emulation {

namespace {

i64 draw(Rng& rng, i64 low, i64 high) {  // both inclusive
  return std::uniform_int_distribution<i64>(low, high)(rng);
}

Tensor dense(const Dims& sizes, DType dtype, Rng& rng) {
  static constexpr double kSpecial[] = {0.0,       -0.0, 1.0,   -1.0, INFINITY,
                                        -INFINITY, NAN,  1e-40, 3e4,  1e30};
  std::vector<double> values(static_cast<std::size_t>(sizes.product()));
  for (double& v : values) {
    v = std::uniform_real_distribution<double>(-3, 3)(rng);
    if (!is_floating_point(dtype)) {
      v = std::floor(dtype == DType::u8 ? std::fabs(v) : v);
    } else if (draw(rng, 0, 19) == 0) {
      v = kSpecial[draw(rng, 0, std::size(kSpecial) - 1)];
    }
  }
  return from_vector(values, sizes, DType::f64).to(dtype);
}

}  // namespace

Dims random_sizes(Rng& rng, i64 longest) {
  Dims sizes;
  for (i64 d = draw(rng, 0, 4); d > 0; --d) {
    sizes.push_back(draw(rng, 0, 9) == 0 ? 1 : draw(rng, 2, longest));
  }
  return sizes;
}

Tensor tensor_in(Layout layout, const Dims& sizes, DType dtype, Rng& rng) {
  switch (layout) {
    case Layout::dense:
      break;
    case Layout::permuted: {
      Dims order, reversed;
      for (int d = sizes.size() - 1; d >= 0; --d) {
        order.push_back(d);
        reversed.push_back(sizes[d]);
      }
      return permute(dense(reversed, dtype, rng), order);
    }
    case Layout::stepped: {
      if (sizes.empty()) break;
      Dims wide = sizes;
      wide.back() = 2 * wide.back() + 1;
      return slice(dense(wide, dtype, rng), -1, 1, wide.back(), 2);
    }
    case Layout::shifted:
      return slice(dense({sizes.product() + 1}, dtype, rng), 0, 1).view(sizes);
    case Layout::expanded: {
      Dims small = sizes;
      for (i64& s : small) s = draw(rng, 0, 1) == 0 ? 1 : s;
      return dense(small, dtype, rng).expand(sizes);
    }
  }
  return dense(sizes, dtype, rng);
}

}  // namespace ingot::emulation
