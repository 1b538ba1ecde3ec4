// Tensor: a handle on strided bytes. Copies share storage.
// Owns: the class, index tensors, printing. The ops are in runtime/ops.h; most are methods too.
// Must not know: kernels, the compiler.
#pragma once

#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ingot/kernels/core/error.h>
#include <ingot/runtime/accessor.h>
#include <ingot/runtime/param_types.h>
#include <ingot/runtime/tensor_index.h>
#include <ingot/runtime/tensor_options.h>

namespace ingot {

class Tensor;
class Index;
class IndexList;
class IndexedTensor;
struct Arg;
struct ValuesIndices;
namespace cuda {
class Stream;
}

// The operand of -x and !x, with its line.
struct TensorAt {
  TensorAt(const Tensor& t, Loc l = Loc::here()) : tensor(t), loc(l) {}
  const Tensor& tensor;
  Loc loc;
};

// What a tensor hands out by reference lives as long as the tensor: of a temporary it is a value,
// or, where that cannot be (an address), it does not compile. In-place methods of a temporary
// return it as one.
class [[nodiscard]] Tensor {
 public:
  Tensor() = default;  // undefined: no elements, no dtype; every op on it is an Error
  explicit Tensor(Ref<TensorImpl> impl) : impl_(std::move(impl)) {}
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) = default;
  Tensor& operator=(const Tensor&) & = default;  // y = x rebinds the name
  Tensor& operator=(Tensor&&) & = default;
  void operator=(const Arg& value) &&;  // x[0] = v writes through the view
  // Of a const x, x[mask] is a copy alone: write index_put_() to, or index, a handle that is not
  // const (Tensor y = x; y[mask] = v).
  void operator=(const Arg& value) const&& = delete;

  // Views. x[i] drops axis 0; x[{Slice(0, 2), All, NewAxis}] takes one entry for each axis.
  Tensor operator[](const ViewIndex& i) const;
  Tensor operator[](Views views) const;
  Tensor operator[](Views views) { return std::as_const(*this)[views]; }
  // x[mask], x[index], x[{All, index}]: a copy of what bool masks or index tensors choose. Assigned
  // to, it writes x: x[mask] = v, x[index] += v (see IndexedTensor). Const, since any other change
  // would be one of the copy alone.
  const Tensor operator[](const IndexList& indices) const;
  const IndexedTensor operator[](const IndexList& indices);

  bool defined() const { return static_cast<bool>(impl_); }
  int dim() const { return get().meta.dim(); }
  i64 numel() const { return get().meta.numel(); }
  i64 size(Int d, Loc loc = Loc::here()) const;  // negative d counts from the back
  const Dims& sizes() const& { return get().meta.sizes; }
  Dims sizes() const&& { return get().meta.sizes; }
  const Dims& strides() const& { return get().meta.strides; }  // in elements
  Dims strides() const&& { return get().meta.strides; }
  i64 storage_offset() const { return get().offset; }
  DType dtype() const { return get().meta.dtype; }
  Device device() const { return get().meta.device; }
  TensorOptions options() const { return TensorOptions(dtype(), device()); }
  bool is_contiguous() const { return ingot::is_contiguous(get().meta); }
  bool is_floating_point() const { return ingot::is_floating_point(dtype()); }
  bool requires_grad() const { return get().requires_grad; }
  bool is_leaf() const;
  const Meta& meta() const& { return get().meta; }
  Meta meta() const&& { return get().meta; }

