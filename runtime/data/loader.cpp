#include <algorithm>
#include <cstring>
#include <numeric>

#include <ingot/kernels/core/check_at.h>
#include <ingot/kernels/cpu/parallel.h>
#include <ingot/kernels/cuda/device.h>
#include <ingot/runtime/data/loader.h>
#include <ingot/runtime/data/permutation.h>
#include <ingot/runtime/dispatch.h>
#include <ingot/runtime/internal_ops.h>
#include <ingot/runtime/ops.h>

namespace ingot::data {

DataLoader::DataLoader(Dataset dataset, LoaderOptions options, Loc loc)
    : dataset_(std::move(dataset)), options_(options), loc_(loc) {
  INGOT_CHECK_AT("DataLoader", loc, options.batch_size > 0, "batch_size must be positive, got {}",
                 options.batch_size);
  const MeanStd by = dataset_.normalization();
  for (std::size_t v = 0; v < pixel_.size(); ++v) {
    pixel_[v] = static_cast<float>((static_cast<double>(v) / 255 - by.mean) / by.std);
  }
}

i64 DataLoader::size() const {
  const i64 rows = dataset_.size(), batch = options_.batch_size;
  return options_.drop_last ? rows / batch : rows / batch + (rows % batch != 0 ? 1 : 0);
}

DataLoader::Iterator DataLoader::begin() const {
  std::shared_ptr<const std::vector<i64>> order;
  if (options_.shuffle) {
    order = std::make_shared<const std::vector<i64>>(
        permutation(dataset_.size(), options_.seed, static_cast<std::uint64_t>(epoch_)));
  }
  ++epoch_;
  return {this, std::move(order), 0};
}

void DataLoader::gather_x(const i64* rows, i64 n, float* to) const {
  constexpr i64 kElementsPerRange = 1 << 15;
  const Tensor& x = dataset_.x();
  const i64 width = x.numel() / x.size(0);
  const i64 grain = std::max<i64>(1, kElementsPerRange / std::max<i64>(1, width));
  const void* bytes = bytes_of(x, Access::read, "DataLoader", loc_);
  if (x.dtype() == DType::u8) {
    const auto* from = static_cast<const std::uint8_t*>(bytes);
    parallel_for(n, grain, [&](i64 begin, i64 end) {
      for (i64 i = begin; i < end; ++i) {
        const std::uint8_t* row = from + rows[i] * width;
        std::transform(row, row + width, to + i * width, [&](std::uint8_t v) { return pixel_[v]; });
      }
    });
    return;
  }
  const auto* from = static_cast<const float*>(bytes);
  const MeanStd by = dataset_.normalization();
  const bool plain = by.mean == 0 && by.std == 1;
  parallel_for(n, grain, [&](i64 begin, i64 end) {
    for (i64 i = begin; i < end; ++i) {
      const float* row = from + rows[i] * width;
      if (plain) {
        std::copy_n(row, width, to + i * width);
      } else {
        std::transform(row, row + width, to + i * width,
                       [&](float v) { return static_cast<float>((v - by.mean) / by.std); });
      }
    }
  });
}

Batch DataLoader::batch(const std::vector<i64>* order, i64 index) const {
  const Tensor& y = dataset_.y();
  const i64 first = index * options_.batch_size;
  const i64 n = std::min(options_.batch_size, dataset_.size() - first);
  std::vector<i64> in_order;
  if (order == nullptr) {
    in_order.resize(static_cast<std::size_t>(n));
    std::iota(in_order.begin(), in_order.end(), first);
  }
  const i64* rows = order != nullptr ? order->data() + first : in_order.data();

  Dims x_sizes = dataset_.x().sizes(), y_sizes = y.sizes();
  x_sizes[0] = y_sizes[0] = n;
  const bool pinned = options_.pin_memory && cuda::is_available();
  const auto make = [&](const Dims& sizes, DType t) {
    return pinned ? empty_pinned(sizes, t, "a page-locked batch", loc_)
                  : empty(sizes, TensorOptions(t, kCPU), loc_);
  };
  Batch batch{make(x_sizes, DType::f32), make(y_sizes, y.dtype())};
  gather_x(rows, n, static_cast<float*>(bytes_of(batch.x, Access::write, "DataLoader", loc_)));
  const std::size_t row_bytes = static_cast<std::size_t>(y.numel() / y.size(0)) *
                                static_cast<std::size_t>(item_size(y.dtype()));
  auto* to = static_cast<std::byte*>(bytes_of(batch.y, Access::write, "DataLoader", loc_));
  const auto* from = static_cast<const std::byte*>(bytes_of(y, Access::read, "DataLoader", loc_));
  for (i64 i = 0; i < n; ++i, to += row_bytes) {
    std::memcpy(to, from + static_cast<std::size_t>(rows[i]) * row_bytes, row_bytes);
  }
  if (options_.device.is_cpu()) return batch;
  return {batch.x.to(options_.device, pinned, loc_), batch.y.to(options_.device, pinned, loc_)};
}

}  // namespace ingot::data
