// Ops that read or write by integer tensors and masks.
#include <ingot/kernels/core/check.h>
#include <ingot/kernels/core/check_at.h>
#include <ingot/kernels/ops/structured/indexing.h>
#include <ingot/runtime/arguments.h>
#include <ingot/runtime/internal_ops.h>

namespace ingot {

namespace {

template <class Row>
Tensor axis_op(int axis, const Tensor& x, std::initializer_list<const Tensor*> in, Loc loc) {
  Attrs attrs;
  attrs.a = axis_of(x, axis, structured_op<Row>.name, loc);
  return dispatch({structured_op<Row>, in.begin(), static_cast<int>(in.size()), attrs, loc});
}

// i32 indices become i64.
Tensor as_index(const Tensor& t, Loc loc) {
  return t.defined() && t.dtype() == DType::i32 ? t.to(kInt64, loc) : t;
}

// An index expression brought to the row's form: index tensors of one shape on adjacent axes.
struct Resolved {
  Tensor x;                     // views applied, indexed axes moved to the front if they must
  Dims axes;                    // indexed axes of x
  std::vector<Tensor> indices;  // one for each axis
};

// Indices without masks: one is the index tensors of its true elements, one for each axis that it
// spans.
struct Flat {
  std::vector<Index> entries;
  std::vector<i64> mask_sizes;  // of each entry: what a mask's axis must fit, or -1
};

Flat without_masks(const std::vector<Index>& entries, Loc loc) {
  Flat flat;
  for (const Index& e : entries) {
    if (e.by_tensor) (void)given(e.tensor, "index", loc);
    if (!e.tensor.defined() || e.tensor.dtype() != DType::boolean) {
      flat.entries.push_back(e.tensor.defined() ? Index(as_index(e.tensor, loc)) : e);
      flat.mask_sizes.push_back(-1);
      continue;
    }
    INGOT_CHECK_AT_AS(IndexError, "index", loc, e.tensor.dim() > 0,
                      "a 0-d mask stands for no axis; use where()");
    Tensor positions = nonzero(e.tensor, loc);
    for (int d = 0; d < e.tensor.dim(); ++d) {
      flat.entries.push_back(select(positions, 1, d, loc));
      flat.mask_sizes.push_back(e.tensor.size(d));
    }
  }
  return flat;
}

Resolved resolve(const Tensor& self, const Flat& given_indices, Loc loc) {
  (void)given(self, "index", loc);
  const std::vector<Index>& flat = given_indices.entries;
  const std::vector<i64>& mask_sizes = given_indices.mask_sizes;
  int consumed = 0, ellipses = 0;
  for (const Index& e : flat) {
    bool takes_axis = e.tensor.defined() || e.view.kind == ViewIndex::Kind::index ||
                      e.view.kind == ViewIndex::Kind::slice;
    consumed += takes_axis ? 1 : 0;
    ellipses += !takes_axis && e.view.kind == ViewIndex::Kind::ellipsis ? 1 : 0;
  }
  INGOT_CHECK_AT_AS(IndexError, "index", loc, consumed <= self.dim() && ellipses <= 1,
                    "{} indices{} for {}", consumed,
                    ellipses > 1 ? " and more than one Ellipsis" : "", describe(self.meta()));
  Resolved r{self, {}, {}};
  int axis = 0;
  Dims shape;
  for (std::size_t i = 0; i < flat.size(); ++i) {
    const Index& e = flat[i];
    if (e.tensor.defined()) {
      INGOT_CHECK_AT_AS(
          IndexError, "index", loc, mask_sizes[i] < 0 || mask_sizes[i] == r.x.size(axis),
          "a mask of size {} does not fit dim {} of {}", mask_sizes[i], axis, describe(r.x.meta()));
      shape = with_line("index", loc, [&] { return broadcast(shape, e.tensor.sizes(), "index"); });
      r.axes.push_back(axis++);
      r.indices.push_back(e.tensor);
      continue;
    }
    switch (e.view.kind) {
      case ViewIndex::Kind::index:
        r.x = select(r.x, axis, e.view.index, loc);
        break;
      case ViewIndex::Kind::slice:
        r.x = slice(r.x, axis++, e.view.slice.start, e.view.slice.stop, e.view.slice.step, loc);
        break;
      case ViewIndex::Kind::new_axis:
        r.x = unsqueeze(r.x, axis++, loc);
        break;
      case ViewIndex::Kind::ellipsis:
        axis += self.dim() - consumed;
        break;
    }
  }
  for (Tensor& t : r.indices) t = contiguous(expand(t, shape, loc), loc);
  bool adjacent = true;
  for (int i = 1; i < r.axes.size(); ++i) adjacent &= r.axes[i] == r.axes[i - 1] + 1;
  if (!adjacent) {  // NumPy's rule: the index shape then comes first
    Dims order = r.axes;
    for (int d = 0; d < r.x.dim(); ++d) {
      bool indexed = false;
      for (i64 a : r.axes) indexed |= a == d;
      if (!indexed) order.push_back(d);
    }
    r.x = permute(r.x, order, loc);
    for (int i = 0; i < r.axes.size(); ++i) r.axes[i] = i;
  }
  return r;
}

void put(const Tensor& x, const Dims& axes, const Tensor* indices, const Tensor& values,
         bool accumulate, Loc loc) {
  const Tensor* in[2 + kMaxDims] = {&x, &values};
  for (int i = 0; i < axes.size(); ++i) in[2 + i] = &indices[i];
  Attrs attrs;
  attrs.dims = axes;
  attrs.a = accumulate ? 1 : 0;
  (void)dispatch({structured_op<structured::IndexPut>, in, 2 + axes.size(), attrs, loc, kCPU, 0});
}

}  // namespace

Tensor index_select(const Tensor& x, Int axis, const Tensor& index, Loc loc) {
  Tensor i = as_index(index, loc);
  return axis_op<structured::IndexSelect>(axis, x, {&x, &i}, loc);
}

Tensor index_add(const Tensor& x, Int axis, const Tensor& index, const Tensor& source, Loc loc) {
  Tensor i = as_index(index, loc);
  return axis_op<structured::IndexAdd>(axis, x, {&x, &i, &source}, loc);
}

Tensor gather(const Tensor& x, Int axis, const Tensor& index, Loc loc) {
  Tensor i = as_index(index, loc);
  return axis_op<structured::Gather>(axis, x, {&x, &i}, loc);
}

Tensor scatter_add(const Tensor& x, Int axis, const Tensor& index, const Tensor& source, Loc loc) {
  Tensor i = as_index(index, loc);
  return axis_op<structured::ScatterAdd>(axis, x, {&x, &i, &source}, loc);
}

Tensor embedding(const Tensor& weight, const Tensor& index, Loc loc) {
  Tensor i = as_index(index, loc);
  const Tensor* in[] = {&weight, &i};
  return dispatch({structured_op<structured::Embedding>, in, 2, Attrs{}, loc});
}

Tensor embedding_backward(const Tensor& dy, const Tensor& index, i64 rows, Loc loc) {
  Attrs attrs;
  attrs.a = rows;
  const Tensor* in[] = {&dy, &index};
  return dispatch({structured_op<structured::EmbeddingBackward>, in, 2, attrs, loc});
}

Tensor index(const Tensor& x, const Dims& axes, const Tensor* indices, Loc loc) {
  const Tensor* in[1 + kMaxDims] = {&x};
  for (int i = 0; i < axes.size(); ++i) in[1 + i] = &indices[i];
  Attrs attrs;
  attrs.dims = axes;
  return dispatch({structured_op<structured::Index>, in, 1 + axes.size(), attrs, loc});
}

Tensor index_put(const Tensor& x, const Dims& axes, const Tensor* indices, const Tensor& values,
                 bool accumulate, Loc loc) {
  Tensor out = clone(x, loc);
  put(out, axes, indices, values, accumulate, loc);
  return out;
}

namespace {

Tensor taken(const Tensor& x, const Flat& flat, Loc loc) {
  Resolved r = resolve(x, flat, loc);
  return r.axes.empty() ? r.x : ingot::index(r.x, r.axes, r.indices.data(), loc);
}

}  // namespace

Tensor Tensor::index(const std::vector<Index>& entries, Loc loc) const {
  return taken(given(*this, "index", loc), without_masks(entries, loc), loc);
}

const Tensor Tensor::operator[](const IndexList& at) const { return index(at.entries(), at.loc); }

struct IndexedTensor::Origin {
  Tensor from;
  std::vector<Index> indices;
};

const IndexedTensor Tensor::operator[](const IndexList& at) {
  // Masks are looked up once, for reading and for writing.
  Flat flat = without_masks(at.entries(), at.loc);
  Tensor values = taken(given(*this, "index", at.loc), flat, at.loc);
  return {std::move(values), std::make_shared<const IndexedTensor::Origin>(
                                 IndexedTensor::Origin{*this, std::move(flat.entries)})};
}

std::vector<Index> IndexList::entries() const {
  if (only_ != nullptr) return {Index(*only_)};
  return {begin_, begin_ + size_};
}

void IndexedTensor::operator=(const Arg& value) const&& {
  Tensor(origin_->from).index_put_(origin_->indices, value, false, value.loc);
}
void IndexedTensor::operator+=(const Arg& value) const&& { std::move(*this) = add(value); }
void IndexedTensor::operator-=(const Arg& value) const&& { std::move(*this) = sub(value); }
void IndexedTensor::operator*=(const Arg& value) const&& { std::move(*this) = mul(value); }
void IndexedTensor::operator/=(const Arg& value) const&& { std::move(*this) = div(value); }

Tensor& Tensor::index_put_(const std::vector<Index>& entries, const Arg& values, Flag accumulate,
                           Loc loc) & {
  as_op("index_put_", [&] {
    Resolved r = resolve(*this, without_masks(entries, loc), loc);
    Tensor v = values.tensor != nullptr ? values.tensor->to(TensorOptions(dtype()), loc)
                                        : scalar_tensor(values.scalar, options(), loc);
    if (!r.axes.empty()) {
      put(r.x, r.axes, r.indices.data(), v, accumulate, loc);
    } else if (accumulate) {
      r.x.add_(Arg(v, loc));
    } else {
      r.x.copy_(v, loc);
    }
  });
  return *this;
}

Tensor nonzero(const Tensor& x, Loc loc) {
  (void)given(x, "nonzero", loc);
  // The result's size depends on the values: they are read here.
  std::vector<bool> hit = x.to_vector<bool>(loc);
  std::vector<i64> positions;
  Dims strides = contiguous_strides(x.sizes());
  for (std::size_t i = 0; i < hit.size(); ++i) {
    if (!hit[i]) continue;
    i64 rest = static_cast<i64>(i);
    for (int d = 0; d < x.dim(); ++d) {
      positions.push_back(rest / strides[d]);
      rest %= strides[d];
    }
  }
  i64 count = 0;
  for (bool b : hit) count += b ? 1 : 0;
  return from_vector(positions, {count, x.dim()}, TensorOptions(kInt64, x.device()), loc);
}

Tensor masked_select(const Tensor& x, const Tensor& mask, Loc loc) {
  (void)given(x, "masked_select", loc);
  INGOT_CHECK_AT("masked_select", loc, given(mask, "masked_select", loc).dtype() == DType::boolean,
                 "the mask must be bool, got {}", describe(mask.meta()));
  Dims sizes = with_line("masked_select", loc,
                         [&] { return broadcast(x.sizes(), mask.sizes(), "masked_select"); });
  return as_op("masked_select",
               [&] { return expand(x, sizes, loc).index({Index(expand(mask, sizes, loc))}, loc); });
}

Tensor one_hot(const Tensor& index, i64 classes, Loc loc) {
  INGOT_CHECK_AT("one_hot", loc, !given(index, "one_hot", loc).is_floating_point(),
                 "the class numbers must be integers, got {}", describe(index.meta()));
  INGOT_CHECK_AT("one_hot", loc, classes >= 0, "the number of classes is {}", classes);
  const Tensor numbers = arange(classes, {kInt64, index.device()}, loc);
  const Tensor column = unsqueeze(numbers, 1, loc), i = index.to(kInt64, loc);
  const Tensor* in[] = {&column, &i};
  const Tensor found = dispatch({structured_op<structured::OneHot>, in, 2, Attrs{}, loc});
  return eq(found, Arg(numbers, loc)).to(kInt64, loc);
}

}  // namespace ingot