  // The value of a one-element tensor, converted toward zero, saturating: item<float>(). Without a
  // type it is a double.
  template <Number T = double>
  T item(Loc loc = Loc::here()) const {
    if constexpr (Element<T>) {
      return read_item<T>(loc);
    } else {
      return item_scalar(loc).to<T>();
    }
  }
  // The first element; T must be the element type (Error else). Runs what is pending. Inside a
  // compiled function ops on memory whose address was taken run one by one from there on, those
  // that write there where it was taken by const_data_ptr.
  template <Element T>
  T* data_ptr(Loc loc = Loc::here()) const&;
  void* data_ptr(Loc loc = Loc::here()) const&;
  template <Element T>
  const T* const_data_ptr(Loc loc = Loc::here()) const&;
  const void* const_data_ptr(Loc loc = Loc::here()) const&;
  // Of a temporary the address may be that of freed memory: give the tensor a name first.
  template <class T>
  T* data_ptr(Loc loc = Loc::here()) const&& = delete;
  void* data_ptr(Loc loc = Loc::here()) const&& = delete;
  template <class T>
  const T* const_data_ptr(Loc loc = Loc::here()) const&& = delete;
  const void* const_data_ptr(Loc loc = Loc::here()) const&& = delete;
  // All elements in logical order, converted to T as item() does.
  template <Number T>
  std::vector<T> to_vector(Loc loc = Loc::here()) const {
    if constexpr (Element<T>) {
      return read_vector<T>(loc);
    } else {
      std::vector<T> out;
      for (const Scalar& s : scalars(loc)) out.push_back(s.to<T>());
      return out;
    }
  }
  // T must be the element type and N the number of dims. A const T only reads: const_data_ptr.
  template <class T, int N>
  requires Element<std::remove_const_t<T>> Accessor<T, N> accessor(Loc loc = Loc::here())
  const& {
    check_accessor(N, loc);
    T* data = nullptr;
    if constexpr (std::is_const_v<T>) {
      data = const_data_ptr<std::remove_const_t<T>>(loc);
    } else {
      data = data_ptr<T>(loc);
    }
    return {data, sizes(), strides(), get().storage};
  }
  // Of a temporary: give the tensor a name first.
  template <class T, int N>
  Accessor<T, N> accessor(Loc loc = Loc::here()) const&& = delete;

