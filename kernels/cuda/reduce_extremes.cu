// CUDA unit: the largest and the smallest, with or without their places; any and all.
#include <ingot/kernels/cuda/reduce_kernels.cuh>

namespace ingot {
inline namespace INGOT_ISA {

namespace {

// The smallest is the largest in reversed order; NaN stays what it is.
template <class T>
__device__ __forceinline__ Num<T> in_order(const ReduceTask& p, Num<T> v) {
  if (!p.smallest) return v;
  if constexpr (is_float<T>) {
    return -v;
  } else {
    return Num<T>(-1) - v;
  }
}

template <class T>
struct LargestOp {
  using Value = T;
  using Reducer = ValueReducer<rows::MaxRow, T>;
  static constexpr bool placed = false, centred = false;
  using whole_vectors = void;
  static __device__ __forceinline__ Num<T> state(const ReduceTask& p, Num<T> v, Int64, Num<T>) {
    return in_order(p, v);
  }
  static __device__ __forceinline__ void store(const ReduceTask& p, Int64 result, Num<T> v) {
    store_value(p, result, rows::MaxRow::finish(in_order(p, v)));
  }
};

template <class T>
struct ExtremeOp {
  using Value = T;
  using Reducer = ExtremeReducer<T>;
  static constexpr bool placed = true, centred = false;
  static __device__ __forceinline__ ExtremeState<T> state(const ReduceTask& p, Num<T> v,
                                                          Int64 place, Num<T>) {
    return {in_order(p, v), place};
  }
  static __device__ __forceinline__ void store(const ReduceTask& p, Int64 result,
                                               ExtremeState<T> s) {
    p.out_place[result] = s.place;
    if (p.out == nullptr) return;
    store_as(p.out, result, p.out_dtype, rows::MaxRow::finish(in_order(p, s.value)));
  }
};

template <class Row>
struct TruthOp {
  using Value = int;
  using Reducer = ValueReducer<Row, int>;
  static constexpr bool placed = false, centred = false;
  static __device__ __forceinline__ Num<int> state(const ReduceTask&, Num<int> v, Int64, Num<int>) {
    return v;
  }
  static __device__ __forceinline__ void store(const ReduceTask& p, Int64 result, Num<int> v) {
    store_as(p.out, result, p.out_dtype, convert<bool>(v));
  }
};

template <bool kColumns>
void launch_extremes(CudaReduce kind, const ReduceTask& task) {
  using Load = AnyLoad<int, bool>;
  switch (kind) {
    case CudaReduce::any:
      return launch_reduction<TruthOp<rows::AnyRow>, Load, kColumns>(task);
    case CudaReduce::all:
      return launch_reduction<TruthOp<rows::AllRow>, Load, kColumns>(task);
    case CudaReduce::largest:
      return launch_reduction_of<LargestOp, kColumns>(task);
    default:
      return launch_reduction_of<ExtremeOp, kColumns>(task);
  }
}

}  // namespace

void launch_extreme_rows(CudaReduce kind, const ReduceTask& task) {
  launch_extremes<false>(kind, task);
}
void launch_extreme_columns(CudaReduce kind, const ReduceTask& task) {
  launch_extremes<true>(kind, task);
}

}  // namespace INGOT_ISA
}  // namespace ingot
