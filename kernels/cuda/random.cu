// CUDA unit: uniform, normal and integer draws, and dropout. A thread draws one Philox block, and
// with it four elements, or two of 64 bits.
#include <ingot/kernels/cuda/random_task.h>
#include <ingot/kernels/cuda/storage.cuh>
#include <ingot/kernels/ops/philox.h>

namespace ingot {
inline namespace INGOT_ISA {

namespace {

constexpr int kRandomThreads = 256;

using philox::Word;
using philox::Word64;

// What a block of words becomes: `per_block` values of type T.
struct UniformFloats {
  using T = float;
  static constexpr int per_block = 4;
  float low, width, last;
  __device__ __forceinline__ float one(Word w) const {
    const float y = low + philox::uniform(w) * width;
    return y > last ? last : y;
  }
  __device__ __forceinline__ void make(const philox::Block& b, Num<float>* y) const {
    y[0] = Num<float>(one(b.w0));
    y[1] = Num<float>(one(b.w1));
    y[2] = Num<float>(one(b.w2));
    y[3] = Num<float>(one(b.w3));
  }
};

struct UniformDoubles {
  using T = double;
  static constexpr int per_block = 2;
  double low, width, last;
  __device__ __forceinline__ double one(Word64 w) const {
    const double y = low + philox::uniform(w) * width;
    return y > last ? last : y;
  }
  __device__ __forceinline__ void make(const philox::Block& b, Num<double>* y) const {
    y[0] = Num<double>(one(philox::pair(b.w0, b.w1)));
    y[1] = Num<double>(one(philox::pair(b.w2, b.w3)));
  }
};

struct NormalFloats {
  using T = float;
  static constexpr int per_block = 4;
  float mean, deviation;
  __device__ __forceinline__ void make(const philox::Block& b, Num<float>* y) const {
    const philox::NormalPair<float> first = philox::normal(b.w0, b.w1);
    const philox::NormalPair<float> second = philox::normal(b.w2, b.w3);
    y[0] = Num<float>(mean + deviation * first.first);
    y[1] = Num<float>(mean + deviation * first.second);
    y[2] = Num<float>(mean + deviation * second.first);
    y[3] = Num<float>(mean + deviation * second.second);
  }
};

struct NormalDoubles {
  using T = double;
  static constexpr int per_block = 2;
  double mean, deviation;
  __device__ __forceinline__ void make(const philox::Block& b, Num<double>* y) const {
    const philox::NormalPair<double> z =
        philox::normal(philox::pair(b.w0, b.w1), philox::pair(b.w2, b.w3));
    y[0] = Num<double>(mean + deviation * z.first);
    y[1] = Num<double>(mean + deviation * z.second);
  }
};

struct Integers32 {
  using T = Int64;
  static constexpr int per_block = 4;
  Int64 low;
  Word64 width;
  __device__ __forceinline__ Num<Int64> one(Word w) const {
    return Num<Int64>(Word64(low) + philox::below(w, width));
  }
  __device__ __forceinline__ void make(const philox::Block& b, Num<Int64>* y) const {
    y[0] = one(b.w0);
    y[1] = one(b.w1);
    y[2] = one(b.w2);
    y[3] = one(b.w3);
  }
};

struct Integers64 {
  using T = Int64;
  static constexpr int per_block = 2;
  Int64 low;
  Word64 width;
  __device__ __forceinline__ Num<Int64> one(Word64 w) const {
    return Num<Int64>(Word64(low) + philox::below(w, width));
  }
  __device__ __forceinline__ void make(const philox::Block& b, Num<Int64>* y) const {
    y[0] = one(philox::pair(b.w0, b.w1));
    y[1] = one(philox::pair(b.w2, b.w3));
  }
};

// Up to N values, cast to what is stored, by one instruction where it can be.
template <class S, int N, class T>
__device__ __forceinline__ void store_run(void* out, Int64 i, const Num<T>* y, int count) {
  S* to = static_cast<S*>(out) + i;
  Pack<S, N> pack;
  for (int k = 0; k < N; ++k) {
    if constexpr (is_same_type<S, Half> || is_same_type<S, BFloat16>) {
      pack.v[k] = narrow<S>(convert<float>(y[k]));
    } else {
      pack.v[k] = convert<S>(y[k]).v;
    }
  }
  if (count == N && reinterpret_cast<unsigned long long>(to) % sizeof(pack) == 0) {
    *reinterpret_cast<Pack<S, N>*>(to) = pack;
  } else {
    // Unrolled, so that the values stay in registers.
#pragma unroll
    for (int k = 0; k < N; ++k) {
      if (k < count) to[k] = pack.v[k];
    }
  }
}

template <class Draw>
__global__ void __launch_bounds__(kRandomThreads)
    fill_kernel(const RandomFill fill, const Draw draw) {
  wait_for_previous();
  constexpr int N = Draw::per_block;
  using T = typename Draw::T;
  const Int64 block = Int64(blockIdx.x) * kRandomThreads + threadIdx.x, i = block * N;
  if (i >= fill.n) return;
  Num<T> y[N];
  draw.make(philox::draw(Word64(fill.stream.seed), Word64(fill.stream.position) + Word64(block)),
            y);
  const int count = fill.n - i < N ? int(fill.n - i) : N;
  const DType dtype = static_cast<DType>(fill.dtype);
  if constexpr (is_same_type<T, Int64>) {
    switch (dtype) {
      case DType::i64:
        return store_run<Int64, N>(fill.out, i, y, count);
      case DType::i32:
        return store_run<int, N>(fill.out, i, y, count);
      case DType::u8:
        return store_run<unsigned char, N>(fill.out, i, y, count);
      case DType::boolean:
        return store_run<bool, N>(fill.out, i, y, count);
      case DType::f64:
        return store_run<double, N>(fill.out, i, y, count);
      default:
        break;
    }
  }
  if constexpr (is_same_type<T, double>) {
    store_run<double, N>(fill.out, i, y, count);
  } else {
    switch (dtype) {
      case DType::f16:
        return store_run<Half, N>(fill.out, i, y, count);
      case DType::bf16:
        return store_run<BFloat16, N>(fill.out, i, y, count);
      default:
        return store_run<float, N>(fill.out, i, y, count);
    }
  }
}

template <class Draw>
void launch_fill(const RandomFill& fill, const Draw& draw) {
  const Int64 blocks = (fill.n + Draw::per_block - 1) / Draw::per_block;
  launch(fill_kernel<Draw>, {(blocks + kRandomThreads - 1) / kRandomThreads, kRandomThreads}, fill,
         draw);
}

// Where element i of the logical order lies in y, mask and x.
struct DropoutPlaces {
  FastDivisor sizes[DropoutTask::kAxes];
  bool small;  // elements are numbered in 32 bits

  explicit DropoutPlaces(const DropoutTask& task) : small(task.n < (Int64(1) << 31)) {
    for (int d = 0; d < task.dim && small; ++d) sizes[d] = FastDivisor(unsigned(task.sizes[d]));
  }
  __device__ __forceinline__ void offsets(const DropoutTask& task, Int64 i, Int64 (&at)[3]) const {
    at[0] = at[1] = at[2] = 0;
    Int64 rest = i;
#pragma unroll 1
    for (int d = 0; d < task.dim; ++d) {
      const Int64 outer = small ? Int64(sizes[d].quotient(Unsigned(rest))) : rest / task.sizes[d];
      const Int64 place = rest - outer * task.sizes[d];
      for (int k = 0; k < 3; ++k) at[k] += place * task.strides[d][k];
      rest = outer;
    }
  }
};

// Places: DropoutPlaces, or Dense where all three lie in their logical order.
struct Dense {
  explicit Dense(const DropoutTask&) {}
};

template <class S, class T, class Places>
__global__ void __launch_bounds__(kRandomThreads)
    dropout_kernel(const DropoutTask task, const Places places) {
  wait_for_previous();
  constexpr bool dense = is_same_type<Places, Dense>;
  const Int64 block = Int64(blockIdx.x) * kRandomThreads + threadIdx.x, i = block * 4;
  if (i >= task.n) return;
  const philox::Block b =
      philox::draw(Word64(task.stream.seed), Word64(task.stream.position) + Word64(block));
  const bool keep[4] = {(b.w0 >> 8) >= task.threshold, (b.w1 >> 8) >= task.threshold,
                        (b.w2 >> 8) >= task.threshold, (b.w3 >> 8) >= task.threshold};
  const int count = task.n - i < 4 ? int(task.n - i) : 4;
  const Num<T> scale(task.scale);
  const S* x = static_cast<const S*>(task.x);
  S* y = static_cast<S*>(task.y);
  bool* mask = static_cast<bool*>(task.mask);
  const auto value = [&](S from, bool kept) {
    return narrow<S>(kept ? widen(from) * scale : Num<T>(0));
  };
  const auto aligned = [](const void* p, unsigned size) {
    return reinterpret_cast<unsigned long long>(p) % size == 0;
  };
  if (dense && count == 4 && aligned(x, 4 * sizeof(S)) && aligned(y, 4 * sizeof(S)) &&
      aligned(mask, 4)) {
    const Pack<S, 4> from = *reinterpret_cast<const Pack<S, 4>*>(x + i);
    Pack<S, 4> to;
    Pack<bool, 4> kept;
    for (int k = 0; k < 4; ++k) {
      to.v[k] = value(from.v[k], keep[k]);
      kept.v[k] = keep[k];
    }
    *reinterpret_cast<Pack<S, 4>*>(y + i) = to;
    *reinterpret_cast<Pack<bool, 4>*>(mask + i) = kept;
    return;
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    if (k >= count) break;
    Int64 at[3] = {i + k, i + k, i + k};
    if constexpr (!dense) places.offsets(task, i + k, at);
    y[at[0]] = value(x[at[2]], keep[k]);
    mask[at[1]] = keep[k];
  }
}

template <class S, class T>
void launch_dropout_of(const DropoutTask& task) {
  const Int64 blocks = ((task.n + 3) / 4 + kRandomThreads - 1) / kRandomThreads;
  if (task.dense) {
    launch(dropout_kernel<S, T, Dense>, {blocks, kRandomThreads}, task, Dense(task));
  } else {
    launch(dropout_kernel<S, T, DropoutPlaces>, {blocks, kRandomThreads}, task,
           DropoutPlaces(task));
  }
}

}  // namespace

void launch_uniform(const RandomFill& fill, double low, double width, double last) {
  if (static_cast<DType>(fill.dtype) == DType::f64) {
    launch_fill(fill, UniformDoubles{low, width, last});
  } else {
    launch_fill(fill, UniformFloats{float(low), float(width), float(last)});
  }
}

void launch_normal(const RandomFill& fill, double mean, double deviation) {
  if (static_cast<DType>(fill.dtype) == DType::f64) {
    launch_fill(fill, NormalDoubles{mean, deviation});
  } else {
    launch_fill(fill, NormalFloats{float(mean), float(deviation)});
  }
}

void launch_integers(const RandomFill& fill, Int64 low, Word64 width, bool wide) {
  if (wide) {
    launch_fill(fill, Integers64{low, width});
  } else {
    launch_fill(fill, Integers32{low, width});
  }
}

void launch_dropout(const DropoutTask& task) {
  switch (static_cast<DType>(task.dtype)) {
    case DType::f64:
      return launch_dropout_of<double, double>(task);
    case DType::f16:
      return launch_dropout_of<Half, float>(task);
    case DType::bf16:
      return launch_dropout_of<BFloat16, float>(task);
    default:
      return launch_dropout_of<float, float>(task);
  }
}

}  // namespace INGOT_ISA
}  // namespace ingot
