#include <cstring>

#include <ingot/kernels/cpu/iterate_tiles.h>
#include <ingot/kernels/cpu/loops.h>

namespace ingot {

RepeatedRows::RepeatedRows(const Nest& nest) : nest_(nest) {
  if (nest.numel() == 0 || nest.dim() != 2 || nest.size(0) > kLongest) return;
  bool some = false;
  for (int k = 0; k < nest.operands(); ++k) {
    const i64 inner = nest.stride(0, k), outer = nest.stride(1, k);
    repeats_[k] = inner == 1 && outer == 0;
    some |= repeats_[k];
    strides_[k] = inner;
    if (!repeats_[k] && outer != inner * nest.size(0)) return;
  }
  if (!some || repeats_[0]) return;
  period_ = kTile / nest.size(0) * nest.size(0);
}

void RepeatedRows::fill(int operand, char* tile) const {
  const i64 needed = nest_.numel() < period_ ? nest_.numel() : period_;
  const i64 row = nest_.size(0) * nest_.item_size(operand);
  for (i64 at = 0; at < needed * nest_.item_size(operand); at += row) {
    std::memcpy(tile + at, nest_.data(operand), static_cast<std::size_t>(row));
  }
}

Transposed::Transposed(const Nest& nest) : nest_(nest) {
  if (nest.numel() == 0 || nest.dim() < 2 || nest.size(0) < kLeast) return;
  int axis = 0;
  for (int k = 1; k < nest.operands() && axis == 0; ++k) {
    if (nest.stride(0, k) == 0 || nest.stride(0, k) == 1) continue;
    for (int d = 1; d < nest.dim(); ++d) {
      if (nest.stride(d, k) == 1 && nest.size(d) >= kLeast) axis = d;
    }
  }
  if (axis == 0) return;
  for (int k = 0; k < nest.operands(); ++k) {
    const i64 stride = nest.stride(0, k);
    across_[k] = k > 0 && nest.stride(axis, k) == 1 && stride != 0 && stride != 1;
    strides_[k] = across_[k] ? 1 : stride;
  }
  axis_ = axis;
}

void Transposed::fill(int operand, i64 rows, i64 columns, const char* from, char* tile) const {
  loops().copy->transpose[item_log2(nest_.item_size(operand))](rows, columns, tile, kRows, from,
                                                               nest_.stride(0, operand));
}

}  // namespace ingot
