// Tensors without the tensor class: memory of any layout with a canary in every byte that is not an
// element, and element access by logical index in plain types.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <ingot/kernels/core/meta.h>
#include <ingot/kernels/kernel_table.h>
#include <ingot/kernels/ops/half.h>

namespace ingot::testing {

inline constexpr DType kAllDTypes[] = {DType::f32, DType::f64, DType::f16, DType::bf16,
                                       DType::i64, DType::i32, DType::u8,  DType::boolean};

using Rng = std::mt19937_64;
inline i64 draw(Rng& rng, i64 low, i64 high) {  // both inclusive
  return std::uniform_int_distribution<i64>(low, high)(rng);
}

enum class Layout { row_major, permuted, gaps };

inline Dims random_sizes(Rng& rng, int max_dim, i64 max_size) {
  Dims sizes;
  for (i64 d = draw(rng, 0, max_dim); d > 0; --d) {
    const i64 kind = draw(rng, 0, 9);
    sizes.push_back(kind == 0 ? 1 : draw(rng, 2, max_size));
  }
  return sizes;
}

// Strides that visit the axes in a random order, with a random step between elements and rows.
inline Dims random_strides(Rng& rng, const Dims& sizes, Layout layout) {
  if (layout == Layout::row_major) return contiguous_strides(sizes);
  std::vector<int> order;
  for (int d = 0; d < sizes.size(); ++d) order.push_back(d);
  std::shuffle(order.begin(), order.end(), rng);
  Dims strides = Dims::filled(sizes.size(), 1);
  i64 step = layout == Layout::gaps ? draw(rng, 1, 3) : 1;
  for (int d : order) {
    strides[d] = step;
    step *= sizes[d] > 0 ? sizes[d] : 1;
    if (layout == Layout::gaps) step += draw(rng, 0, 3);
  }
  return strides;
}

class Buffer {
 public:
  Buffer(DType dtype, const Dims& sizes, const Dims& strides) {
    meta_.dtype = dtype;
    meta_.sizes = sizes;
    meta_.strides = strides;
    reset();
  }
  Buffer(DType dtype, const Dims& sizes) : Buffer(dtype, sizes, contiguous_strides(sizes)) {}
  Buffer(DType dtype, const Dims& sizes, Rng& rng)
      : Buffer(dtype, sizes, random_strides(rng, sizes, static_cast<Layout>(draw(rng, 0, 2)))) {}
  explicit Buffer(const Meta& meta) : Buffer(meta.dtype, meta.sizes, meta.strides) {}

  // All bytes hold the canary.
  void reset() {
    const i64 elements = meta_.numel() == 0 ? 0 : extent(meta_);
    bytes_.assign(static_cast<std::size_t>((elements + 2 * kMargin) * item()), kCanary);
  }

  const Meta& meta() const { return meta_; }
  DType dtype() const { return meta_.dtype; }
  i64 numel() const { return meta_.numel(); }
  int item() const { return item_size(meta_.dtype); }
  void* data() { return bytes_.data() + kMargin * item(); }
  BufferView view() { return {data(), &meta_}; }

  // Address of the element at logical (row-major) index i.
  char* at(i64 i) {
    i64 offset = 0;
    for (int d = meta_.dim() - 1; d >= 0; --d) {
      offset += i % meta_.sizes[d] * meta_.strides[d];
      i /= meta_.sizes[d];
    }
    return reinterpret_cast<char*>(data()) + offset * item();
  }
  template <class T>
  T raw(i64 i) {
    T value;
    std::memcpy(&value, at(i), sizeof(T));
    return value;
  }
  template <class T>
  void set_raw(i64 i, T value) {
    std::memcpy(at(i), &value, sizeof(T));
  }

