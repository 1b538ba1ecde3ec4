// Row formulas over tensors: every row of some operands, whatever their strides and storage types,
// as contiguous rows of the compute dtype, on several threads.
// Owns: RowJob, the look-up of row formulas. Must not know: the formulas, ops.
#pragma once

#include <optional>

#include <ingot/kernels/cpu/reduce_scratch.h>
#include <ingot/kernels/cpu/reduce_walk.h>
#include <ingot/kernels/cpu/rowops_loops.h>

namespace ingot {

// The formulas of a compute dtype, f32 or f64, at isa_level(), and at a given level: nullptr when
// that was left out of the build.
const RowLoops& row_loops(DType compute);
const RowLoops* row_loops_of(IsaLevel level, DType compute);

// Operands of the same sizes, with rows along the axes [first, first + n_axes). Rows are numbered
// in the logical order of the other axes.
class RowJob {
 public:
  RowJob(const Dims& sizes, int first, int n_axes, DType compute);

  // At most 3 inputs, then at most one output (row-major).
  void add_input(const BufferView& view) { add(view); }
  void set_output(const BufferView& view) {
    has_output_ = true;
    add(view);
  }

  i64 rows() const { return rows_; }
  i64 length() const { return length_; }

  // Calls f(row, in, out) for each row, in any order and on several threads: in[k] and out are
  // contiguous, length() elements of the compute dtype.
  template <class F>
  void run(F&& f) {
    using Callable = std::remove_reference_t<F>;
    run([](void* context, i64 row, const void* const* in,
           void* out) { (*static_cast<Callable*>(context))(row, in, out); },
        const_cast<void*>(static_cast<const void*>(std::addressof(f))));
  }

 private:
  using RowFn = void (*)(void* context, i64 row, const void* const* in, void* out);

  struct Operand {
    char* data = nullptr;
    DType storage = DType::f32;
    AxisList axes;  // the row's axes, with the operand's strides as operand 0
    Dims strides;
  };

  void add(const BufferView& view);
  void run(RowFn f, void* context);
  AxisList kept_axes() const;
  // Whether neighbouring rows lie side by side in all operands, and rows do not run along memory.
  bool side_by_side(const AxisList& kept) const;
  void run_single(const AxisList& kept, RowFn f, void* context) const;
  void run_panels(const AxisList& kept, RowFn f, void* context) const;

  Dims sizes_;
  int first_, n_axes_;
  DType compute_;
  i64 rows_ = 1, length_ = 1;
  Operand operand_[kWalkOperands];
  int n_ = 0;
  bool has_output_ = false;
};

// A whole operand as contiguous elements of the compute dtype; nothing for one that was left out.
// The operand itself where it is that already.
class DenseOperand {
 public:
  DenseOperand(const BufferView& view, DType compute);
  const void* data() const { return data_; }
  const char* at(i64 element) const { return static_cast<const char*>(data_) + element * item_; }

 private:
  std::optional<Scratch> owned_;
  const void* data_ = nullptr;
  i64 item_;
};

}  // namespace ingot
