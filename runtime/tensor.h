// Tensor: a handle on strided bytes. Copies share storage.
// Owns: the class, options, indices, printing. The ops are in runtime/ops.h; most are methods too.
// Must not know: kernels, the compiler.
#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include <ingot/kernels/core/error.h>
#include <ingot/runtime/storage.h>

namespace ingot {

// What a creation op makes: dtype (default f32), device (default: set_default_device, else
// INGOT_DEVICE, else cpu), requires_grad. Written {kHalf, kCUDA}, "cuda:1",
// dtype(kDouble).device(kCPU).requires_grad().
class TensorOptions {
 public:
  TensorOptions() = default;
  TensorOptions(DType t) : dtype_(t) {}
  TensorOptions(DeviceType d) : device_(Device(d)) {}
  TensorOptions(Device d) : device_(d) {}
  // A template, so that a literal 0 is no text: arange(-3, 0).
  template <std::convertible_to<const char*> S>
  requires(!std::same_as<S, std::nullptr_t>) TensorOptions(const S& d, Loc loc = Loc::here())
      : device_(Device(d, loc)) {}
  TensorOptions(DType t, Device d) : dtype_(t), device_(d) {}

  TensorOptions dtype(DType t) const;
  TensorOptions device(Device d) const;
  TensorOptions requires_grad(bool on = true) const;

  bool has_dtype() const { return dtype_.has_value(); }
  bool has_device() const { return device_.has_value(); }
  DType dtype() const { return dtype_.value_or(DType::f32); }
  Device device() const;
  bool requires_grad_set() const { return requires_grad_; }

 private:
  std::optional<DType> dtype_;
  std::optional<Device> device_;
  bool requires_grad_ = false;
};
TensorOptions dtype(DType t);
TensorOptions device(Device d);
TensorOptions requires_grad(bool on = true);
void set_default_device(Device d);
Device default_device();

struct None_t {};
struct Ellipsis_t {};
inline constexpr None_t None, NewAxis;
inline constexpr Ellipsis_t Ellipsis;

// start:stop:step as in Python: negative ends count from the back, missing ones mean "to the end".
// step must be positive.
struct Slice {
  std::optional<i64> start, stop;
  i64 step = 1;
  Slice() = default;
  Slice(std::optional<i64> a, std::optional<i64> b = {}, i64 s = 1) : start(a), stop(b), step(s) {}
};
inline const Slice All;

// One entry of x[{...}]: an index (drops the axis), a Slice, NewAxis or Ellipsis, with the line it
// stands on (operators cannot have default arguments).
class ViewIndex {
 public:
  enum class Kind : std::uint8_t { index, slice, new_axis, ellipsis };
  template <std::integral I>
  requires(!std::same_as<I, bool>) ViewIndex(I i, Loc l = Loc::here())
      : kind(Kind::index), index(static_cast<i64>(i)), loc(l) {}
  ViewIndex(Slice s, Loc l = Loc::here()) : kind(Kind::slice), slice(s), loc(l) {}
  ViewIndex(None_t, Loc l = Loc::here()) : kind(Kind::new_axis), loc(l) {}
  ViewIndex(Ellipsis_t, Loc l = Loc::here()) : kind(Kind::ellipsis), loc(l) {}
  Kind kind;
  i64 index = 0;
  Slice slice;
  Loc loc;
};
using Views = std::initializer_list<ViewIndex>;

class Tensor;
struct Arg;
namespace cuda {
class Stream;
}

// The index of x[i], with its line.
struct At {
  template <std::integral I>
  requires(!std::same_as<I, bool>) At(I i, Loc l = Loc::here())
      : index(static_cast<i64>(i)), loc(l) {}
  i64 index;
  Loc loc;
};

// The mask or index tensor of x[t], or the operand of -x and !x, with its line.
struct TensorAt {
  TensorAt(const Tensor& t, Loc l = Loc::here()) : tensor(t), loc(l) {}
  const Tensor& tensor;
  Loc loc;
};

// A view of a tensor's elements as a C++ array: a[i][j]. Valid while the tensor lives.
template <class T, int N>
class Accessor {
 public:
  Accessor(T* data, const i64* sizes, const i64* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  i64 size(int d) const { return sizes_[d]; }
  decltype(auto) operator[](i64 i) const {
    if constexpr (N == 1) {
      return (data_[i * strides_[0]]);
    } else {
      return Accessor<T, N - 1>(data_ + i * strides_[0], sizes_ + 1, strides_ + 1);
    }
  }

 private:
  T* data_;
  const i64 *sizes_, *strides_;
};

class [[nodiscard]] Tensor {
 public:
  Tensor() = default;  // undefined: no elements, no dtype; every op on it is an Error
  explicit Tensor(Ref<TensorImpl> impl) : impl_(std::move(impl)) {}
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) = default;
  Tensor& operator=(const Tensor&) & = default;  // y = x rebinds the name
  Tensor& operator=(Tensor&&) & = default;
  void operator=(const Arg& value) &&;  // x[0] = v writes through the view

