// One step of a reduction as its CUDA kernels see it. Owns: ReduceTask, the launches. Host code
// without CUDA headers. Must not know: metas.
#pragma once

#include <ingot/kernels/cuda/row_task.h>

namespace ingot {

// largest, extreme: or the smallest, as the task says; extreme: with its place. centred: the sum of
// x - centre, or of its square.
enum class CudaReduce : int { sum, prod, largest, any, all, centred, extreme };

struct ReduceTask {
  const void* in = nullptr;
  int storage = 0;       // DType
  bool vectors = false;  // rows, or rows of columns, begin at multiples of 16 bytes
  const __INT64_TYPE__* places = nullptr;  // extreme: of the elements, if these are results already
  const void* centre = nullptr;            // one element for each result, in the compute type
  bool squares = false, smallest = false;

  // Rows: `groups` rows of n elements side by side. Columns: `groups` matrices of n rows, `step`
  // apart, and `cols` columns. All of groups * cols results are reduced in `pieces` pieces of
  // `piece` elements: result o of piece p is element o * pieces + p for rows, else
  // p * groups * cols + o.
  __INT64_TYPE__ n = 0, groups = 0, cols = 1, step = 0;
  RowPlaces at;
  __INT64_TYPE__ pieces = 1, piece = 0;

  // value = (add +) value (/ by, or / *divisor), in the compute type.
  void* out = nullptr;
  int out_dtype = 0;
  __INT64_TYPE__* out_place = nullptr;
  const void *add = nullptr, *divisor = nullptr;
  bool divides = false;
  double by = 1;
};

// Two column sums, of dy * h and of dy, over dense rows.
struct NormParametersTask {
  const void *dy = nullptr, *x = nullptr, *mean = nullptr, *rstd = nullptr;
  int storage = 0;
  bool vectors = false;
  __INT64_TYPE__ rows = 0, cols = 0, pieces = 1, piece = 0;
  // Piece p of column c goes to place p * 2 * cols + c of each.
  void *weight = nullptr, *bias = nullptr;
  int out_dtype = 0;
};

inline namespace INGOT_ISA {

void launch_reduce_rows(CudaReduce kind, const ReduceTask& task);
void launch_reduce_columns(CudaReduce kind, const ReduceTask& task);
void launch_norm_parameters(const NormParametersTask& task);

// Those of largest, any, all and extreme.
void launch_extreme_rows(CudaReduce kind, const ReduceTask& task);
void launch_extreme_columns(CudaReduce kind, const ReduceTask& task);

}  // namespace INGOT_ISA
}  // namespace ingot
