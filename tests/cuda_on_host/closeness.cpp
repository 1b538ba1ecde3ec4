#include "cuda_on_host/closeness.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include <ingot/kernels/cpu/isa_level.h>
#include <ingot/kernels/ops/half.h>

namespace ingot::emulation {

namespace {

double last_place(DType t) {
  switch (t) {
    case DType::f64:
      return 0x1p-52;
    case DType::f16:
      return 0x1p-10;
    case DType::bf16:
      return 0x1p-7;
    default:
      return 0x1p-23;
  }
}

double value_at(const void* p, DType t) {
  const auto as = [p](auto zero) {
    std::memcpy(&zero, p, sizeof(zero));
    return zero;
  };
  switch (t) {
    case DType::f32:
      return as(0.0f);
    case DType::f64:
      return as(0.0);
    case DType::f16:
      return to_float(as(Half{}));
    case DType::bf16:
      return to_float(as(BFloat16{}));
    case DType::i64:
      return static_cast<double>(as(i64{}));
    case DType::i32:
      return as(int{});
    default:
      return as(static_cast<unsigned char>(0));
  }
}

// f(index in row-major order, byte offset) for each element.
template <class F>
void for_each_element(const Meta& m, F f) {
  Dims index = Dims::filled(m.dim(), 0);
  const i64 n = m.numel(), item = item_size(m.dtype);
  i64 offset = 0;
  for (i64 i = 0; i < n; ++i) {
    if (!f(i, offset * item)) return;
    for (int d = m.dim() - 1; d >= 0; --d) {
      offset += m.strides[d];
      if (++index[d] < m.sizes[d]) break;
      offset -= m.strides[d] * m.sizes[d];
      index[d] = 0;
    }
  }
}

// Of the finite elements of a view.
struct Size {
  double largest = 0, sum = 0, squares = 0;

  explicit Size(const BufferView& v) {
    if (v.data == nullptr || v.meta == nullptr) return;
    for_each_element(*v.meta, [&](i64, i64 at) {
      const double x = std::fabs(value_at(static_cast<const char*>(v.data) + at, v.meta->dtype));
      if (std::isfinite(x)) {
        largest = std::max(largest, x);
        sum += x;
        squares += x * x;
      }
      return true;
    });
  }
};

bool is_order_free(std::string_view op) {
  for (const char* name : {"amax", "amin", "any", "all", "argmax", "argmin", "max", "min"}) {
    if (op == name) return true;
  }
  return false;
}

}  // namespace

Closeness::Closeness(const KernelArgs& args) : args_(args) {
  const OpInfo& op = args.op;
  const std::string_view name = op.name;
  if (op.kind == OpKind::elementwise || op.kind == OpKind::data || op.kind == OpKind::random) {
    if (isa_level() == IsaLevel::base) {
      exact_ = op.kind == OpKind::data;
      // What gelu multiplies is 1 + erf: on its left side the roundings of erf are many last
      // places.
      last_places_ = name.substr(0, 4) == "gelu" ? 64 : 2;
      if (name.substr(0, 13) == "gelu_backward") {
        // Terms of the incoming gradient's size cancel where gelu's slope crosses zero, at -0.75.
        last_places_ = 0;
        relative_ = 64;
        magnitude_ = 4 * Size(args.in[0]).largest;
      }
    }
    return;
  }
  const DType t = args.out[0].meta->dtype;
  if (!is_floating_point(t) || is_order_free(name)) return;
  exact_ = false;
  const double results = std::max<double>(1, static_cast<double>(args.out[0].meta->numel()));
  const double length =
      std::max(1.0, op.kind == OpKind::product
                        ? static_cast<double>(args.in[name == "addmm" ? 1 : 0].meta->sizes.back())
                        : static_cast<double>(args.in[0].meta->numel()) /
                              (op.kind == OpKind::reduction ? results : 1));
  // Roundings meet at random in a long sum.
  const double roundings = 2 + std::log2(length) / 2 + std::sqrt(length) / 2;
  const Size first(args.in[0]);
  double largest = first.largest, product = 1;
  for (int i = 0; i < args.n_in; ++i) {
    const Size size(args.in[i]);
    largest = std::max(largest, size.largest);
    product *= std::max(1.0, size.largest);
  }
  for (int k = 0; k < args.n_out; ++k) largest_[k] = Size(args.out[k]).largest;
  relative_ = roundings;
  if (name == "sum") {
    magnitude_ = roundings * first.sum / results;
  } else if (name == "mean") {
    magnitude_ = roundings * first.sum / results / length;
  } else if (name == "prod") {
    relative_ = 2 * length + 4;
  } else if (name == "var") {
    magnitude_ = roundings * first.squares / results / length;
  } else if (op.kind == OpKind::product) {
    magnitude_ = roundings * product * std::sqrt(length);
  } else {
    // Composites: values along an axis, of the operands' size or of the results'.
    magnitude_ = 4 * std::max({largest, product, largest_[0]});
  }
}

double Closeness::bound(int k, double value) const {
  const DType t = args_.out[k].meta->dtype;
  const double unit = last_place(compute_type(t));
  if (last_places_ > 0) return last_places_ * last_place(t) * std::fabs(value);
  const double stored = t == compute_type(t) ? 0 : last_place(t) * std::fabs(value);
  return unit * (relative_ * std::fabs(value) + magnitude_) + stored;
}

std::string Closeness::compare_and_level(int k, void* data) const {
  const BufferView& wanted = args_.out[k];
  const Meta& m = *wanted.meta;
  const auto item = static_cast<std::size_t>(item_size(m.dtype));
  std::string problem;
  for_each_element(m, [&](i64 i, i64 at) {
    const char* a = static_cast<const char*>(wanted.data) + at;
    char* b = static_cast<char*>(data) + at;
    if (std::memcmp(a, b, item) == 0) return true;
    const double x = value_at(a, m.dtype), y = value_at(b, m.dtype);
    const bool nans = std::isnan(x) && std::isnan(y);
    // A 64-bit integer says more than a double of it.
    const bool close = !exact_ && is_floating_point(m.dtype) && std::fabs(x - y) <= bound(k, x);
    if (close) used_ = std::max(used_, std::fabs(x - y) / bound(k, x));
    if (nans || close) {
      std::memcpy(b, a, item);
      return true;
    }
    problem = fmt::format("result {} element {} of {}: {} ({:a}), the CPU's is {} ({:a})", k, i,
                          describe(m), y, y, x, x);
    if (!exact_) problem += fmt::format(", allowed are {:.3g}", bound(k, x));
    return false;
  });
  return problem;
}

}  // namespace ingot::emulation