  // Views. x[i] drops axis 0; x[{Slice(0, 2), All, NewAxis}] takes one entry for each axis.
  Tensor operator[](At i) const;
  Tensor operator[](Views views) const;
  // A bool mask or an index tensor makes a copy: const, so that x[mask] = v does not compile.
  const Tensor operator[](TensorAt mask_or_index) const;

  bool defined() const { return static_cast<bool>(impl_); }
  int dim() const { return get().meta.dim(); }
  i64 numel() const { return get().meta.numel(); }
  i64 size(int d, Loc loc = Loc::here()) const;  // negative d counts from the back
  const Dims& sizes() const { return get().meta.sizes; }
  const Dims& strides() const { return get().meta.strides; }  // in elements
  i64 storage_offset() const { return get().offset; }
  DType dtype() const { return get().meta.dtype; }
  Device device() const { return get().meta.device; }
  TensorOptions options() const { return TensorOptions(dtype(), device()); }
  bool is_contiguous() const { return ingot::is_contiguous(get().meta); }
  bool is_floating_point() const { return ingot::is_floating_point(dtype()); }
  bool requires_grad() const { return get().requires_grad; }
  bool is_leaf() const;
  const Meta& meta() const { return get().meta; }

  // The value of a one-element tensor, converted. T is an arithmetic type.
  template <class T>
  T item(Loc loc = Loc::here()) const;
  // The first element; T must be the element type (Error else). Runs what is pending. Inside a
  // compiled function ops on memory whose address was taken run one by one from there on, those
  // that write there where it was taken by const_data_ptr.
  template <class T>
  T* data_ptr(Loc loc = Loc::here()) const;
  void* data_ptr(Loc loc = Loc::here()) const;
  template <class T>
  const T* const_data_ptr(Loc loc = Loc::here()) const;
  const void* const_data_ptr(Loc loc = Loc::here()) const;
  // All elements in logical order, converted to T.
  template <class T>
  std::vector<T> to_vector(Loc loc = Loc::here()) const;
  // T must be the element type and N the number of dims. A const T only reads: const_data_ptr.
  template <class T, int N>
  Accessor<T, N> accessor(Loc loc = Loc::here()) const {
    check_accessor(N, loc);
    T* data = nullptr;
    if constexpr (std::is_const_v<T>) {
      data = const_data_ptr<std::remove_const_t<T>>(loc);
    } else {
      data = data_ptr<T>(loc);
    }
    return {data, sizes().begin(), strides().begin()};
  }

  // Autograd. backward() on a one-element tensor needs no gradient.
  void backward(const Tensor& gradient = {}, bool retain_graph = false,
                Loc loc = Loc::here()) const;
  const Tensor& grad() const;  // undefined until backward() has filled it
  Tensor& mutable_grad();      // the same, to be dropped or replaced
  Tensor& requires_grad_(bool on = true, Loc loc = Loc::here());
  void retain_grad(Loc loc = Loc::here());  // fills grad() of a result too, after its hooks
  // Called once in each backward() that reaches this tensor, with its whole gradient, which the
  // hook may write; may return a replacement. Hooks run in the order of registration, before .grad
  // adds what they leave.
  void register_hook(std::function<Tensor(const Tensor&)> hook, Loc loc = Loc::here());

