// CUDA unit: layer_norm and its gradients.
#include <ingot/kernels/cuda/column_lanes.cuh>
#include <ingot/kernels/cuda/reduce_task.h>
#include <ingot/kernels/cuda/row_kernels.cuh>
#include <ingot/kernels/cuda/row_lane_formulas.cuh>

namespace ingot {
inline namespace INGOT_ISA {

namespace {

// f(the operand), or f(Absent()).
template <class S, int kSlots, class F>
__device__ __forceinline__ void with_parameters(const LaneOf<kSlots>& at, const RowTask& p,
                                                const void* parameters, F f) {
  using Load = RowLoad<S, (kSlots > 0)>;
  if (parameters != nullptr) {
    f(RowReads<kSlots, Load>{at, {static_cast<const S*>(parameters), p.vectors}});
  } else {
    f(Absent());
  }
}

template <class S, int kSlots>
struct LayerNorm {
  using Task = LayerNormTask;
  using knows_warps = void;
  static constexpr int held = 2;
  static __device__ __forceinline__ void run(const LaneOf<kSlots>& at, Int64 row, const Task& p) {
    using T = typename ComputeTypeOf<S>::type;
    const auto x = row_values<S, kSlots>(at, p, p.in[0], row);
    const auto m = moments_lanes<kSlots>(at, x, Num<T>(p.eps));
    const auto store = store_row<S, kSlots>(p, row);
    with_parameters<S, kSlots>(at, p, p.weight, [&](auto weight) {
      with_parameters<S, kSlots>(at, p, p.bias, [&](auto bias) {
        layer_norm_row(x, weight, bias, m, to_store(at, x, store));
      });
    });
    if (at.lane != 0 || row >= p.rows) return;
    static_cast<T*>(p.mean)[row] = m.mean.v;
    static_cast<T*>(p.rstd)[row] = m.rstd.v;
  }
};

template <class S, int kSlots>
struct LayerNormBackward {
  using Task = LayerNormTask;
  static constexpr int held = 3;
  static __device__ __forceinline__ void run(const LaneOf<kSlots>& at, Int64 row, const Task& p) {
    using T = typename ComputeTypeOf<S>::type;
    rows::RowMoments<T> m{Num<T>(0), Num<T>(0)};
    if (row < p.rows) {
      m.mean = Num<T>(static_cast<const T*>(p.mean)[row]);
      m.rstd = Num<T>(static_cast<const T*>(p.rstd)[row]);
    }
    const auto dy = row_values<S, kSlots>(at, p, p.in[0], row),
               x = row_values<S, kSlots>(at, p, p.in[1], row);
    const auto store = store_row<S, kSlots>(p, row);
    if (p.weight != nullptr) {
      using Load = RowLoad<S, (kSlots > 0)>;
      const Load weight{static_cast<const S*>(p.weight), p.vectors};
      layer_norm_backward_row<0>(at, dy, x, RowReads<kSlots, Load>{at, weight}, m,
                                 to_store(at, dy, store));
    } else {
      layer_norm_backward_row<1>(at, dy, x, Absent(), m, to_store(at, dy, store));
    }
  }
};

// The columns of dy * h and of dy, h = (x - mean) * rstd of their row.
template <class S, bool kWhole>
struct NormTerms {
  using T = typename ComputeTypeOf<S>::type;
  using R = TwoSums<T>;
  static constexpr int width = RowLoad<S, kWhole>::width;
  static constexpr bool ahead = false;
  RowLoad<S, kWhole> dy, x;
  const T *mean, *rstd;
  Int64 cols;
  int left, lanes;

  __device__ __forceinline__ States<R, width> operator()(Int64 first, int u) const {
    const Int64 r = first + u * lanes;
    const auto g = dy(r * cols, Int64(left)), v = x(r * cols, Int64(left));
    const rows::RowMoments<T> m{Num<T>(mean[r]), Num<T>(rstd[r])};
    States<R, width> s;
#pragma unroll
    for (int e = 0; e < width; ++e) {
      s.v[e] = {rows::layer_norm_weight_term(g.v[e], v.v[e], m), g.v[e]};
    }
    return s;
  }
};

template <class S, bool kWhole>
__global__ void __launch_bounds__(kColumnThreads)
    norm_parameters_kernel(const NormParametersTask p, const ColumnGrid grid) {
  wait_for_previous();
  using Terms = NormTerms<S, kWhole>;
  using T = typename Terms::T;
  constexpr int width = Terms::width;
  const ColumnBlock at(p.rows, p.pieces, p.piece, grid, width);
  const Int64 rest = p.cols - at.col;
  const int left = rest < 0 ? 0 : rest < width ? static_cast<int>(rest) : width;
  const Terms terms{{static_cast<const S*>(p.dy) + at.col, p.vectors},
                    {static_cast<const S*>(p.x) + at.col, p.vectors},
                    static_cast<const T*>(p.mean),
                    static_cast<const T*>(p.rstd),
                    p.cols,
                    left,
                    at.rows.lanes};
  const auto sums = reduce_column<TwoSums<T>, width>(at.rows, terms);
  if (at.rows.lane != 0) return;
#pragma unroll
  for (int e = 0; e < width; ++e) {
    if (e >= left) continue;
    const Int64 place = at.piece * 2 * p.cols + at.col + e;
    store_as(p.weight, place, p.out_dtype, sums.v[e].a);
    store_as(p.bias, place, p.out_dtype, sums.v[e].b);
  }
}

template <class S>
void launch_parameters(const NormParametersTask& task) {
  constexpr int width = 16 / sizeof(S);
  const ColumnGrid grid(task.cols, width);
  const bool whole = task.vectors && task.cols % width == 0;
  launch(whole ? norm_parameters_kernel<S, true> : norm_parameters_kernel<S, false>,
         {task.pieces * grid.strips, kColumnThreads}, task, grid);
}

}  // namespace

void launch_norm_parameters(const NormParametersTask& task) {
  switch (static_cast<DType>(task.storage)) {
    case DType::f64:
      return launch_parameters<double>(task);
    case DType::f16:
      return launch_parameters<Half>(task);
    case DType::bf16:
      return launch_parameters<BFloat16>(task);
    default:
      return launch_parameters<float>(task);
  }
}

void launch_layer_norm(const LayerNormTask& task) { launch_row_formula_for<LayerNorm>(task); }
void launch_layer_norm_backward(const LayerNormTask& task) {
  launch_row_formula_for<LayerNormBackward>(task);
}

}  // namespace INGOT_ISA
}  // namespace ingot
