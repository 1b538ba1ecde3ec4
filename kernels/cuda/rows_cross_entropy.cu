// CUDA unit: cross_entropy of each row, and its gradient. A target that is no class is reported;
// its row has the loss, the weight and the gradient 0.
#include <ingot/kernels/cuda/fault.cuh>
#include <ingot/kernels/cuda/row_kernels.cuh>
#include <ingot/kernels/cuda/row_lane_formulas.cuh>

namespace ingot {
inline namespace INGOT_ISA {

namespace {

enum class Target : int { none, ignored, wrong, present };

// The target of a row, if there is such a row.
__device__ __forceinline__ Int64 load_target(const CrossEntropyTask& p, Int64 row) {
  return row < p.rows ? p.target[row] : 0;
}
// What it is. Reported by one lane.
template <class Lane>
__device__ __forceinline__ Target kind_of(const CrossEntropyTask& p, const Lane& at, Int64 row,
                                          Int64 target) {
  if (row >= p.rows) return Target::none;
  if (target == p.ignored) return Target::ignored;
  if (target >= 0 && target < p.n) return Target::present;
  if (at.lane == 0) report_fault(p.fault, target, p.n);
  return Target::wrong;
}

// What sum_on_device() makes of losses and weights, by the first warp of the block that wrote them.
template <class T>
__device__ __forceinline__ void add_up(const CrossEntropyTask& p) {
  __syncthreads();
  if (threadIdx.x >= kWarp) return;
  using R = TwoSums<T>;
  using Load = RowLoad<T, false>;
  const int lanes = row_shape(p.rows, Load::width).lanes, thread = static_cast<int>(threadIdx.x);
  const int n = thread < lanes ? static_cast<int>(p.rows) : 0, i = thread * Load::width;
  const auto loss = Load{static_cast<const T*>(p.loss), false}(i, n - i),
             weight = Load{static_cast<const T*>(p.target_weight), false}(i, n - i);
  States<R, Load::width> s;
#pragma unroll
  for (int e = 0; e < Load::width; ++e) s.v[e] = {loss.v[e], weight.v[e]};
  const auto sum =
      reduce_lanes<R, 3>(R::merge(R::identity(), s.template fold<RowFill::any>(n - i)), lanes);
  if (thread != 0) return;
  static_cast<T*>(p.weight_total)[0] = sum.b.v;
  if (p.loss_total == nullptr) return;
  store_as(p.loss_total, 0, p.total_dtype, p.mean ? sum.a / sum.b : sum.a);
}

template <class S, int kSlots>
struct CrossEntropy {
  using Task = CrossEntropyTask;
  static constexpr int held = 1;
  static __device__ __forceinline__ void run(const LaneOf<kSlots>& at, Int64 row, const Task& p) {
    using T = typename ComputeTypeOf<S>::type;
    const auto x = load_row<S, kSlots>(p, p.in[0], row);
    const RowLoad<S, (kSlots > 0)> weight{static_cast<const S*>(p.weight), p.vectors};
    const Int64 target = load_target(p, row);
    Target kind = Target::none;
    TargetValues<T> of_target{Num<T>(0), Num<T>(0)};
    const auto look = [&] {
      kind = kind_of(p, at, row, target);
      if (kind == Target::present) {
        of_target = {widen(x.x[target]), weight.given() ? widen(weight.x[target]) : Num<T>(1)};
      }
      return of_target;
    };
    const rows::RowLoss<T> result =
        cross_entropy_lanes<kSlots>(at, x, look, weight, Num<T>(p.smoothing));
    if (at.lane == 0 && kind != Target::none) {
      static_cast<T*>(p.loss)[row] = kind == Target::present ? result.loss.v : T(0);
      static_cast<T*>(p.target_weight)[row] = of_target.weight.v;
      static_cast<T*>(p.logsumexp)[row] = result.logsumexp.v;
    }
    if (p.at_once) add_up<T>(p);
  }
};

template <class S, int kSlots>
struct CrossEntropyBackward {
  using Task = CrossEntropyTask;
  static constexpr int held = 1;
  static __device__ __forceinline__ void run(const LaneOf<kSlots>& at, Int64 row, const Task& p) {
    using T = typename ComputeTypeOf<S>::type;
    const auto element = [](const void* x, Int64 i) { return Num<T>(static_cast<const T*>(x)[i]); };
    const auto x = load_row<S, kSlots>(p, p.in[0], row);
    const auto dx = store_row<S, kSlots>(p, row);
    const RowLoad<S, (kSlots > 0)> weight{static_cast<const S*>(p.weight), p.vectors};
    const Int64 target = load_target(p, row);
    const Target kind = kind_of(p, at, row, target);
    if (kind == Target::none) return;
    if (kind != Target::present) {
      RowVector<T, x.width> zero;
      for (int e = 0; e < x.width; ++e) zero.v[e] = Num<T>(0);
      each_vector<kSlots>(at, [&](int, auto i) {
        if (i < at.n) dx(i, at.n - i, zero);
      });
      return;
    }
    Num<T> g = element(p.dy, p.dy_each ? row : 0);
    if (p.divisor != nullptr) g = g / element(p.divisor, 0);
    const Num<T> target_weight = weight.given() ? widen(weight.x[target]) : Num<T>(1);
    cross_entropy_backward_lanes<kSlots>(at, x, target, weight, target_weight, Num<T>(p.smoothing),
                                         weight.given() ? element(p.weight_sum, 0) : Num<T>(p.n),
                                         element(p.logsumexp, row), g, dx);
  }
};

}  // namespace

void launch_cross_entropy(const CrossEntropyTask& task) {
  launch_row_formula_for<CrossEntropy>(task);
}
void launch_cross_entropy_backward(const CrossEntropyTask& task) {
  launch_row_formula_for<CrossEntropyBackward, false>(task);
}

}  // namespace INGOT_ISA
}  // namespace ingot