  // Ops as methods: runtime/ops.h says what each does. A trailing _ writes the tensor itself.
  Tensor neg(Loc loc = Loc::here()) const;
  Tensor abs(Loc loc = Loc::here()) const;
  Tensor sign(Loc loc = Loc::here()) const;
  Tensor exp(Loc loc = Loc::here()) const;
  Tensor expm1(Loc loc = Loc::here()) const;
  Tensor log(Loc loc = Loc::here()) const;
  Tensor log1p(Loc loc = Loc::here()) const;
  Tensor sqrt(Loc loc = Loc::here()) const;
  Tensor rsqrt(Loc loc = Loc::here()) const;
  Tensor square(Loc loc = Loc::here()) const;
  Tensor reciprocal(Loc loc = Loc::here()) const;
  Tensor tanh(Loc loc = Loc::here()) const;
  Tensor sigmoid(Loc loc = Loc::here()) const;
  Tensor erf(Loc loc = Loc::here()) const;
  Tensor relu(Loc loc = Loc::here()) const;
  Tensor silu(Loc loc = Loc::here()) const;
  Tensor softplus(Loc loc = Loc::here()) const;
  Tensor sin(Loc loc = Loc::here()) const;
  Tensor cos(Loc loc = Loc::here()) const;
  Tensor floor(Loc loc = Loc::here()) const;
  Tensor ceil(Loc loc = Loc::here()) const;
  Tensor trunc(Loc loc = Loc::here()) const;
  Tensor round(Loc loc = Loc::here()) const;
  Tensor logical_not(Loc loc = Loc::here()) const;
  Tensor isnan(Loc loc = Loc::here()) const;
  Tensor& neg_(Loc loc = Loc::here());
  Tensor& abs_(Loc loc = Loc::here());
  Tensor& exp_(Loc loc = Loc::here());
  Tensor& log_(Loc loc = Loc::here());
  Tensor& sqrt_(Loc loc = Loc::here());
  Tensor& rsqrt_(Loc loc = Loc::here());
  Tensor& square_(Loc loc = Loc::here());
  Tensor& reciprocal_(Loc loc = Loc::here());
  Tensor& tanh_(Loc loc = Loc::here());
  Tensor& sigmoid_(Loc loc = Loc::here());
  Tensor& relu_(Loc loc = Loc::here());
  Tensor& floor_(Loc loc = Loc::here());
  Tensor& ceil_(Loc loc = Loc::here());
  Tensor& round_(Loc loc = Loc::here());
  Tensor add(const Arg& other) const;
  Tensor sub(const Arg& other) const;
  Tensor mul(const Arg& other) const;
  Tensor div(const Arg& other) const;
  Tensor pow(const Arg& other) const;
  Tensor maximum(const Arg& other) const;
  Tensor minimum(const Arg& other) const;
  Tensor floor_divide(const Arg& other) const;
  Tensor remainder(const Arg& other) const;
  Tensor fmod(const Arg& other) const;
  Tensor eq(const Arg& other) const;
  Tensor ne(const Arg& other) const;
  Tensor lt(const Arg& other) const;
  Tensor le(const Arg& other) const;
  Tensor gt(const Arg& other) const;
  Tensor ge(const Arg& other) const;
  Tensor logical_and(const Arg& other) const;
  Tensor logical_or(const Arg& other) const;
  Tensor& add_(const Arg& other);
  Tensor& sub_(const Arg& other);
  Tensor& mul_(const Arg& other);
  Tensor& div_(const Arg& other);
  Tensor& pow_(const Arg& other);
  Tensor clamp(std::optional<Scalar> min, std::optional<Scalar> max = {},
               Loc loc = Loc::here()) const;
  Tensor& clamp_(std::optional<Scalar> min, std::optional<Scalar> max = {}, Loc loc = Loc::here());
  Tensor lerp(const Tensor& end, const Arg& weight) const;
  Tensor& lerp_(const Tensor& end, const Arg& weight);
  Tensor addcmul(const Tensor& t1, const Tensor& t2, Scalar value = 1, Loc loc = Loc::here()) const;
  Tensor& addcmul_(const Tensor& t1, const Tensor& t2, Scalar value = 1, Loc loc = Loc::here());
  Tensor addcdiv(const Tensor& t1, const Tensor& t2, Scalar value = 1, Loc loc = Loc::here()) const;
  Tensor& addcdiv_(const Tensor& t1, const Tensor& t2, Scalar value = 1, Loc loc = Loc::here());
  Tensor& operator+=(const Arg& other) { return add_(other); }
  Tensor& operator-=(const Arg& other) { return sub_(other); }
  Tensor& operator*=(const Arg& other) { return mul_(other); }
  Tensor& operator/=(const Arg& other) { return div_(other); }

