// A reduction along rows or down columns, cut into pieces by its shape.
#include <optional>

#include <ingot/kernels/core/dtype.h>
#include <ingot/kernels/cuda/axis_order.h>
#include <ingot/kernels/cuda/column_shape.h>
#include <ingot/kernels/cuda/reduce.h>
#include <ingot/kernels/cuda/row_shape.h>

namespace ingot {
inline namespace INGOT_ISA {

namespace {

// Elements of a vector, as reduce_kernels.cuh has it.
int width_of(CudaReduce kind, DType storage) {
  const bool truth = kind == CudaReduce::any || kind == CudaReduce::all;
  return is_floating_point(storage) && !truth ? vector_width(item_size(storage)) : 4;
}

// Of a row: pieces of 8192 elements, longer ones where there would be more than 1024 of these.
ColumnPieces row_pieces(i64 n) {
  if (n <= kLongRow) return {1, n};
  i64 piece = kLongRow / 2;
  while (piece < 65536 && piece * 1024 < n) piece *= 2;
  return {(n + piece - 1) / piece, piece};
}

}  // namespace

void reduce_on_device(CudaReduce kind, ReduceAlong along, ReduceTask task, DType compute) {
  const bool rows = along == ReduceAlong::rows;
  const i64 results = task.groups * task.cols;
  if (results == 0) return;
  const auto storage = static_cast<DType>(task.storage);
  task.vectors = has_vectors(task.in, task.at, storage) &&
                 (rows || task.step % (16 / item_size(storage)) == 0);
  const auto go = [&](const ReduceTask& t) {
    rows ? launch_reduce_rows(kind, t) : launch_reduce_columns(kind, t);
  };
  const ColumnPieces cut =
      rows ? row_pieces(task.n)
           : column_pieces(task.n, task.cols, task.groups, width_of(kind, storage));
  task.pieces = cut.count;
  task.piece = cut.rows;
  if (cut.count == 1) return go(task);

  const auto bytes = [&](int item) { return static_cast<std::size_t>(results * cut.count * item); };
  const DeviceScratch values(bytes(item_size(compute)));
  const bool placed = kind == CudaReduce::extreme;
  std::optional<DeviceScratch> places;
  if (placed) places.emplace(bytes(item_size(DType::i64)));

  ReduceTask first = task, second = task;
  first.out = values.data();
  first.out_dtype = static_cast<int>(compute);
  first.out_place = placed ? places->data<i64>() : nullptr;
  first.divides = false;
  first.add = first.divisor = nullptr;
  go(first);

  second.in = values.data();
  second.places = first.out_place;
  second.storage = static_cast<int>(compute);
  second.centre = nullptr;
  second.squares = false;
  second.n = cut.count;
  second.at = {};
  if (rows) {
    second.at.stride = cut.count;
  } else {
    second.groups = 1;
    second.cols = second.step = results;
  }
  reduce_on_device(kind == CudaReduce::centred ? CudaReduce::sum : kind, along, second, compute);
}

void sum_on_device(const void* x, DType storage, i64 n, void* out, DType out_dtype,
                   const void* divisor) {
  ReduceTask task;
  task.in = x;
  task.storage = static_cast<int>(storage);
  task.n = n;
  task.groups = 1;
  task.out = out;
  task.out_dtype = static_cast<int>(out_dtype);
  task.divisor = divisor;
  reduce_on_device(CudaReduce::sum, ReduceAlong::rows, task, compute_type(storage));
}

}  // namespace INGOT_ISA
}  // namespace ingot
