// Where bytes leave and enter tensors: item, to_vector, from_vector, data_ptr, equal.
// Each access is announced first (observe), so that a compiled call runs what is pending.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include <ingot/kernels/core/sizes.h>
#include <ingot/kernels/ops/rows.h>
#include <ingot/runtime/arguments.h>
#include <ingot/runtime/dispatch.h>
#include <ingot/runtime/ops.h>
#include <ingot/runtime/transfer.h>

namespace ingot {

namespace {

template <class T>
constexpr DType kDTypeOf = [] {
  if constexpr (std::is_same_v<T, float>) return DType::f32;
  if constexpr (std::is_same_v<T, double>) return DType::f64;
  if constexpr (std::is_same_v<T, Half>) return DType::f16;
  if constexpr (std::is_same_v<T, BFloat16>) return DType::bf16;
  if constexpr (std::is_same_v<T, i64>) return DType::i64;
  if constexpr (std::is_same_v<T, int>) return DType::i32;
  if constexpr (std::is_same_v<T, unsigned char>) return DType::u8;
  if constexpr (std::is_same_v<T, bool>) return DType::boolean;
}();

// Toward zero, saturating, NaN -> 0: as the conversions of ops, whose integers wrap however.
template <class To, class From>
To convert_value(From v) {
  if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>) {
    return convert_value<To>(to_float(v));
  } else if constexpr (std::is_integral_v<To> && std::is_integral_v<From> &&
                       !std::is_same_v<To, bool> && !std::is_same_v<From, bool>) {
    using Limits = std::numeric_limits<To>;
    return static_cast<To>(std::clamp<i64>(v, Limits::min(), Limits::max()));
  } else {
    return convert<To>(Num<From>(v)).v;
  }
}

template <class To, class From>
void read_as(const Tensor& t, const void* data, std::vector<To>* out) {
  // Logical order: an odometer over all axes but the last, which is a loop.
  const Meta& m = t.meta();
  const i64 n = m.numel(), row = m.dim() == 0 ? 1 : m.sizes.back();
  const i64 step = m.dim() == 0 ? 0 : m.strides.back();
  Dims at = Dims::filled(m.dim(), 0);
  out->resize(static_cast<std::size_t>(n));
  auto to = out->begin();
  const From* from = static_cast<const From*>(data);
  for (i64 begin = 0; begin < n; begin += row) {
    for (i64 i = 0; i < row; ++i) *to++ = convert_value<To>(from[i * step]);
    for (int d = m.dim() - 2; d >= 0; --d) {
      from += m.strides[d];
      if (++at[d] < m.sizes[d]) break;
      from -= at[d] * m.strides[d];
      at[d] = 0;
    }
  }
}

// The elements in host memory. No op is dispatched: reading a value is no part of a program.
Tensor on_host(const Tensor& t, const char* what, Loc loc) {
  if (t.device().is_cpu()) return t;
  Meta m = t.meta();
  m.device = kCPU;
  m.strides = contiguous_strides(m.sizes);
  const auto bytes = static_cast<std::size_t>(m.numel() * item_size(m.dtype));
  Ref<Storage> storage = with_line(what, loc, [&] { return Storage::create(bytes, kCPU); });
  Tensor copy(TensorImpl::create(std::move(storage), m, 0));
  transfer({copy.get().data(), &copy.meta()}, {t.get().data(), &t.meta()}, loc);
  return copy;
}

template <class To>
std::vector<To> read(const Tensor& t, const char* what, Loc loc) {
  observe(t, Access::read, what, loc);
  const Tensor source = on_host(t, what, loc);
  const void* data = source.get().data();
  std::vector<To> out;
  switch (t.dtype()) {
    case DType::f32:
      read_as<To, float>(source, data, &out);
      break;
    case DType::f64:
      read_as<To, double>(source, data, &out);
      break;
    case DType::f16:
      read_as<To, Half>(source, data, &out);
      break;
    case DType::bf16:
      read_as<To, BFloat16>(source, data, &out);
      break;
    case DType::i64:
      read_as<To, i64>(source, data, &out);
      break;
    case DType::i32:
      read_as<To, int>(source, data, &out);
      break;
    case DType::u8:
      read_as<To, unsigned char>(source, data, &out);
      break;
    case DType::boolean:
      read_as<To, bool>(source, data, &out);
      break;
  }
  return out;
}

}  // namespace

template <Element T>
std::vector<T> Tensor::read_vector(Loc loc) const {
  return read<T>(given(*this, "to_vector", loc), "to_vector", loc);
}

template <Element T>
T Tensor::read_item(Loc loc) const {
  INGOT_CHECK_AT("item", loc, given(*this, "item", loc).numel() == 1,
                 "{} does not have exactly one element", describe(meta()));
  return read<T>(*this, "item", loc)[0];
}