  Tensor to(TensorOptions options, Loc loc = Loc::here()) const;
  // non_blocking: a copy between page-locked memory and a GPU returns at once and is done in the
  // order of the current stream; the host must not write the source, or read the result, before
  // that. A result on the host is then page-locked. Anything else waits as ever.
  Tensor to(TensorOptions options, bool non_blocking, Loc loc = Loc::here()) const;
  // The same bytes in page-locked host memory. Throws DeviceError without CUDA, Error on a GPU.
  Tensor pin_memory(Loc loc = Loc::here()) const;
  bool is_pinned(Loc loc = Loc::here()) const;
  // For work of the caller's own on a stream, by data_ptr(): once freed, this memory is not reused
  // before what the stream was given so far is done. Ops see to it themselves.
  void record_stream(const cuda::Stream& stream, Loc loc = Loc::here()) const;
  Tensor cpu(Loc loc = Loc::here()) const;
  Tensor cuda(int index = 0, Loc loc = Loc::here()) const;
  Tensor clone(Loc loc = Loc::here()) const;
  Tensor contiguous(Loc loc = Loc::here()) const;
  Tensor detach(Loc loc = Loc::here()) const;
  Tensor& copy_(const Tensor& source, Loc loc = Loc::here());
  Tensor& copy_(const Tensor& source, bool non_blocking, Loc loc = Loc::here());
  Tensor& fill_(Scalar value, Loc loc = Loc::here());
  Tensor& zero_(Loc loc = Loc::here());
  Tensor& uniform_(double low = 0, double high = 1, Loc loc = Loc::here());
  Tensor& normal_(double mean = 0, double std = 1, Loc loc = Loc::here());

  Tensor reshape(Dims sizes, Loc loc = Loc::here()) const;
  Tensor view(Dims sizes, Loc loc = Loc::here()) const;
  Tensor flatten(int start = 0, int end = -1, Loc loc = Loc::here()) const;
  Tensor permute(Dims axes, Loc loc = Loc::here()) const;
  Tensor transpose(int a, int b, Loc loc = Loc::here()) const;
  Tensor t(Loc loc = Loc::here()) const;
  Tensor expand(Dims sizes, Loc loc = Loc::here()) const;
  Tensor squeeze(Loc loc = Loc::here()) const;
  Tensor squeeze(int axis, Loc loc = Loc::here()) const;
  Tensor unsqueeze(int axis, Loc loc = Loc::here()) const;
  Tensor slice(int axis, std::optional<i64> start = {}, std::optional<i64> stop = {}, i64 step = 1,
               Loc loc = Loc::here()) const;
  Tensor narrow(int axis, i64 start, i64 length, Loc loc = Loc::here()) const;
  Tensor select(int axis, i64 index, Loc loc = Loc::here()) const;
  Tensor flip(Dims axes, Loc loc = Loc::here()) const;

  Tensor index_select(int axis, const Tensor& index, Loc loc = Loc::here()) const;
  Tensor gather(int axis, const Tensor& index, Loc loc = Loc::here()) const;
  Tensor index(const std::vector<class Index>& indices, Loc loc = Loc::here()) const;
  Tensor& index_put_(const std::vector<class Index>& indices, const Arg& values,
                     bool accumulate = false, Loc loc = Loc::here());