  // Autograd. backward() on a one-element tensor needs no gradient.
  void backward(const Tensor& gradient = {}, bool retain_graph = false,
                Loc loc = Loc::here()) const;
  const Tensor& grad() const&;  // undefined until backward() has filled it
  Tensor grad() const&& { return grad(); }
  Tensor& mutable_grad() &;            // the same, to be dropped or replaced
  Tensor& mutable_grad() && = delete;  // give the tensor a name first
  Tensor& requires_grad_(Flag on = true, Loc loc = Loc::here()) &;
  Tensor&& requires_grad_(Flag on = true, Loc loc = Loc::here()) && {
    return std::move(requires_grad_(on, loc));
  }
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
  Tensor& neg_(Loc loc = Loc::here()) &;
  Tensor&& neg_(Loc loc = Loc::here()) && { return std::move(neg_(loc)); }
  Tensor& abs_(Loc loc = Loc::here()) &;
  Tensor&& abs_(Loc loc = Loc::here()) && { return std::move(abs_(loc)); }
  Tensor& exp_(Loc loc = Loc::here()) &;
  Tensor&& exp_(Loc loc = Loc::here()) && { return std::move(exp_(loc)); }
  Tensor& log_(Loc loc = Loc::here()) &;
  Tensor&& log_(Loc loc = Loc::here()) && { return std::move(log_(loc)); }
  Tensor& sqrt_(Loc loc = Loc::here()) &;
  Tensor&& sqrt_(Loc loc = Loc::here()) && { return std::move(sqrt_(loc)); }
  Tensor& rsqrt_(Loc loc = Loc::here()) &;
  Tensor&& rsqrt_(Loc loc = Loc::here()) && { return std::move(rsqrt_(loc)); }
  Tensor& square_(Loc loc = Loc::here()) &;
  Tensor&& square_(Loc loc = Loc::here()) && { return std::move(square_(loc)); }
  Tensor& reciprocal_(Loc loc = Loc::here()) &;
  Tensor&& reciprocal_(Loc loc = Loc::here()) && { return std::move(reciprocal_(loc)); }
  Tensor& tanh_(Loc loc = Loc::here()) &;
  Tensor&& tanh_(Loc loc = Loc::here()) && { return std::move(tanh_(loc)); }
  Tensor& sigmoid_(Loc loc = Loc::here()) &;
  Tensor&& sigmoid_(Loc loc = Loc::here()) && { return std::move(sigmoid_(loc)); }
  Tensor& relu_(Loc loc = Loc::here()) &;
  Tensor&& relu_(Loc loc = Loc::here()) && { return std::move(relu_(loc)); }
  Tensor& floor_(Loc loc = Loc::here()) &;
  Tensor&& floor_(Loc loc = Loc::here()) && { return std::move(floor_(loc)); }
  Tensor& ceil_(Loc loc = Loc::here()) &;
  Tensor&& ceil_(Loc loc = Loc::here()) && { return std::move(ceil_(loc)); }
  Tensor& round_(Loc loc = Loc::here()) &;
  Tensor&& round_(Loc loc = Loc::here()) && { return std::move(round_(loc)); }
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
  Tensor& add_(const Arg& other) &;
  Tensor&& add_(const Arg& other) && { return std::move(add_(other)); }
  Tensor& sub_(const Arg& other) &;
  Tensor&& sub_(const Arg& other) && { return std::move(sub_(other)); }
  Tensor& mul_(const Arg& other) &;
  Tensor&& mul_(const Arg& other) && { return std::move(mul_(other)); }
  Tensor& div_(const Arg& other) &;
  Tensor&& div_(const Arg& other) && { return std::move(div_(other)); }
  Tensor& pow_(const Arg& other) &;
  Tensor&& pow_(const Arg& other) && { return std::move(pow_(other)); }
  Tensor clamp(std::optional<Scalar> min, std::optional<Scalar> max = {},
               Loc loc = Loc::here()) const;
  Tensor& clamp_(std::optional<Scalar> min, std::optional<Scalar> max = {},
                 Loc loc = Loc::here()) &;
  Tensor&& clamp_(std::optional<Scalar> min, std::optional<Scalar> max = {},
                  Loc loc = Loc::here()) && {
    return std::move(clamp_(min, max, loc));
  }
  Tensor lerp(const Tensor& end, const Arg& weight) const;
  Tensor& lerp_(const Tensor& end, const Arg& weight) &;
  Tensor&& lerp_(const Tensor& end, const Arg& weight) && { return std::move(lerp_(end, weight)); }
  Tensor addcmul(const Tensor& t1, const Tensor& t2, Scalar value = 1, Loc loc = Loc::here()) const;
  Tensor& addcmul_(const Tensor& t1, const Tensor& t2, Scalar value = 1, Loc loc = Loc::here()) &;
  Tensor&& addcmul_(const Tensor& t1, const Tensor& t2, Scalar value = 1,
                    Loc loc = Loc::here()) && {
    return std::move(addcmul_(t1, t2, value, loc));
  }
  Tensor addcdiv(const Tensor& t1, const Tensor& t2, Scalar value = 1, Loc loc = Loc::here()) const;
  Tensor& addcdiv_(const Tensor& t1, const Tensor& t2, Scalar value = 1, Loc loc = Loc::here()) &;
  Tensor&& addcdiv_(const Tensor& t1, const Tensor& t2, Scalar value = 1,
                    Loc loc = Loc::here()) && {
    return std::move(addcdiv_(t1, t2, value, loc));
  }
  Tensor& operator+=(const Arg& other) & { return add_(other); }
  Tensor&& operator+=(const Arg& other) && { return std::move(add_(other)); }
  Tensor& operator-=(const Arg& other) & { return sub_(other); }
  Tensor&& operator-=(const Arg& other) && { return std::move(sub_(other)); }
  Tensor& operator*=(const Arg& other) & { return mul_(other); }
  Tensor&& operator*=(const Arg& other) && { return std::move(mul_(other)); }
  Tensor& operator/=(const Arg& other) & { return div_(other); }
  Tensor&& operator/=(const Arg& other) && { return std::move(div_(other)); }