Scalar Tensor::item_scalar(Loc loc) const {
  if (given(*this, "item", loc).is_floating_point()) return read_item<double>(loc);
  return read_item<i64>(loc);
}

std::vector<Scalar> Tensor::scalars(Loc loc) const {
  const auto all = [](const auto& values) {
    return std::vector<Scalar>(values.begin(), values.end());
  };
  return given(*this, "to_vector", loc).is_floating_point() ? all(read_vector<double>(loc))
                                                            : all(read_vector<i64>(loc));
}

void* Tensor::data_ptr(Loc loc) const& {
  return exposed_bytes_of(given(*this, "data_ptr", loc), Access::write, "data_ptr", loc);
}

const void* Tensor::const_data_ptr(Loc loc) const& {
  return exposed_bytes_of(given(*this, "const_data_ptr", loc), Access::read, "const_data_ptr", loc);
}

namespace {

template <class T>
void check_dtype(const Tensor& t, const char* what, Loc loc) {
  INGOT_CHECK_AT(what, loc, given(t, what, loc).dtype() == kDTypeOf<T>, "the tensor is {}, not {}",
                 describe(t.meta()), name(kDTypeOf<T>));
}

}  // namespace

template <Element T>
T* Tensor::data_ptr(Loc loc) const& {
  check_dtype<T>(*this, "data_ptr", loc);
  return static_cast<T*>(data_ptr(loc));
}

template <Element T>
const T* Tensor::const_data_ptr(Loc loc) const& {
  check_dtype<T>(*this, "const_data_ptr", loc);
  return static_cast<const T*>(const_data_ptr(loc));
}

void Tensor::check_accessor(int n, Loc loc) const {
  INGOT_CHECK_AT("accessor", loc, given(*this, "accessor", loc).dim() == n,
                 "the tensor {} does not have {} dims", describe(meta()), n);
}

template <Element T>
Tensor from_vector(const std::vector<T>& values, Dims sizes, TensorOptions options, Loc loc) {
  INGOT_CHECK_AT("from_vector", loc, sizes.size() > 0 || values.size() == 1,
                 "{} values do not fill the shape []", values.size());
  for (int i = 0; i < sizes.size(); ++i) {  // one -1
    if (sizes[i] != -1) continue;
    i64 known = -sizes.product();
    INGOT_CHECK_AT("from_vector", loc, known > 0 && static_cast<i64>(values.size()) % known == 0,
                   "{} values do not fill the shape {}", values.size(), to_string(sizes));
    sizes[i] = static_cast<i64>(values.size()) / known;
  }
  with_line("from_vector", loc, [&] { check_sizes("from_vector", sizes); });
  INGOT_CHECK_AT("from_vector", loc, sizes.product() == static_cast<i64>(values.size()),
                 "{} values do not fill the shape {}", values.size(), to_string(sizes));
  Meta m;
  m.dtype = kDTypeOf<T>;
  m.sizes = sizes;
  m.strides = contiguous_strides(sizes);
  Ref<Storage> storage = with_line(
      "from_vector", loc, [&] { return Storage::create(values.size() * sizeof(T), kCPU); });
  if constexpr (std::is_same_v<T, bool>) {
    auto* out = static_cast<bool*>(storage->data);
    for (std::size_t i = 0; i < values.size(); ++i) out[i] = values[i];
  } else if (!values.empty()) {
    std::memcpy(storage->data, values.data(), values.size() * sizeof(T));
  }
  Tensor host(TensorImpl::create(std::move(storage), m, 0));
  Tensor out = as_op("from_vector", [&] {
    const DType t = options.has_dtype() ? options.dtype() : m.dtype;
    return host.to(TensorOptions(t, options.device()), loc);
  });
  if (options.requires_grad_set()) as_op("from_vector", [&] { out.requires_grad_(true, loc); });
  return out;
}

Tensor detail::from_numbers(const char* op, const std::vector<Scalar>& values, Dims sizes,
                            TensorOptions options, Loc loc) {
  const DType t = options.dtype();
  for (Scalar s : values) check_fits(op, s, t, loc);
  const auto all = [&]<class T>(T) {
    std::vector<T> converted;
    for (Scalar s : values) converted.push_back(s.to<T>());
    return from_vector(converted, sizes, options.dtype(t), loc);
  };
  return as_op(op, [&] {
    if (is_floating_point(t)) return all(0.0);
    if (t == DType::boolean) return all(false);
    if (t != DType::u8) return all(i64{});
    std::vector<unsigned char> bytes;  // -1 stands for 255
    for (Scalar s : values) bytes.push_back(static_cast<unsigned char>(s.to_int()));
    return from_vector(bytes, sizes, options, loc);
  });
}