  Tensor sum(Loc loc = Loc::here()) const;
  Tensor sum(Dims axes, bool keepdim = false, Loc loc = Loc::here()) const;
  Tensor mean(Loc loc = Loc::here()) const;
  Tensor mean(Dims axes, bool keepdim = false, Loc loc = Loc::here()) const;
  Tensor prod(Loc loc = Loc::here()) const;
  Tensor prod(Dims axes, bool keepdim = false, Loc loc = Loc::here()) const;
  Tensor amax(Dims axes = {}, bool keepdim = false, Loc loc = Loc::here()) const;
  Tensor amin(Dims axes = {}, bool keepdim = false, Loc loc = Loc::here()) const;
  Tensor max(Loc loc = Loc::here()) const;
  Tensor min(Loc loc = Loc::here()) const;
  struct ValuesIndices max(int axis, bool keepdim = false, Loc loc = Loc::here()) const;
  struct ValuesIndices min(int axis, bool keepdim = false, Loc loc = Loc::here()) const;
  struct ValuesIndices topk(i64 k, int axis = -1, bool largest = true, Loc loc = Loc::here()) const;
  Tensor argmax(Loc loc = Loc::here()) const;
  Tensor argmax(int axis, bool keepdim = false, Loc loc = Loc::here()) const;
  Tensor argmin(Loc loc = Loc::here()) const;
  Tensor argmin(int axis, bool keepdim = false, Loc loc = Loc::here()) const;
  Tensor any(Dims axes = {}, bool keepdim = false, Loc loc = Loc::here()) const;
  Tensor all(Dims axes = {}, bool keepdim = false, Loc loc = Loc::here()) const;
  Tensor var(Dims axes = {}, int correction = 1, bool keepdim = false, Loc loc = Loc::here()) const;
  Tensor std(Dims axes = {}, int correction = 1, bool keepdim = false, Loc loc = Loc::here()) const;
  Tensor logsumexp(int axis, bool keepdim = false, Loc loc = Loc::here()) const;
  Tensor softmax(int axis, Loc loc = Loc::here()) const;
  Tensor log_softmax(int axis, Loc loc = Loc::here()) const;
  Tensor matmul(const Tensor& other, Loc loc = Loc::here()) const;

  TensorImpl* impl() const { return impl_.get(); }
  const Ref<TensorImpl>& ref() const { return impl_; }
  TensorImpl& get() const {
    if (!impl_) [[unlikely]]
      undefined();
    return *impl_;
  }

 private:
  [[noreturn]] static void undefined();
  void check_accessor(int n, Loc loc) const;
  Ref<TensorImpl> impl_;
};

// An operand of an operator: a tensor or a number, with the line it stands on (operators cannot
// have default arguments).
struct Arg {
  Arg(const Tensor& t, Loc l = Loc::here()) : tensor(&t), loc(l) {}
  template <class T>
  requires std::is_arithmetic_v<T> Arg(T value, Loc l = Loc::here()) : scalar(value), loc(l) {}
  Arg(Scalar value, Loc l = Loc::here()) : scalar(value), loc(l) {}
  const Tensor* tensor = nullptr;
  Scalar scalar;
  Loc loc;
};

// One entry of index() and index_put_(): a view index or an index tensor (i64, i32, or a bool mask
// that stands for the axes it spans).
class Index {
 public:
  template <std::convertible_to<ViewIndex> V>
  Index(V view) : view(view) {}
  Index(const Tensor& t) : view(0), tensor(t), by_tensor(true) {}
  ViewIndex view;
  Tensor tensor;
  bool by_tensor = false;  // also when the tensor is undefined: an Error
};

struct ValuesIndices {
  Tensor values, indices;
};

struct PrintOptions {
  int precision = 4;     // digits after the point
  i64 threshold = 1000;  // more elements than this are summarised
  i64 edgeitems = 3;     // elements shown at each end of a summarised axis
  int linewidth = 80;
};
void set_printoptions(PrintOptions options);
std::string to_string(const Tensor& t);
std::ostream& operator<<(std::ostream& out, const Tensor& t);
// For a debugger: `p ingot::debug(x)`. Runs nothing; says so when the value is pending.
const char* debug(const Tensor& t) noexcept;

}  // namespace ingot