  // Exact for every dtype but i64 beyond 2^53; those go through integer().
  double real(i64 i) {
    switch (dtype()) {
      case DType::f32:
        return raw<float>(i);
      case DType::f64:
        return raw<double>(i);
      case DType::f16:
        return to_float(raw<Half>(i));
      case DType::bf16:
        return to_float(raw<BFloat16>(i));
      default:
        return static_cast<double>(integer(i));
    }
  }
  i64 integer(i64 i) {
    switch (dtype()) {
      case DType::i64:
        return raw<i64>(i);
      case DType::i32:
        return raw<std::int32_t>(i);
      default:
        return raw<std::uint8_t>(i);
    }
  }
  // The value must be representable, or rounds (floats) as the reference below says.
  void set(i64 i, double v) {
    switch (dtype()) {
      case DType::f32:
        return set_raw(i, static_cast<float>(v));
      case DType::f64:
        return set_raw(i, v);
      case DType::f16:
        return set_raw(i, to_half(static_cast<float>(v)));
      case DType::bf16:
        return set_raw(i, to_bfloat16(static_cast<float>(v)));
      case DType::i64:
        return set_raw(i, static_cast<i64>(v));
      case DType::i32:
        return set_raw(i, static_cast<std::int32_t>(v));
      case DType::u8:
        return set_raw(i, static_cast<std::uint8_t>(v));
      case DType::boolean:
        return set_raw(i, static_cast<std::uint8_t>(v != 0));
    }
  }
  void fill_random(Rng& rng, double low, double high) {
    const bool whole = !is_floating_point(dtype());
    for (i64 i = 0; i < numel(); ++i) {
      const double v = std::uniform_real_distribution<double>(low, high)(rng);
      set(i, whole ? std::floor(dtype() == DType::u8 ? std::fabs(v) : v) : v);
    }
  }
  bool same_bits(i64 i, const void* bits) {
    return std::memcmp(at(i), bits, static_cast<std::size_t>(item())) == 0;
  }

  // No byte outside of the elements has changed.
  ::testing::AssertionResult margins_intact() {
    std::vector<char> element(bytes_.size(), 0);
    for (i64 i = 0; i < numel(); ++i) {
      std::memset(element.data() + (at(i) - bytes_.data()), 1, static_cast<std::size_t>(item()));
    }
    for (std::size_t b = 0; b < bytes_.size(); ++b) {
      if (!element[b] && bytes_[b] != kCanary) {
        return ::testing::AssertionFailure()
               << "byte " << b << " outside of the elements of " << describe(meta_) << " strides "
               << to_string(meta_.strides) << " was written";
      }
    }
    return ::testing::AssertionSuccess();
  }

 private:
  static constexpr char kCanary = 0x5a;
  static constexpr i64 kMargin = 80;
  Meta meta_;
  std::vector<char> bytes_;
};

// The logical index that an element of the broadcast result reads in an operand.
inline i64 broadcast_index(i64 i, const Dims& out, const Dims& operand) {
  i64 index = 0, scale = 1;
  for (int d = out.size() - 1, e = operand.size() - 1; d >= 0; --d, --e) {
    const i64 at = i % out[d];
    i /= out[d];
    if (e < 0) continue;
    if (operand[e] != 1) index += at * scale;
    scale *= operand[e];
  }
  return index;
}

// Runs the kernel of an op on buffers whose metas the caller chose.
inline void run_kernel(const OpInfo& op, std::vector<BufferView> in, std::vector<BufferView> out,
                       const Attrs& attrs = {}, Ticket ticket = {}) {
  kernel_for(op, DeviceType::cpu)({op, in.data(), static_cast<int>(in.size()), out.data(),
                                   static_cast<int>(out.size()), attrs, ticket});
}

// The metas that the op infers for its results.
inline std::vector<Meta> inferred(const OpInfo& op, const std::vector<BufferView>& in,
                                  const Attrs& attrs) {
  std::vector<const Meta*> metas;
  for (const BufferView& v : in) metas.push_back(v.meta);
  std::vector<Meta> out(static_cast<std::size_t>(op.n_out));
  i64 offset = 0;
  op.infer(op, {metas.data(), static_cast<int>(metas.size()), attrs, Device()}, out.data(),
           &offset);
  return out;
}

}  // namespace ingot::testing
