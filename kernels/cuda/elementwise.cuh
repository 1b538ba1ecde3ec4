// From an elementwise row to its CUDA kernels.
// Owns: the vector kernel (16 bytes a thread and operand, along runs) and the strided one (any
// strides and casts). Both compute each element by Row::value alone, so they give the same bits.
// Must not know: how operands are brought into this form (elementwise.cpp).
#pragma once

#include <ingot/kernels/cuda/elementwise_task.h>
#include <ingot/kernels/cuda/narrow_rows.h>
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
struct VectorParams {
  struct Input {
    const void* data;  // nullptr: the value in `scalar`
    bool repeated;     // along the innermost axis
    alignas(8) char scalar[8];
  };
  void* out;
  Input in[N];
  Int64 n;
  bool vectors;  // all addresses allow whole vectors
  // The axes around runs of `run` vectors; none: one run of n elements.
  int outer;
  FastDivisor run;
  FastDivisor sizes[kTaskAxes];
  int strides[kTaskAxes][N + 1];
};

// One operand's vector of W elements at p, or one value W times.
template <class S, class T, int W>
struct VectorInput {
  Num<T> v[W];

  template <class Input>
  __device__ __forceinline__ VectorInput(const Input& in, Int64 offset, int count) {
    const S* p = static_cast<const S*>(in.data) + offset;
    if (in.repeated) {
      const Num<T> value = in.data == nullptr ? scalar_value<T>(in.scalar) : widen(*p);
      for (int l = 0; l < W; ++l) v[l] = value;
    } else if (count == W) {
      widen_all(*reinterpret_cast<const Pack<S, W>*>(p), v);
    } else {
      for (int l = 0; l < W; ++l) v[l] = Num<T>(0);
      for (int l = 0; l < count; ++l) v[l] = widen(p[l]);
    }
  }
};

template <class Row, class T, class S>
struct VectorKernel {
  static constexpr int arity = arity_of<Row>;
  static constexpr int width = 16 / sizeof(S);
  using Result = RowResult<Row, T>;
  using StoredResult = typename ChooseType<is_same_type<Result, T>, S, Result>::type;

  template <int K>
  using In = typename ChooseType<K == 0 && cuda_takes_mask<Row>, VectorInput<bool, bool, width>,
                                 VectorInput<S, T, width>>::type;

  template <class... Inputs>
  static __device__ __forceinline__ void compute(StoredResult* out, int count,
                                                 const Inputs&... in) {
    Num<Result> y[width];
    for (int l = 0; l < width; ++l) {
      if constexpr (NarrowRow<Row, S>::exists) {
        y[l] = NarrowRow<Row, S>::value(in.v[l]...);
      } else {
        y[l] = Row::value(in.v[l]...);
      }
    }
    const Pack<StoredResult, width> pack = narrow_all<StoredResult, width>(y);
    if (count == width) {
      *reinterpret_cast<Pack<StoredResult, width>*>(out) = pack;
    } else {
      for (int l = 0; l < count; ++l) out[l] = pack.v[l];
    }
  }

  template <int... K>
  static __device__ __forceinline__ void run(const VectorParams<arity>& p, const Int64* offset,
                                             int count, Places<K...>) {
    compute(static_cast<StoredResult*>(p.out) + offset[0], count,
            In<K>(p.in[K], offset[1 + K], count)...);
  }
};

template <class Row, class T, class S>
__global__ void __launch_bounds__(kElementwiseThreads)
    vector_kernel(const VectorParams<arity_of<Row>> p) {
  wait_for_previous();
  using K = VectorKernel<Row, T, S>;
  constexpr int arity = K::arity;
  const Int64 thread = Int64(blockIdx.x) * kElementwiseThreads + threadIdx.x;
  const Int64 first = p.vectors ? thread * K::width : thread;
  if (first >= p.n) return;
  Int64 offset[arity + 1];
  int count = p.vectors ? K::width : 1;
  if (p.outer == 0) {
    if (p.n - first < count) count = int(p.n - first);
    offset[0] = first;
    for (int k = 0; k < arity; ++k) offset[1 + k] = p.in[k].repeated ? 0 : first;
  } else {
    unsigned rest = p.run.quotient(unsigned(thread));
    const Int64 inside = Int64(unsigned(thread) - rest * p.run.value()) * K::width;
    offset[0] = inside;
    for (int k = 0; k < arity; ++k) offset[1 + k] = p.in[k].repeated ? 0 : inside;
#pragma unroll 1
    for (int d = 0; d < p.outer; ++d) {
      const unsigned outside = p.sizes[d].quotient(rest);
      const int index = int(rest - outside * p.sizes[d].value());
      for (int k = 0; k <= arity; ++k) offset[k] += Int64(index) * p.strides[d][k];
      rest = outside;
    }
  }
  K::run(p, offset, count, PlacesTo<arity>{});
}

