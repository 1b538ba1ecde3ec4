// CUDA unit: sums, products, sums around a centre.
#include <ingot/kernels/cuda/reduce_kernels.cuh>

namespace ingot {
inline namespace INGOT_ISA {

namespace {

template <class Row, class T>
struct ValueOp {
  using Value = T;
  using Reducer = ValueReducer<Row, T>;
  static constexpr bool placed = false, centred = false;
  static __device__ __forceinline__ Num<T> state(const ReduceTask&, Num<T> v, Int64, Num<T>) {
    return v;
  }
  static __device__ __forceinline__ void store(const ReduceTask& p, Int64 result, Num<T> v) {
    store_value(p, result, Row::finish(v));
  }
};
template <class T>
struct SumOp : ValueOp<rows::SumRow, T> {
  using whole_vectors = void;
};
template <class T>
struct ProdOp : ValueOp<rows::ProdRow, T> {};

template <class T>
struct CentredOp : ValueOp<rows::SumRow, T> {
  static constexpr bool centred = true;
  static __device__ __forceinline__ Num<T> state(const ReduceTask& p, Num<T> v, Int64,
                                                 Num<T> centre) {
    const Num<T> d = v - centre;
    return p.squares ? d * d : d;
  }
};

template <bool kColumns>
void launch_values(CudaReduce kind, const ReduceTask& task) {
  switch (kind) {
    case CudaReduce::sum:
      return launch_reduction_of<SumOp, kColumns>(task);
    case CudaReduce::prod:
      return launch_reduction_of<ProdOp, kColumns>(task);
    default:
      return launch_reduction_of<CentredOp, kColumns, false>(task);
  }
}

bool is_extreme(CudaReduce kind) {
  return kind == CudaReduce::largest || kind == CudaReduce::any || kind == CudaReduce::all ||
         kind == CudaReduce::extreme;
}

}  // namespace

void launch_reduce_rows(CudaReduce kind, const ReduceTask& task) {
  is_extreme(kind) ? launch_extreme_rows(kind, task) : launch_values<false>(kind, task);
}
void launch_reduce_columns(CudaReduce kind, const ReduceTask& task) {
  is_extreme(kind) ? launch_extreme_columns(kind, task) : launch_values<true>(kind, task);
}

}  // namespace INGOT_ISA
}  // namespace ingot
