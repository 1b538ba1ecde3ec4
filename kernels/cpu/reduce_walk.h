// Walks over strided axes, and strided rows read as contiguous ones.
// Owns: LoopAxis and the merging of axes, AxisWalk (any position, run by run), RowReader (pieces of
// a strided row in the compute dtype). Must not know: ops, threads.
#pragma once

#include <ingot/kernels/core/meta.h>
#include <ingot/kernels/cpu/loops.h>

namespace ingot {

inline constexpr int kWalkOperands = 4;

struct LoopAxis {
  i64 size;
  i64 stride[kWalkOperands];  // elements, of each operand; unused ones are 0
};

// Axes, outermost first; one that continues the axis before it is merged into that, and axes of
// size 1 are left out.
class AxisList {
 public:
  void push_back(const LoopAxis& axis);
  int size() const { return n_; }
  bool empty() const { return n_ == 0; }
  const LoopAxis& operator[](int i) const { return axis_[i]; }
  const LoopAxis& back() const { return axis_[n_ - 1]; }
  void erase(int at);
  i64 count() const {
    i64 n = 1;
    for (int i = 0; i < n_; ++i) n *= axis_[i].size;
    return n;
  }

 private:
  LoopAxis axis_[kMaxDims];
  int n_ = 0;
};

// A position in the nest of the axes, with the operands' offsets there (elements).
class AxisWalk {
 public:
  AxisWalk(const AxisList& axes, i64 begin) : axes_(axes) {
    i64 rest = begin;
    for (int d = axes.size() - 1; d >= 0; --d) {
      index_[d] = d == 0 ? rest : rest % axes[d].size;
      rest = d == 0 ? 0 : rest / axes[d].size;
      for (int k = 0; k < kWalkOperands; ++k) offset_[k] += index_[d] * axes[d].stride[k];
    }
  }
  i64 offset(int operand = 0) const { return offset_[operand]; }
  // Elements to the end of the innermost axis, this one included.
  i64 run() const { return axes_.empty() ? 1 : axes_.back().size - index_[axes_.size() - 1]; }
  void advance(i64 n) {  // n <= run()
    for (int d = axes_.size() - 1; d >= 0; --d) {
      const LoopAxis& axis = axes_[d];
      index_[d] += n;
      const bool wraps = index_[d] == axis.size && d > 0;
      const i64 steps = wraps ? n - axis.size : n;
      for (int k = 0; k < kWalkOperands; ++k) offset_[k] += steps * axis.stride[k];
      if (!wraps) return;
      index_[d] = 0;
      n = 1;
    }
  }

 private:
  const AxisList& axes_;
  i64 index_[kMaxDims];
  i64 offset_[kWalkOperands] = {};
};

// Rows of one operand: the row's axes have their strides as operand 0.
class RowReader {
 public:
  RowReader(const AxisList& axes, DType storage, DType compute)
      : axes_(axes),
        item_(item_size(storage)),
        compute_item_(item_size(compute)),
        move_(loops().copy->move[item_log2(item_)]),
        cast_(storage == compute
                  ? nullptr
                  : loops().copy->cast[static_cast<int>(storage)][static_cast<int>(compute)]) {}

  // Whether whole rows are read in place.
  bool in_place() const {
    return cast_ == nullptr && (axes_.empty() || (axes_.size() == 1 && axes_[0].stride[0] == 1));
  }
  // What read() needs for pieces of at most n elements.
  i64 buffer_bytes(i64 n) const { return in_place() ? 0 : n * (item_ + compute_item_) + 64; }

  // Elements [begin, begin + n) of the row whose first element is at `row`: in place if they are
  // contiguous and of the compute dtype, else in `buffer`.
  const void* read(const char* row, i64 begin, i64 n, char* buffer) const;

 private:
  AxisList axes_;
  i64 item_, compute_item_;
  CopyLoops::Move move_;
  CopyLoops::Cast cast_;
};

}  // namespace ingot