  Tensor to(TensorOptions options, Loc loc = Loc::here()) const;
  // non_blocking: a copy between page-locked memory and a GPU returns at once and is done in the
  // order of the current stream; the host must not write the source, or read the result, before
  // that. A result on the host is then page-locked. Anything else waits as ever.
  Tensor to(TensorOptions options, Flag non_blocking, Loc loc = Loc::here()) const;
  // The same bytes in page-locked host memory. Throws DeviceError without CUDA, Error on a GPU.
  Tensor pin_memory(Loc loc = Loc::here()) const;
  bool is_pinned(Loc loc = Loc::here()) const;
  // For work of the caller's own on a stream, by data_ptr(): once freed, this memory is not reused
  // before what the stream was given so far is done. Ops see to it themselves.
  void record_stream(const cuda::Stream& stream, Loc loc = Loc::here()) const;
  Tensor cpu(Loc loc = Loc::here()) const;
  Tensor cuda(Int index = 0, Loc loc = Loc::here()) const;
  Tensor clone(Loc loc = Loc::here()) const;
  Tensor contiguous(Loc loc = Loc::here()) const;
  Tensor detach(Loc loc = Loc::here()) const;
  Tensor& copy_(const Tensor& source, Loc loc = Loc::here()) &;
  Tensor&& copy_(const Tensor& source, Loc loc = Loc::here()) && {
    return std::move(copy_(source, loc));
  }
  Tensor& copy_(const Tensor& source, Flag non_blocking, Loc loc = Loc::here()) &;
  Tensor&& copy_(const Tensor& source, Flag non_blocking, Loc loc = Loc::here()) && {
    return std::move(copy_(source, non_blocking, loc));
  }
  Tensor& fill_(Scalar value, Loc loc = Loc::here()) &;
  Tensor&& fill_(Scalar value, Loc loc = Loc::here()) && { return std::move(fill_(value, loc)); }
  Tensor& zero_(Loc loc = Loc::here()) &;
  Tensor&& zero_(Loc loc = Loc::here()) && { return std::move(zero_(loc)); }
  Tensor& uniform_(Real low = 0, Real high = 1, Loc loc = Loc::here()) &;
  Tensor&& uniform_(Real low = 0, Real high = 1, Loc loc = Loc::here()) && {
    return std::move(uniform_(low, high, loc));
  }
  Tensor& normal_(Real mean = 0, Real std = 1, Loc loc = Loc::here()) &;
  Tensor&& normal_(Real mean = 0, Real std = 1, Loc loc = Loc::here()) && {
    return std::move(normal_(mean, std, loc));
  }

  Tensor reshape(Dims sizes, Loc loc = Loc::here()) const;
  Tensor view(Dims sizes, Loc loc = Loc::here()) const;
  Tensor flatten(Int start = 0, Int end = -1, Loc loc = Loc::here()) const;
  Tensor permute(Dims axes, Loc loc = Loc::here()) const;
  Tensor transpose(Int a, Int b, Loc loc = Loc::here()) const;
  Tensor t(Loc loc = Loc::here()) const;
  Tensor expand(Dims sizes, Loc loc = Loc::here()) const;
  Tensor squeeze(Loc loc = Loc::here()) const;
  Tensor squeeze(Int axis, Loc loc = Loc::here()) const;
  Tensor unsqueeze(Int axis, Loc loc = Loc::here()) const;
  Tensor slice(Int axis, std::optional<i64> start = {}, std::optional<i64> stop = {}, i64 step = 1,
               Loc loc = Loc::here()) const;
  Tensor narrow(Int axis, i64 start, i64 length, Loc loc = Loc::here()) const;
  Tensor select(Int axis, i64 index, Loc loc = Loc::here()) const;
  Tensor flip(Dims axes, Loc loc = Loc::here()) const;

  Tensor index_select(Int axis, const Tensor& index, Loc loc = Loc::here()) const;
  Tensor gather(Int axis, const Tensor& index, Loc loc = Loc::here()) const;
  Tensor index(const std::vector<Index>& indices, Loc loc = Loc::here()) const;
  Tensor& index_put_(const std::vector<Index>& indices, const Arg& values, Flag accumulate = false,
                     Loc loc = Loc::here()) &;
  Tensor&& index_put_(const std::vector<Index>& indices, const Arg& values, Flag accumulate = false,
                      Loc loc = Loc::here()) && {
    return std::move(index_put_(indices, values, accumulate, loc));
  }

