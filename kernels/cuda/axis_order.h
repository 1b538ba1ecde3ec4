// The axes of an operand in the order of its strides, and in the few forms that row and column
// kernels take. Owns: AxisOrder, merging, dense copies in an order of axes, results on their way
// from that order into a row-major one. What is done depends on sizes, axes and stride order only;
// gaps between elements just cost a copy. Must not know: reductions.
#pragma once

#include <optional>

#include <ingot/kernels/cuda/copy.h>
#include <ingot/kernels/cuda/row_task.h>

namespace ingot {
inline namespace INGOT_ISA {

// Outermost first. Axes of size 1 are left out.
class AxisOrder {
 public:
  struct Axis {
    i64 size, stride;
    int place;  // in the operand's own order
    bool marked;
  };

  // By falling strides; equal ones in their own order. `marked`: these axes.
  AxisOrder(const Meta& m, const Dims& marked);
  AxisOrder() = default;

  int size() const { return n_; }
  const Axis& operator[](int i) const { return axis_[i]; }
  void push_back(const Axis& axis) { axis_[n_++] = axis; }
  i64 count(int begin, int end) const;
  i64 count() const { return count(0, n_); }

  // The axes [begin, end) as few as possible.
  AxisOrder merged(int begin, int end) const;
  // All axes but [begin, end).
  AxisOrder without(int begin, int end) const;
  // Those that are marked or not, in this order.
  AxisOrder only(bool marked) const;
  bool in_own_order() const;
  // As of a row-major operand.
  void make_dense();
  Meta meta(DType dtype) const;

 private:
  Axis axis_[kMaxDims];
  int n_ = 0;
};

// Where the rows along at most two merged axes begin.
RowPlaces row_places(const AxisOrder& merged);

// Whether rows of this operand begin at multiples of 16 bytes.
bool has_vectors(const void* data, const RowPlaces& places, DType dtype);

// Results in an order of axes, which become those of a row-major `out`.
class OrderedResult {
 public:
  OrderedResult(const AxisOrder& order, const BufferView& out);
  void* data() const { return scratch_ ? scratch_->data() : out_.data; }
  DType dtype() const { return out_.meta->dtype; }
  // Once the results are there.
  void finish() const;

 private:
  AxisOrder order_;
  BufferView out_;
  std::optional<DeviceScratch> scratch_;
};

}  // namespace INGOT_ISA
}  // namespace ingot
