#include <array>
#include <cmath>

#include <ingot/kernels/core/check_at.h>
#include <ingot/runtime/data/dataset.h>
#include <ingot/runtime/dispatch.h>
#include <ingot/runtime/grad_mode.h>

namespace ingot::data {

namespace {

// Exact sums of a histogram, so the figures depend on no order of adding.
MeanStd mean_std_u8(const std::uint8_t* pixels, i64 n) {
  std::array<std::uint64_t, 256> count{};
  for (i64 i = 0; i < n; ++i) ++count[pixels[i]];
  std::uint64_t sum = 0;
  double squares = 0;
  for (std::uint64_t v = 0; v < 256; ++v) sum += v * count[v];
  const double mean = static_cast<double>(sum) / static_cast<double>(n);
  for (std::size_t v = 0; v < 256; ++v) {
    const double d = static_cast<double>(v) - mean;
    squares += d * d * static_cast<double>(count[v]);
  }
  return {mean / 255, std::sqrt(squares / static_cast<double>(n)) / 255};
}

MeanStd mean_std_f32(const float* values, i64 n) {
  double sum = 0, squares = 0;
  for (i64 i = 0; i < n; ++i) sum += values[i];
  const double mean = sum / static_cast<double>(n);
  for (i64 i = 0; i < n; ++i) squares += (values[i] - mean) * (values[i] - mean);
  return {mean, std::sqrt(squares / static_cast<double>(n))};
}

}  // namespace

Dataset::Dataset(Tensor x, Tensor y, Loc loc) {
  INGOT_CHECK_AT("Dataset", loc, x.defined() && y.defined() && x.dim() > 0 && y.dim() > 0,
                 "x and y need an axis of rows each");
  INGOT_CHECK_AT("Dataset", loc, x.size(0) == y.size(0), "x has {} rows, y has {}", x.size(0),
                 y.size(0));
  INGOT_CHECK_AT("Dataset", loc, x.dtype() == DType::u8 || x.dtype() == DType::f32,
                 "x must be u8 or f32, got {}", name(x.dtype()));
  INGOT_CHECK_AT("Dataset", loc, y.dtype() == DType::i64 || y.dtype() == DType::f32,
                 "y must be i64 or f32, got {}", name(y.dtype()));
  INGOT_CHECK_AT("Dataset", loc, x.device().is_cpu() && y.device().is_cpu(),
                 "x and y must be on the CPU; the loader moves batches");
  NoGradGuard no_grad;
  x_ = x.contiguous(loc);
  y_ = y.contiguous(loc);
}

MeanStd Dataset::mean_std(Loc loc) const {
  INGOT_CHECK_AT("Dataset", loc, x_.defined() && x_.numel() > 0,
                 "mean and standard deviation of no elements");
  const void* bytes = bytes_of(x_, Access::read, "Dataset", loc);
  if (x_.dtype() == DType::u8) {
    return mean_std_u8(static_cast<const std::uint8_t*>(bytes), x_.numel());
  }
  return mean_std_f32(static_cast<const float*>(bytes), x_.numel());
}

void Dataset::normalize(MeanStd by, Loc loc) {
  INGOT_CHECK_AT("Dataset", loc, std::isfinite(by.mean) && std::isfinite(by.std) && by.std > 0,
                 "cannot normalise by mean {} and standard deviation {}", by.mean, by.std);
  by_ = by;
}

}  // namespace ingot::data
