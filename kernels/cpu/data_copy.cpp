#include <cstring>

#include <ingot/kernels/cpu/data_copy.h>
#include <ingot/kernels/cpu/iterate.h>
#include <ingot/kernels/cpu/loops.h>

namespace ingot {

namespace {

constexpr i64 kCastTile = 1024;  // elements of a cast's tile
constexpr i64 kBlock = 64;       // rows and columns of a transposed block

CopyLoops::Cast cast_of(DType from, DType to) {
  return loops().copy->cast[static_cast<int>(from)][static_cast<int>(to)];
}

// One run of any strides; the dtypes may differ.
void copy_run(i64 n, char* to, DType to_type, i64 to_step, const char* from, DType from_type,
              i64 from_step) {
  const CopyLoops& copy = *loops().copy;
  const int to_item = item_size(to_type), from_item = item_size(from_type);
  if (to_type == from_type) {
    return copy.move[item_log2(to_item)](n, to, to_step, from, from_step);
  }
  const CopyLoops::Cast cast = cast_of(from_type, to_type);
  if (to_step == 1 && from_step == 1) return cast(n, to, from);
  alignas(64) char raw[kCastTile * 8], done[kCastTile * 8];
  if (from_step == 0) {
    cast(1, done, from);
    return copy.move[item_log2(to_item)](n, to, to_step, done, 0);
  }
  for (i64 begin = 0; begin < n; begin += kCastTile) {
    const i64 count = n - begin < kCastTile ? n - begin : kCastTile;
    copy.move[item_log2(from_item)](count, raw, 1, from + begin * from_step * from_item, from_step);
    cast(count, done, raw);
    copy.move[item_log2(to_item)](count, to + begin * to_step * to_item, to_step, done, 1);
  }
}

// The axis along which `from` has no gaps while `to` has none along axis 0; 0 when a walk along
// axis 0 serves both.
int transposed_axis(const Nest& nest) {
  constexpr i64 kLeast = 8;
  if (nest.stride(0, 0) != 1 || nest.stride(0, 1) == 1 || nest.stride(0, 1) == 0) return 0;
  if (nest.size(0) < kLeast) return 0;
  for (int d = 1; d < nest.dim(); ++d) {
    if (nest.stride(d, 1) == 1 && nest.size(d) >= kLeast) return d;
  }
  return 0;
}

// Copies blocks of the plane of axis 0 (no gaps in `to`) and `axis` (no gaps in `from`).
void copy_transposed(const Nest& nest, int axis, DType to_type, DType from_type) {
  const CopyLoops& copy = *loops().copy;
  const CopyLoops::Transpose transpose = copy.transpose[item_log2(nest.item_size(1))];
  const CopyLoops::Cast cast = cast_of(from_type, to_type);
  const i64 rows = nest.size(0), columns = nest.size(axis);
  const i64 row_step = nest.stride(0, 1), column_step = nest.stride(axis, 0);
  const int to_item = nest.item_size(0), from_item = nest.item_size(1);

  // What is left to walk: the other axes, each of whose elements is a plane.
  Nest planes = nest;
  planes.remove_axis(axis);
  planes.remove_axis(0);
  const i64 strips = (columns + kBlock - 1) / kBlock;
  const i64 strips_per_thread = 1 + kParallelGrain / (kBlock * rows);

  parallel_for(planes.numel() * strips, strips_per_thread, [&](i64 begin, i64 end) {
    alignas(64) char block[kBlock * kBlock * 8];
    for (i64 item = begin; item < end; ++item) {
      const i64 plane = item / strips, first = item % strips * kBlock;
      const i64 width = columns - first < kBlock ? columns - first : kBlock;
      planes.walk(plane, plane + 1, [&](i64, char* const* at) {
        char* to = at[0] + first * column_step * to_item;
        const char* from = at[1] + first * from_item;
        if (to_type == from_type) {
          return transpose(rows, width, to, column_step, from, row_step);
        }
        for (i64 row = 0; row < rows; row += kBlock) {
          const i64 height = rows - row < kBlock ? rows - row : kBlock;
          transpose(height, width, block, kBlock, from + row * row_step * from_item, row_step);
          for (i64 c = 0; c < width; ++c) {
            cast(height, to + (c * column_step + row) * to_item, block + c * kBlock * from_item);
          }
        }
      });
    }
  });
}

}  // namespace

void copy_elements(const BufferView& to, const BufferView& from) {
  const Meta &dst = *to.meta, &src = *from.meta;
  const i64 n = dst.numel();
  if (n == 0) return;
  Nest nest(dst.sizes);
  nest.add(to.data, dst.strides, item_size(dst.dtype));
  nest.add(from.data, broadcast_strides(src, dst.sizes), item_size(src.dtype));
  nest.collapse();
  if (const int axis = transposed_axis(nest); axis != 0) {
    return copy_transposed(nest, axis, dst.dtype, src.dtype);
  }
  nest.lengthen_runs();
  const i64* strides = nest.run_strides();
  nest.for_each_run(
      [&](i64 run, char* const* at) {
        copy_run(run, at[0], dst.dtype, strides[0], at[1], src.dtype, strides[1]);
      },
      2 * kParallelGrain);
}

void copy_overlapping(const BufferView& to, const BufferView& from) {
  const bool same =
      to.data == from.data && to.meta->dtype == from.meta->dtype &&
      broadcast_strides(*from.meta, to.meta->sizes) == broadcast_strides(*to.meta, to.meta->sizes);
  if (same) return;
  if (!may_overlap(to, from)) return copy_elements(to, from);
  const Contiguous saved(from, Contiguous::Copy::always);
  copy_elements(to, saved.view());
}

void fill_elements(const BufferView& to, const void* value) {
  Nest nest(to.meta->sizes);
  const int item = item_size(to.meta->dtype);
  nest.add(to.data, to.meta->strides, item);
  nest.collapse();
  const CopyLoops::Move move = loops().copy->move[item_log2(item)];
  const i64 step = nest.numel() == 0 ? 0 : nest.run_strides()[0];
  nest.for_each_run([&](i64 n, char* const* at) { move(n, at[0], step, value, 0); },
                    2 * kParallelGrain);
}

void store_scalar(Scalar s, DType dtype, void* to) {
  const double real = s.to_double();
  const i64 whole = s.to_int();
  if (s.is_floating() || s.above_i64()) {
    cast_of(DType::f64, dtype)(1, to, &real);
  } else {
    cast_of(DType::i64, dtype)(1, to, &whole);
  }
}

bool may_overlap(const BufferView& a, const BufferView& b) {
  struct Range {
    const char *first, *end;
    explicit Range(const BufferView& v) : first(static_cast<const char*>(v.data)), end(first) {
      const i64 item = item_size(v.meta->dtype);
      if (v.meta->numel() == 0) return;
      for (int d = 0; d < v.meta->dim(); ++d) {
        const i64 reach = (v.meta->sizes[d] - 1) * v.meta->strides[d] * item;
        (reach < 0 ? first : end) += reach;
      }
      end += item;
    }
  };
  const Range x(a), y(b);
  return x.first < y.end && y.first < x.end;
}

Contiguous::Contiguous(const BufferView& view, Copy copy)
    : Contiguous(view, view.meta->dtype, view.meta->sizes, copy) {}

Contiguous::Contiguous(const BufferView& view, DType dtype, const Dims& sizes, Copy copy)
    : meta_(*view.meta), data_(view.data) {
  const bool fits = meta_.dtype == dtype && meta_.sizes == sizes && is_contiguous(meta_);
  meta_.dtype = dtype;
  meta_.sizes = sizes;
  meta_.strides = contiguous_strides(sizes);
  if (fits && copy == Copy::if_needed) return;
  owned_.emplace(meta_.numel() * item_size(dtype));
  data_ = owned_->data();
  copy_elements(this->view(), view);
}

}  // namespace ingot
