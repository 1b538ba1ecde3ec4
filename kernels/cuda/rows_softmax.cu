// CUDA unit: softmax, log_softmax, their gradients, logsumexp, var. Those that are seldom worth
// their time of compilation have no kernels that hold rows in registers.
#include <ingot/kernels/cuda/row_kernels.cuh>
#include <ingot/kernels/cuda/row_lane_formulas.cuh>

namespace ingot {
inline namespace INGOT_ISA {

namespace {

template <class S, int kSlots>
struct Softmax {
  using Task = RowTask;
  using knows_warps = void;
  static constexpr int held = 1;
  static __device__ __forceinline__ void run(const LaneOf<kSlots>& at, Int64 row, const Task& p) {
    auto x = row_values<S, kSlots>(at, p, p.in[0], row);
    const auto store = store_row<S, kSlots>(p, row);
    softmax_row<0>(at, x, to_store(at, x, store));
  }
};

template <class S, int kSlots>
struct LogSoftmax {
  using Task = RowTask;
  static constexpr int held = 1;
  static __device__ __forceinline__ void run(const LaneOf<kSlots>& at, Int64 row, const Task& p) {
    auto x = row_values<S, kSlots>(at, p, p.in[0], row);
    const auto store = store_row<S, kSlots>(p, row);
    log_softmax_row<0>(at, x, to_store(at, x, store));
  }
};

template <class S, int kSlots>
struct SoftmaxBackward {
  using Task = RowTask;
  static constexpr int held = 3;
  static __device__ __forceinline__ void run(const LaneOf<kSlots>& at, Int64 row, const Task& p) {
    const auto dy = row_values<S, kSlots>(at, p, p.in[0], row),
               y = row_values<S, kSlots>(at, p, p.in[1], row);
    const auto store = store_row<S, kSlots>(p, row);
    softmax_backward_row<0>(at, dy, y, to_store(at, dy, store));
  }
};

template <class S, int kSlots>
struct LogSoftmaxBackward {
  using Task = RowTask;
  static constexpr int held = 3;
  static __device__ __forceinline__ void run(const LaneOf<kSlots>& at, Int64 row, const Task& p) {
    const auto dy = row_values<S, kSlots>(at, p, p.in[0], row),
               y = row_values<S, kSlots>(at, p, p.in[1], row);
    const auto store = store_row<S, kSlots>(p, row);
    log_softmax_backward_row<0>(at, dy, y, to_store(at, dy, store));
  }
};

template <class Lane, class N>
__device__ __forceinline__ void store_result(const Lane& at, Int64 row, const RowValueTask& p,
                                             N value) {
  if (at.lane == 0 && row < p.rows) store_as(p.result, row, p.result_dtype, value);
}

template <class S, int kSlots>
struct Logsumexp {
  using Task = RowValueTask;
  static constexpr int held = 1;
  static __device__ __forceinline__ void run(const LaneOf<kSlots>& at, Int64 row, const Task& p) {
    store_result(at, row, p, logsumexp_lanes<kSlots>(at, load_row<S, kSlots>(p, p.in[0], row)));
  }
};

template <class S, int kSlots>
struct Variance {
  using Task = RowValueTask;
  static constexpr int held = 1;
  static __device__ __forceinline__ void run(const LaneOf<kSlots>& at, Int64 row, const Task& p) {
    const auto x = row_values<S, kSlots>(at, p, p.in[0], row);
    const auto squares = squares_lanes<kSlots>(at, x, centre_lanes<kSlots>(at, x));
    store_result(at, row, p, squares / decltype(squares)(p.freedom));
  }
};

}  // namespace

void launch_softmax(const RowTask& task) { launch_row_formula_for<Softmax>(task); }
void launch_log_softmax(const RowTask& task) { launch_row_formula_for<LogSoftmax>(task); }
void launch_softmax_backward(const RowTask& task) { launch_row_formula_for<SoftmaxBackward>(task); }
void launch_log_softmax_backward(const RowTask& task) {
  launch_row_formula_for<LogSoftmaxBackward, false>(task);
}
void launch_logsumexp(const RowValueTask& task) { launch_row_formula_for<Logsumexp, false>(task); }
void launch_variance(const RowValueTask& task) { launch_row_formula_for<Variance>(task); }

}  // namespace INGOT_ISA
}  // namespace ingot