// Of no row: compiled once for each number of operands and width.
template <int N, int width>
VectorParams<N> vector_params(const ElementwiseTask& task) {
  VectorParams<N> p;
  p.out = task.out.data;
  p.n = task.n;
  p.vectors = task.dim > 0 || vectors_fit(task, width);
  p.outer = task.dim > 0 ? task.dim - 1 : 0;
  if (task.dim > 0) p.run = FastDivisor(task.sizes[0] / width);
  for (int d = 0; d < p.outer; ++d) {
    p.sizes[d] = FastDivisor(task.sizes[d + 1]);
    p.strides[d][0] = static_cast<int>(task.out.strides[d + 1]);
  }
  for (int k = 0; k < N; ++k) {
    const ElementwiseTask::Operand& in = task.in[k];
    p.in[k].data = in.data;
    p.in[k].repeated = in.repeated;
    for (int b = 0; b < 8; ++b) p.in[k].scalar[b] = in.scalar[b];
    for (int d = 0; d < p.outer; ++d) p.strides[d][1 + k] = static_cast<int>(in.strides[d + 1]);
  }
  return p;
}

template <class Row, class T, class S>
void launch_vector(const ElementwiseTask& task) {
  constexpr int width = 16 / sizeof(S);
  const VectorParams<arity_of<Row>> p = vector_params<arity_of<Row>, width>(task);
  const Int64 threads = p.vectors ? (task.n + width - 1) / width : task.n;
  launch(vector_kernel<Row, T, S>,
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
    if constexpr (is_same_type<T, float> && NarrowRow<Row, BFloat16>::exists) {
      if (p.dtype[0] == static_cast<int>(DType::bf16) && p.dtype[1] == p.dtype[0]) {
        const auto y = NarrowRow<Row, BFloat16>::value(load<K>(p, offset)...);
        return store_as<float>(p.data[0], offset[0], p.dtype[0], y);
      }
    }
    store_as<RowResult<Row, T>>(p.data[0], offset[0], p.dtype[0],
                                Row::value(load<K>(p, offset)...));
  }
};

template <class Row, class T>
__global__ void __launch_bounds__(kElementwiseThreads)
    strided_kernel(const StridedParams<arity_of<Row>> p) {
  wait_for_previous();
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

template <int N>
StridedParams<N> strided_params(const ElementwiseTask& task) {
  StridedParams<N> p;
  p.n = static_cast<unsigned>(task.n);
  p.dim = task.dim;
  p.data[0] = task.out.data;
  p.dtype[0] = task.out.dtype;
  for (int d = 0; d < task.dim; ++d) {
    p.sizes[d] = FastDivisor(task.sizes[d]);
    p.strides[d][0] = static_cast<int>(task.out.strides[d]);
  }
  for (int k = 0; k < N; ++k) {
    const ElementwiseTask::Operand& in = task.in[k];
    p.data[1 + k] = in.data;
    p.dtype[1 + k] = in.dtype;
    for (int d = 0; d < task.dim; ++d) p.strides[d][1 + k] = static_cast<int>(in.strides[d]);
    for (int b = 0; b < 8; ++b) p.scalar[k][b] = in.scalar[b];
  }
  return p;
}

template <class Row, class T>
void launch_strided(const ElementwiseTask& task) {
  launch(strided_kernel<Row, T>,
         {(task.n + kElementwiseThreads - 1) / kElementwiseThreads, kElementwiseThreads},
         strided_params<arity_of<Row>>(task));
}

template <class Row, class T>
constexpr ElementwiseKernels kernels_of_row() {
  if constexpr (contains(dtypes_of<Row>, kind_of<T>)) {
    if constexpr (is_same_type<T, float>) {
      return {{launch_vector<Row, float, float>, launch_vector<Row, float, Half>,
               launch_vector<Row, float, BFloat16>},
              launch_strided<Row, float>};
    } else {
      return {{launch_vector<Row, T, T>, nullptr, nullptr}, launch_strided<Row, T>};
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
