// From an elementwise row to its CUDA kernels.
// Owns: the dense kernel (16-byte vectors, one a thread) and the strided one (any strides and
// casts). Both compute each element by Row::value alone, so they give the same bits. Must not know:
// how operands are brought into this form (elementwise.cpp).
#pragma once

#include <ingot/kernels/cuda/elementwise_task.h>
#include <ingot/kernels/cuda/storage.cuh>
#include <ingot/kernels/ops/all_rows.h>

namespace ingot {
inline namespace INGOT_ISA {

// Whether operand 0 of a row is the mask of where().
template <class Row>
inline constexpr bool cuda_takes_mask = requires {
  Row::condition_first;
};
template <class Row, int K>
inline constexpr bool cuda_takes_mask<GradRow<Row, K>> = cuda_takes_mask<Row> &&
                                                         (GradRow<Row, K>::uses & 1u) != 0;

template <bool condition, class A, class B>
struct ChooseType {
  using type = A;
};
template <class A, class B>
struct ChooseType<false, A, B> {
  using type = B;
};

template <class Row, class T>
using RowResult =
    typename ChooseType<rule_of<Row> == DTypeRule::boolean || is_same_type<T, bool>, bool, T>::type;

template <int... K>
struct Places {};
template <int N, int... K>
struct MakePlaces : MakePlaces<N - 1, N - 1, K...> {};
template <int... K>
struct MakePlaces<0, K...> {
  using type = Places<K...>;
};
template <int N>
using PlacesTo = typename MakePlaces<N>::type;

template <class T>
INGOT_INLINE Num<T> scalar_value(const char* bytes) {
  return Num<T>(*reinterpret_cast<const T*>(bytes));
}
template <>
INGOT_INLINE Num<bool> scalar_value<bool>(const char* bytes) {
  return Num<bool>(*bytes != 0);
}

inline constexpr int kElementwiseThreads = 256;

// S is what lies in memory, T what is computed with.
template <int N>
struct DenseParams {
  struct Input {
    const void* data;
    bool repeated;
    alignas(8) char scalar[8];
  };
  void* out;
  Input in[N];
  Int64 n;
  bool vectors;  // all addresses allow whole vectors
};

// One operand's vector of W elements from i on, or its single value W times.
template <class S, class T, int W>
struct DenseInput {
  Num<T> v[W];

  template <class Input>
  __device__ __forceinline__ DenseInput(const Input& in, Int64 i, int count) {
    if (in.repeated) {
      const Num<T> value = in.data == nullptr ? scalar_value<T>(in.scalar)
                                              : widen(static_cast<const S*>(in.data)[0]);
      for (int l = 0; l < W; ++l) v[l] = value;
    } else if (count == W) {
      const Pack<S, W> pack =
          *reinterpret_cast<const Pack<S, W>*>(static_cast<const S*>(in.data) + i);
      for (int l = 0; l < W; ++l) v[l] = widen(pack.v[l]);
    } else {
      for (int l = 0; l < W; ++l) v[l] = Num<T>(0);
      for (int l = 0; l < count; ++l) v[l] = widen(static_cast<const S*>(in.data)[i + l]);
    }
  }
};

template <class Row, class T, class S>
struct DenseKernel {
  static constexpr int arity = arity_of<Row>;
  static constexpr int width = 16 / sizeof(S);
  using Result = RowResult<Row, T>;
  using StoredResult = typename ChooseType<is_same_type<Result, T>, S, Result>::type;

  template <int K>
  using In = typename ChooseType<K == 0 && cuda_takes_mask<Row>, DenseInput<bool, bool, width>,
                                 DenseInput<S, T, width>>::type;

  template <class... Inputs>
  static __device__ __forceinline__ void compute(StoredResult* out, int count,
                                                 const Inputs&... in) {
    Pack<StoredResult, width> y;
    for (int l = 0; l < width; ++l) y.v[l] = narrow<StoredResult>(Row::value(in.v[l]...));
    if (count == width) {
      *reinterpret_cast<Pack<StoredResult, width>*>(out) = y;
    } else {
      for (int l = 0; l < count; ++l) out[l] = y.v[l];
    }
  }

  template <int... K>
  static __device__ __forceinline__ void run(const DenseParams<arity>& p, Int64 i, int count,
                                             Places<K...>) {
    compute(static_cast<StoredResult*>(p.out) + i, count, In<K>(p.in[K], i, count)...);
  }
};

template <class Row, class T, class S>
__global__ void __launch_bounds__(kElementwiseThreads)
    dense_kernel(const DenseParams<arity_of<Row>> p) {
  using K = DenseKernel<Row, T, S>;
  const Int64 thread = Int64(blockIdx.x) * kElementwiseThreads + threadIdx.x;
  if (p.vectors) {
    const Int64 i = thread * K::width;
    if (i >= p.n) return;
    const Int64 left = p.n - i;
    K::run(p, i, left < K::width ? int(left) : K::width, PlacesTo<K::arity>{});
  } else if (thread < p.n) {
    K::run(p, thread, 1, PlacesTo<K::arity>{});
  }
}

template <class Row, class T, class S>
void launch_dense(const ElementwiseTask& task) {
  constexpr int width = 16 / sizeof(S);
  DenseParams<arity_of<Row>> p;
  p.out = task.out.data;
  p.n = task.n;
  const auto aligned = [](const void* data, int item) {
    return reinterpret_cast<unsigned long long>(data) % (static_cast<unsigned>(item) * width) == 0;
  };
  p.vectors = aligned(task.out.data, item_size(static_cast<DType>(task.out.dtype)));
  for (int k = 0; k < arity_of<Row>; ++k) {
    const ElementwiseTask::Operand& in = task.in[k];
    p.in[k].data = in.data;
    p.in[k].repeated = in.repeated;
    for (int b = 0; b < 8; ++b) p.in[k].scalar[b] = in.scalar[b];
    if (!in.repeated && !aligned(in.data, item_size(static_cast<DType>(in.dtype)))) {
      p.vectors = false;
    }
  }
  const Int64 threads = p.vectors ? (task.n + width - 1) / width : task.n;
  launch(dense_kernel<Row, T, S>,
         {(threads + kElementwiseThreads - 1) / kElementwiseThreads, kElementwiseThreads}, p);
}

template <int N>
struct StridedParams {
  void* data[N + 1];  // the result first
  int dtype[N + 1];
  unsigned n;
  int dim;
  FastDivisor sizes[kTaskAxes];
  int strides[kTaskAxes][N + 1];
  alignas(8) char scalar[N][8];
};

template <class Row, class T>
struct StridedKernel {
  static constexpr int arity = arity_of<Row>;
  template <int K>
  using In = typename ChooseType<K == 0 && cuda_takes_mask<Row>, bool, T>::type;

  template <int K>
  static __device__ __forceinline__ Num<In<K>> load(const StridedParams<arity>& p,
                                                    const Int64* offset) {
    if (p.data[1 + K] == nullptr) return scalar_value<In<K>>(p.scalar[K]);
    return load_as<In<K>>(p.data[1 + K], offset[1 + K], p.dtype[1 + K]);
  }

  template <int... K>
  static __device__ __forceinline__ void run(const StridedParams<arity>& p, const Int64* offset,
                                             Places<K...>) {
    store_as<RowResult<Row, T>>(p.data[0], offset[0], p.dtype[0],
                                Row::value(load<K>(p, offset)...));
  }
};

template <class Row, class T>
__global__ void __launch_bounds__(kElementwiseThreads)
    strided_kernel(const StridedParams<arity_of<Row>> p) {
  constexpr int arity = arity_of<Row>;
  const unsigned i = blockIdx.x * kElementwiseThreads + threadIdx.x;
  if (i >= p.n) return;
  Int64 offset[arity + 1] = {};
  unsigned rest = i;
#pragma unroll 1
  for (int d = 0; d < p.dim; ++d) {
    const unsigned outer = p.sizes[d].quotient(rest);
    const int index = int(rest - outer * p.sizes[d].value());
    for (int k = 0; k <= arity; ++k) offset[k] += Int64(index) * p.strides[d][k];
    rest = outer;
  }
  StridedKernel<Row, T>::run(p, offset, PlacesTo<arity>{});
}

template <class Row, class T>
void launch_strided(const ElementwiseTask& task) {
  StridedParams<arity_of<Row>> p;
  p.n = static_cast<unsigned>(task.n);
  p.dim = task.dim;
  p.data[0] = task.out.data;
  p.dtype[0] = task.out.dtype;
  for (int d = 0; d < task.dim; ++d) {
    p.sizes[d] = FastDivisor(task.sizes[d]);
    p.strides[d][0] = static_cast<int>(task.out.strides[d]);
  }
  for (int k = 0; k < arity_of<Row>; ++k) {
    const ElementwiseTask::Operand& in = task.in[k];
    p.data[1 + k] = in.data;
    p.dtype[1 + k] = in.dtype;
    for (int d = 0; d < task.dim; ++d) p.strides[d][1 + k] = static_cast<int>(in.strides[d]);
    for (int b = 0; b < 8; ++b) p.scalar[k][b] = in.scalar[b];
  }
  launch(strided_kernel<Row, T>,
         {(task.n + kElementwiseThreads - 1) / kElementwiseThreads, kElementwiseThreads}, p);
}

template <class Row, class T>
constexpr ElementwiseKernels kernels_of_row() {
  if constexpr (contains(dtypes_of<Row>, kind_of<T>)) {
    if constexpr (is_same_type<T, float>) {
      return {{launch_dense<Row, float, float>, launch_dense<Row, float, Half>,
               launch_dense<Row, float, BFloat16>},
              launch_strided<Row, float>};
    } else {
      return {{launch_dense<Row, T, T>, nullptr, nullptr}, launch_strided<Row, T>};
    }
  } else {
    return {};
  }
}

// The kernels of a list of rows for one compute type, by the row's place in the list.
template <class T, class List>
struct ElementwiseTable;
template <class T, class... Row>
struct ElementwiseTable<T, RowList<Row...>> {
  static constexpr int size = sizeof...(Row);
  ElementwiseKernels at[size] = {kernels_of_row<Row, T>()...};
};

}  // namespace INGOT_ISA
}  // namespace ingot
