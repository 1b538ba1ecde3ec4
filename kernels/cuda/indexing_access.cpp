#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cpu/data_copy.h>
#include <ingot/kernels/cpu/iterate.h>
#include <ingot/kernels/cuda/fault.h>
#include <ingot/kernels/cuda/indexing_access.h>
#include <ingot/kernels/cuda/indexing_sort.h>

namespace ingot {
inline namespace INGOT_ISA {

namespace {

// What one launch numbers.
constexpr i64 kMostLanes = (i64{1} << 31) - 1;
// Up to here positions that look for their equals cost less than a sort's launches.
constexpr i64 kMostDirect = 64;

IndexTensors tensors(const IndexedAxes& axes, const Meta& x, const IndexOperands& indices) {
  IndexTensors result{};
  result.n = indices.size();
  result.from_end = axes.from_end;
  result.fault = cuda::fault_site(axes.op, axes.axis, axes.unit);
  for (int k = 0; k < result.n; ++k) {
    // A 0-d tensor has one element at index 0.
    result.at[k] = x.dim() == 0 ? IndexTensor{indices.data(k), 1, 0}
                                : IndexTensor{indices.data(k), x.sizes[axes.axis + k],
                                              x.strides[axes.axis + k]};
  }
  return result;
}

// The nest of an access, its operands in the order of IndexLanes::Operand.
Nest make_nest(const IndexAccess& access, const BufferView& plain, const BufferView& x,
               const IndexOperands& indices, int position_axis) {
  Nest nest(access.sizes);
  nest.add(plain.data, access.plain, item_size(plain.meta->dtype));
  nest.add(x.data, access.x, item_size(x.meta->dtype));
  nest.add(indices.data(0), access.index, item_size(DType::i64));
  Dims position = Dims::filled(access.sizes.size(), 0);
  if (position_axis >= 0) position[position_axis] = 1;
  nest.add(nullptr, position, 1);
  nest.collapse();
  return nest;
}

// Calls f(nest) for pieces that a launch can number. Positions stay together.
template <class F>
void for_pieces(const Nest& nest, const F& f) {
  if (nest.numel() == 0) return;
  if (nest.numel() <= kMostLanes) return f(nest);
  int axis = nest.dim() - 1;
  while (axis >= 0 && (nest.size(axis) == 1 || nest.stride(axis, IndexLanes::position) != 0)) {
    --axis;
  }
  INGOT_CHECK(axis >= 0, "indexing: more than {} indices in one call", kMostLanes);
  const i64 half = nest.size(axis) / 2;
  for_pieces(nest.part(axis, 0, half), f);
  for_pieces(nest.part(axis, half, nest.size(axis)), f);
}

IndexLanes lanes_of(const Nest& nest) {
  IndexLanes lanes{};
  lanes.n = static_cast<unsigned>(nest.numel());
  lanes.dim = nest.dim();
  for (int d = 0; d < lanes.dim; ++d) {
    lanes.sizes[d] = static_cast<unsigned>(nest.size(d));
    for (int k = 0; k < 4; ++k) lanes.strides[d][k] = nest.stride(d, k);
  }
  return lanes;
}

// The index tensors where a piece of the nest starts.
IndexTensors moved(IndexTensors indices, const Nest& piece, const IndexOperands& whole) {
  const i64 step = reinterpret_cast<const i64*>(piece.data(IndexLanes::index)) - whole.data(0);
  for (int k = 0; k < indices.n; ++k) indices.at[k].data += step;
  return indices;
}

// Whether runs of `factor` elements lie together in both tensors, aligned, at one index.
bool is_run(const TakeTask& task, int factor) {
  const IndexLanes& lanes = task.lanes;
  const auto aligned = [&](const void* p) {
    return reinterpret_cast<std::uintptr_t>(p) % static_cast<unsigned>(task.item * factor) == 0;
  };
  if (lanes.dim == 0 || lanes.strides[0][IndexLanes::plain] != 1 ||
      lanes.strides[0][IndexLanes::indexed] != 1 || lanes.strides[0][IndexLanes::index] != 0 ||
      lanes.sizes[0] % static_cast<unsigned>(factor) != 0 || !aligned(task.out) ||
      !aligned(task.x)) {
    return false;
  }
  for (int d = 1; d < lanes.dim; ++d) {
    if (lanes.strides[d][IndexLanes::plain] % factor != 0) return false;
    if (lanes.strides[d][IndexLanes::indexed] % factor != 0) return false;
  }
  for (int k = 0; k < task.indices.n; ++k) {
    if (task.indices.at[k].stride % factor != 0) return false;
  }
  return true;
}

// Takes the longest runs that one instruction moves, up to 16 bytes, for the elements.
void widen_items(TakeTask& task) {
  int factor = 16 / task.item;
  while (factor > 1 && !is_run(task, factor)) factor /= 2;
  if (factor == 1) return;
  IndexLanes& lanes = task.lanes;
  task.item *= factor;
  lanes.n /= static_cast<unsigned>(factor);
  lanes.sizes[0] /= static_cast<unsigned>(factor);
  for (int d = 1; d < lanes.dim; ++d) {
    lanes.strides[d][IndexLanes::plain] /= factor;
    lanes.strides[d][IndexLanes::indexed] /= factor;
  }
  for (int k = 0; k < task.indices.n; ++k) task.indices.at[k].stride /= factor;
}

// The axes of positions as one axis: the stride from one position to the next, if there is one.
std::optional<i64> common_step(const Dims& sizes, const Dims& strides, int axis, int n) {
  i64 step = 0, reach = 1;
  bool found = false;
  for (int d = axis + n - 1; d >= axis; --d) {
    if (sizes[d] == 1) continue;
    if (!found) {
      step = strides[d];
      found = true;
    } else if (strides[d] != step * reach) {
      return std::nullopt;
    }
    reach *= sizes[d];
  }
  return step;
}

// `access` with its position axes made one. Strides that do not allow it are those of dense copies
// then: `dense_plain` and `dense_index` say so.
struct Flat {
  IndexAccess access;
  bool dense_plain = false, dense_index = false;

  explicit Flat(const IndexAccess& given) : access(given) {
    const int axis = access.position_axis, n = access.position_dims;
    auto plain = common_step(access.sizes, access.plain, axis, n);
    auto index = common_step(access.sizes, access.index, axis, n);
    if (!plain) {
      dense_plain = true;
      access.plain = contiguous_strides(access.sizes);
      plain = common_step(access.sizes, access.plain, axis, n);
    }
    if (!index) {
      dense_index = true;
      index = 1;
    }
    i64 positions = 1;
    for (int d = 0; d < n; ++d) {
      positions *= access.sizes[axis];
      access.sizes.erase(axis);
      access.plain.erase(axis);
      access.x.erase(axis);
      access.index.erase(axis);
    }
    access.sizes.insert(axis, positions);
    access.plain.insert(axis, *plain);
    access.x.insert(axis, 0);
    access.index.insert(axis, *index);
    access.position_dims = 1;
  }

  i64 positions() const { return access.sizes[access.position_axis]; }

  // Whether all elements of a position have one index.
  bool slices() const {
    for (int d = 0; d < access.sizes.size(); ++d) {
      if (d != access.position_axis && access.sizes[d] != 1 && access.index[d] != 0) return false;
    }
    return true;
  }

  IndexAccess one_position() const {
    IndexAccess lanes = access;
    lanes.sizes[lanes.position_axis] = 1;
    return lanes;
  }
};

// Where slices have no elements, or the tensor none: whether each index is one all the same.
void check(const IndexTensors& all, const IndexOperands& indices) {
  const Meta& index = indices.meta();
  const Dims still = Dims::filled(index.dim(), 0);
  Nest nest(index.sizes);
  nest.add(nullptr, still, 1);
  nest.add(nullptr, still, 1);
  nest.add(indices.data(0), index.strides, item_size(DType::i64));
  nest.add(nullptr, still, 1);
  nest.collapse();
  for_pieces(nest, [&](const Nest& piece) {
    launch_check({lanes_of(piece), moved(all, piece, indices)});
  });
}

void put_direct(const PutTask& task, const Nest& nest, const IndexOperands& indices) {
  for_pieces(nest, [&](const Nest& piece) {
    PutTask part = task;
    part.values = piece.data(IndexLanes::plain);
    part.x = piece.data(IndexLanes::indexed);
    part.lanes = lanes_of(piece);
    part.indices = moved(task.indices, piece, indices);
    launch_put_direct(part);
  });
}

// One sort of the positions serves all lanes.
void put_sorted_slices(const PutTask& task, const Nest& one_position,
                       const IndexOperands& indices) {
  INGOT_CHECK(task.positions <= kMostLanes, "{}: more than {} indices in one call",
              task.indices.fault.op, kMostLanes);
  i64 limit = 1;
  for (int k = 0; k < task.indices.n; ++k) limit *= task.indices.at[k].size;
  SortedKeys sorted(task.positions);
  const auto most = static_cast<IndexKey>(limit);
  launch_put_keys(task, sorted.input(), most, true);
  sorted.sort(most);
  for_pieces(one_position, [&](const Nest& piece) {
    PutTask part = task;
    part.values = piece.data(IndexLanes::plain);
    part.x = piece.data(IndexLanes::indexed);
    part.lanes = lanes_of(piece);
    part.indices = moved(task.indices, piece, indices);
    launch_put_ordered(part, {sorted.keys(), sorted.order(), task.positions, most, true});
  });
}

// Every element has an index: all are sorted by where they go.
void put_sorted_elements(const PutTask& task, const Nest& nest, const IndexOperands& indices,
                         i64 x_extent) {
  for_pieces(nest, [&](const Nest& piece) {
    PutTask part = task;
    part.values = piece.data(IndexLanes::plain);
    part.x = piece.data(IndexLanes::indexed);
    part.lanes = lanes_of(piece);
    part.indices = moved(task.indices, piece, indices);
    SortedKeys sorted(piece.numel());
    const auto most = static_cast<IndexKey>(x_extent);
    launch_put_keys(part, sorted.input(), most, false);
    sorted.sort(most);
    launch_put_ordered(part, {sorted.keys(), sorted.order(), piece.numel(), most, false});
  });
}

}  // namespace

IndexOperands::IndexOperands(const BufferView* indices, int n, const BufferView* written) : n_(n) {
  for (int k = 0; k < n; ++k) {
    views_[k] = indices[k];
    if (written != nullptr && may_overlap(indices[k], *written)) copy(k, true);
  }
  bool alike = true;
  for (int k = 1; k < n; ++k) alike &= views_[k].meta->strides == views_[0].meta->strides;
  if (!alike) make_dense();
}

void IndexOperands::copy(int k, bool always) {
  const BufferView view = views_[k];
  copies_[k].emplace(view, DType::i64,
                     always ? DenseCopy::Copy::always : DenseCopy::Copy::if_needed);
  views_[k] = copies_[k]->view();
}

void IndexOperands::make_dense() {
  for (int k = 0; k < n_; ++k) {
    if (!copies_[k]) copy(k, false);
  }
}

void take(const IndexedAxes& axes, const IndexAccess& access, const BufferView& out,
          const BufferView& x, const IndexOperands& indices) {
  const IndexTensors all = tensors(axes, *x.meta, indices);
  if (access.sizes.product() == 0) return check(all, indices);
  for_pieces(make_nest(access, out, x, indices, -1), [&](const Nest& piece) {
    TakeTask task{piece.data(IndexLanes::plain), piece.data(IndexLanes::indexed),
                  item_size(x.meta->dtype), lanes_of(piece), moved(all, piece, indices)};
    widen_items(task);
    launch_take(task);
  });
}

void put(const IndexedAxes& axes, const IndexAccess& access, const BufferView& x,
         const BufferView& values, IndexOperands& indices, bool add) {
  if (access.sizes.product() == 0) return check(tensors(axes, *x.meta, indices), indices);
  const Flat flat(access);
  if (flat.dense_index) indices.make_dense();
  Meta whole = *values.meta;
  whole.sizes = access.sizes;
  whole.strides = access.plain;
  BufferView plain{values.data, &whole};
  std::optional<DenseCopy> copied;
  if (flat.dense_plain) {
    copied.emplace(plain, whole.dtype, DenseCopy::Copy::always);
    plain = copied->view();
  }

  const int axis = flat.access.position_axis;
  PutTask task{};
  task.x = x.data;
  task.values = plain.data;
  task.dtype = static_cast<int>(x.meta->dtype);
  task.add = add;
  task.positions = flat.positions();
  task.value_step = flat.access.plain[axis];
  task.index_step = flat.access.index[axis];
  task.indices = tensors(axes, *x.meta, indices);
  if (task.positions > kMostDirect && flat.slices()) {
    const IndexAccess one = flat.one_position();
    return put_sorted_slices(task, make_nest(one, plain, x, indices, -1), indices);
  }
  const Nest nest = make_nest(flat.access, plain, x, indices, axis);
  if (task.positions > kMostDirect) {
    return put_sorted_elements(task, nest, indices, extent(*x.meta));
  }
  put_direct(task, nest, indices);
}

}  // namespace INGOT_ISA
}  // namespace ingot
