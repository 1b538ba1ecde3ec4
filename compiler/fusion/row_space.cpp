#include <ingot/compiler/fusion/row_ops.h>
#include <ingot/compiler/fusion/row_space.h>
#include <ingot/kernels/cuda/row_shape.h>

namespace ingot::compiler {

namespace {

// How many trailing axes the op works along; 0: others.
int trailing_axes(RowOp::Axes axes, const Attrs& attrs, int dim) {
  const int n = attrs.dims.size();
  switch (axes) {
    case RowOp::axis:
      return attrs.a == dim - 1 ? 1 : 0;
    case RowOp::trailing:
      return static_cast<int>(attrs.c);
    case RowOp::list:
      break;
  }
  for (int d = 0; d < n; ++d) {
    if (attrs.dims[d] != dim - n + d) return 0;
  }
  return n;
}

Dims part(const Dims& dims, int begin, int end) {
  Dims result;
  for (int d = begin; d < end; ++d) result.push_back(dims[d]);
  return result;
}

// The one stride of several axes walked as one; an axis of size 1 has none.
std::optional<i64> merged_stride(const Dims& sizes, const Dims& strides, int begin) {
  std::optional<i64> inner;
  i64 next = 0;
  for (int d = sizes.size() - 1; d >= begin; --d) {
    if (sizes[d] == 1) continue;
    if (!inner) {
      inner = strides[d];
    } else if (strides[d] != next) {
      return std::nullopt;
    }
    next = strides[d] * sizes[d];
  }
  return inner ? inner : 0;
}

}  // namespace

i64 RowSpace::length() const { return part(sizes, sizes.size() - axes, sizes.size()).product(); }
i64 RowSpace::longest() const { return on_gpu() ? kLongRow : kLongestRow; }
Dims RowSpace::leading() const { return part(sizes, 0, sizes.size() - axes); }

std::optional<RowSpace> row_space(const Segment& s, const SegmentOp& op) {
  const RowOp* row = row_op(*op.op);
  if (row == nullptr || op.in.empty() || op.in[0] < 0 || op.writes >= 0) return std::nullopt;
  const Meta& x = s.meta(op.in[0]);
  const bool on_gpu = x.device.is_cuda();
  if (!is_floating_point(x.dtype) || (!on_gpu && compute_type(x.dtype) != x.dtype)) {
    return std::nullopt;
  }
  // Moments of 16-bit rows are not rounded to 16 bits.
  const auto fits = [&](int v, bool row_value) {
    const DType t = s.meta(v).dtype;
    return t == x.dtype || (row_value && t == compute_type(x.dtype));
  };
  for (std::size_t k = 0; k < op.in.size(); ++k) {
    if (op.in[k] >= 0 && !fits(op.in[k], row->is_row_value(k))) return std::nullopt;
  }
  for (int v : op.out) {
    if (!fits(v, !(s.meta(v).sizes == x.sizes)) || !is_contiguous(s.meta(v))) return std::nullopt;
  }
  const int axes = trailing_axes(row->axes, op.attrs, x.dim());
  if (axes < 1 || x.numel() == 0) return std::nullopt;
  RowSpace space{x.sizes, axes, on_gpu ? item_size(x.dtype) : 0};
  const i64 n = space.length();
  if (on_gpu) {
    if (n < 2 || row_shape(n, vector_width(space.item)).slots == 0) return std::nullopt;
  } else if (n < kShortestRow || (n > kLongestRow && row->combine == nullptr)) {
    return std::nullopt;
  }
  // The order of a sum follows the memory of its operand: only row-major is the order of a row.
  if (row->reduces && !is_contiguous(x)) return std::nullopt;
  return space;
}

std::optional<RowWalk> walk_of_whole(const Meta& m, const RowSpace& space) {
  const int lead = space.sizes.size() - space.axes;
  const Dims strides = broadcast_strides(m, space.sizes);
  const std::optional<i64> inner = merged_stride(space.sizes, strides, lead);
  if (!inner) return std::nullopt;
  RowWalk walk{part(strides, 0, lead), *inner};
  for (int d = 0; d < lead; ++d) {
    if (space.sizes[d] == 1) walk.lead[d] = 0;
  }
  return walk;
}

std::optional<RowWalk> walk_of_row_values(const Meta& m, const Dims& sizes, const RowSpace& space) {
  const Dims lead = space.leading(), strides = broadcast_strides(m, sizes);
  RowWalk walk{Dims::filled(lead.size(), 0), 0};
  int d = 0;
  for (int k = 0; k < sizes.size(); ++k) {
    if (sizes[k] == 1) continue;
    while (d < lead.size() && lead[d] == 1) ++d;
    if (d == lead.size() || lead[d] != sizes[k]) return std::nullopt;
    walk.lead[d++] = strides[k];
  }
  while (d < lead.size() && lead[d] == 1) ++d;
  return d == lead.size() ? std::optional(walk) : std::nullopt;
}

RowWalk dense_whole(const RowSpace& space) {
  RowWalk walk = dense_row_values(space);
  for (i64& stride : walk.lead) stride *= space.length();
  walk.inner = 1;
  return walk;
}

RowWalk dense_row_values(const RowSpace& space) {
  const Dims lead = space.leading();
  RowWalk walk{contiguous_strides(lead), 0};
  for (int d = 0; d < lead.size(); ++d) {
    if (lead[d] == 1) walk.lead[d] = 0;
  }
  return walk;
}

}  // namespace ingot::compiler