  Tensor sum(Loc loc = Loc::here()) const;
  Tensor sum(Dims axes, Flag keepdim = false, Loc loc = Loc::here()) const;
  Tensor mean(Loc loc = Loc::here()) const;
  Tensor mean(Dims axes, Flag keepdim = false, Loc loc = Loc::here()) const;
  Tensor prod(Loc loc = Loc::here()) const;
  Tensor prod(Dims axes, Flag keepdim = false, Loc loc = Loc::here()) const;
  Tensor amax(Dims axes = {}, Flag keepdim = false, Loc loc = Loc::here()) const;
  Tensor amin(Dims axes = {}, Flag keepdim = false, Loc loc = Loc::here()) const;
  Tensor max(Loc loc = Loc::here()) const;
  Tensor min(Loc loc = Loc::here()) const;
  ValuesIndices max(Int axis, Flag keepdim = false, Loc loc = Loc::here()) const;
  ValuesIndices min(Int axis, Flag keepdim = false, Loc loc = Loc::here()) const;
  ValuesIndices topk(i64 k, Int axis = -1, Flag largest = true, Loc loc = Loc::here()) const;
  Tensor argmax(Loc loc = Loc::here()) const;
  Tensor argmax(Int axis, Flag keepdim = false, Loc loc = Loc::here()) const;
  Tensor argmin(Loc loc = Loc::here()) const;
  Tensor argmin(Int axis, Flag keepdim = false, Loc loc = Loc::here()) const;
  Tensor any(Dims axes = {}, Flag keepdim = false, Loc loc = Loc::here()) const;
  Tensor all(Dims axes = {}, Flag keepdim = false, Loc loc = Loc::here()) const;
  Tensor var(Dims axes = {}, Int correction = 1, Flag keepdim = false, Loc loc = Loc::here()) const;
  Tensor std(Dims axes = {}, Int correction = 1, Flag keepdim = false, Loc loc = Loc::here()) const;
  Tensor logsumexp(Int axis, Flag keepdim = false, Loc loc = Loc::here()) const;
  Tensor softmax(Int axis, Loc loc = Loc::here()) const;
  Tensor log_softmax(Int axis, Loc loc = Loc::here()) const;
  Tensor matmul(const Tensor& other, Loc loc = Loc::here()) const;

  TensorImpl* impl() const { return impl_.get(); }
  const Ref<TensorImpl>& ref() const& { return impl_; }
  Ref<TensorImpl> ref() const&& { return impl_; }
  TensorImpl& get() const {
    if (!impl_) [[unlikely]]
      undefined();
    return *impl_;
  }

 private:
  [[noreturn]] static void undefined();
  void check_accessor(int n, Loc loc) const;
  template <Element T>
  T read_item(Loc loc) const;
  Scalar item_scalar(Loc loc) const;
  template <Element T>
  std::vector<T> read_vector(Loc loc) const;
  std::vector<Scalar> scalars(Loc loc) const;
  Ref<TensorImpl> impl_;
};

// An operand of an operator: a tensor or a number, with the line it stands on (operators cannot
// have default arguments).
struct Arg {
  Arg(const Tensor& t, Loc l = Loc::here()) : tensor(&t), loc(l) {}
  template <Number T>
  Arg(T value, Loc l = Loc::here()) : scalar(value), loc(l) {}
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
  Index(V v) : view(v) {}
  Index(const Tensor& t) : view(0), tensor(t), by_tensor(true) {}
  ViewIndex view;
  Tensor tensor;
  bool by_tensor = false;  // also when the tensor is undefined: an Error
};

// The indices of x[t] and x[{...}] where at least one is a tensor, with their line. Lives as long
// as the expression with the brackets.
class IndexList {
 public:
  IndexList(const Tensor& mask_or_index, Loc l = Loc::here()) : loc(l), only_(&mask_or_index) {}
  IndexList(std::initializer_list<Index> list, Loc l = Loc::here()) : loc(l) {
    begin_ = list.begin();
    size_ = list.size();
  }
  std::vector<Index> entries() const;
  Loc loc;

 private:
  const Tensor* only_ = nullptr;
  const Index* begin_ = nullptr;
  std::size_t size_ = 0;
};

// x[mask] or x[index]: a copy of these elements of x, through which they are written while it is
// the temporary that the brackets gave. x[index] += v reads, adds and writes: an index that occurs
// twice is written once; index_put_(..., true) adds both.
class [[nodiscard]] IndexedTensor : public Tensor {
 public:
  struct Origin;
  IndexedTensor(Tensor taken, std::shared_ptr<const Origin> origin)
      : Tensor(std::move(taken)), origin_(std::move(origin)) {}
  using Tensor::operator=;
  using Tensor::operator+=;
  using Tensor::operator-=;
  using Tensor::operator*=;
  using Tensor::operator/=;
  void operator=(const Arg& value) const&&;
  void operator+=(const Arg& value) const&&;
  void operator-=(const Arg& value) const&&;
  void operator*=(const Arg& value) const&&;
  void operator/=(const Arg& value) const&&;

 private:
  std::shared_ptr<const Origin> origin_;
};

struct ValuesIndices {
  Tensor values, indices;
  friend std::ostream& operator<<(std::ostream& out, const ValuesIndices& v);
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