namespace {

// Appends the numbers below `list`, whose shape from axis `depth` on is that of the lists before.
void flatten(const Literal& list, int depth, Dims* sizes, std::vector<Scalar>* out, Loc loc) {
  const auto n = static_cast<i64>(list.size());
  INGOT_CHECK_AT("tensor", loc, depth < kMaxDims, "lists are nested more than {} deep", kMaxDims);
  if (out->empty() && sizes->size() == depth) sizes->push_back(n);
  INGOT_CHECK_AT("tensor", loc, depth < sizes->size() && (*sizes)[depth] == n,
                 "the lists are ragged: one of {} elements stands where {} was begun", n,
                 to_string(*sizes));
  for (const Literal& item : list) {
    INGOT_CHECK_AT("tensor", loc, item.is_list() == list.begin()->is_list(),
                   "the lists are ragged: a number stands beside a list");
    if (item.is_list()) {
      flatten(item, depth + 1, sizes, out, loc);
      continue;
    }
    INGOT_CHECK_AT("tensor", loc, sizes->size() == depth + 1,
                   "the lists are ragged: a number stands where {} was begun", to_string(*sizes));
    out->push_back(item.number());
  }
}

}  // namespace

Tensor tensor(std::initializer_list<Literal> values, TensorOptions options, Loc loc) {
  Dims sizes;
  std::vector<Scalar> numbers;
  flatten(values, 0, &sizes, &numbers, loc);
  return detail::from_numbers("tensor", numbers, sizes, options.dtype(options.dtype()), loc);
}

Tensor tensor(Scalar value, TensorOptions options, Loc loc) {
  return detail::from_numbers("tensor", {value}, {}, options.dtype(options.dtype()), loc);
}

Tensor from_blob(void* data, Dims sizes, TensorOptions options, Loc loc) {
  with_line("from_blob", loc, [&] { check_sizes("from_blob", sizes); });
  INGOT_CHECK_AT("from_blob", loc, data != nullptr || sizes.product() == 0, "the address is null");
  Meta m;
  m.dtype = options.dtype();
  m.device = options.has_device() ? options.device() : Device(kCPU);
  m.sizes = sizes;
  m.strides = contiguous_strides(sizes);
  INGOT_CHECK_AT("from_blob", loc, reinterpret_cast<std::uintptr_t>(data) % item_size(m.dtype) == 0,
                 "the address is no multiple of {} bytes, the size of {}", item_size(m.dtype),
                 name(m.dtype));
  auto bytes = static_cast<std::size_t>(m.numel() * item_size(m.dtype));
  Ref<Storage> storage = Storage::borrow(data, bytes, m.device);
  // The bytes may be gone or overwritten before pending ops run.
  if (t_interceptor != nullptr) {
    t_interceptor->expose(Access::write, *storage);
  }
  Tensor out(TensorImpl::create(std::move(storage), m, 0));
  if (options.requires_grad_set()) as_op("from_blob", [&] { out.requires_grad_(true, loc); });
  return out;
}

bool equal(const Tensor& a, const Tensor& b, Loc loc) {
  (void)given(a, "equal", loc), (void)given(b, "equal", loc);
  if (!(a.sizes() == b.sizes()) || a.dtype() != b.dtype()) return false;
  if (a.dtype() == DType::i64 || a.dtype() == DType::i32) {
    return read<i64>(a, "equal", loc) == read<i64>(b, "equal", loc);
  }
  return read<double>(a, "equal", loc) == read<double>(b, "equal", loc);
}

bool allclose(const Tensor& a, const Tensor& b, Real rtol, Real atol, Flag equal_nan, Loc loc) {
  (void)given(a, "allclose", loc), (void)given(b, "allclose", loc);
  Dims sizes =
      with_line("allclose", loc, [&] { return broadcast(a.sizes(), b.sizes(), "allclose"); });
  std::vector<double> x = read<double>(ingot::expand(a, sizes, loc), "allclose", loc);
  std::vector<double> y = read<double>(ingot::expand(b, sizes, loc), "allclose", loc);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i] || (equal_nan && std::isnan(x[i]) && std::isnan(y[i]))) continue;
    if (!(std::abs(x[i] - y[i]) <= atol + rtol * std::abs(y[i])) || std::isinf(y[i])) return false;
  }
  return true;
}

#define INGOT_ACCESS(T)                                      \
  template std::vector<T> Tensor::read_vector<T>(Loc) const; \
  template T Tensor::read_item<T>(Loc) const;                \
  template T* Tensor::data_ptr<T>(Loc) const&;               \
  template const T* Tensor::const_data_ptr<T>(Loc) const&;   \
  template Tensor from_vector<T>(const std::vector<T>&, Dims, TensorOptions, Loc);
INGOT_ACCESS(float)
INGOT_ACCESS(double)
INGOT_ACCESS(i64)
INGOT_ACCESS(int)
INGOT_ACCESS(unsigned char)
INGOT_ACCESS(bool)
#undef INGOT_ACCESS

}  // namespace ingot
