#include <algorithm>

#include <ingot/kernels/cuda/one_launch.h>

namespace ingot {
inline namespace INGOT_ISA {

namespace {

// One of the two factors in a view.
struct Factor {
  i64 rows, columns;
  const void*& data;
  i64 &row, &column;
  Dims& steps;
};

// The stride with which all axes of the batch are walked as one; none: there is not one.
std::optional<i64> one_step(const Dims& batch, const Dims& steps) {
  i64 step = 0, walked = 1;
  for (int d = batch.size() - 1; d >= 0; --d) {
    if (batch[d] == 1) continue;
    if (walked == 1) {
      step = steps[d];
    } else if (steps[d] != step * walked) {
      return std::nullopt;
    }
    walked *= batch[d];
  }
  return step;
}

// The matrices in the batch's order, each as it was: by rows, or by columns.
void copy_matrices(const ProductView& v, Factor f, std::optional<DenseCopy>* copy) {
  const std::optional<Leading> lies = leading(f.rows, f.columns, f.row, f.column);
  const bool transposed = lies && lies->transposed;
  const bool shared = std::all_of(f.steps.begin(), f.steps.end(), [](i64 s) { return s == 0; });
  Meta m;
  m.dtype = v.dtype;
  m.device = kCUDA;
  for (int d = 0; !shared && d < v.batch.size(); ++d) {
    m.sizes.push_back(v.batch[d]);
    m.strides.push_back(f.steps[d]);
  }
  m.sizes.push_back(transposed ? f.columns : f.rows);
  m.strides.push_back(transposed ? f.column : f.row);
  m.sizes.push_back(transposed ? f.rows : f.columns);
  m.strides.push_back(transposed ? f.row : f.column);
  copy->emplace(BufferView{const_cast<void*>(f.data), &m}, v.dtype, DenseCopy::Copy::always);
  f.data = (*copy)->data();
  f.row = transposed ? 1 : f.columns;
  f.column = transposed ? f.rows : 1;
  if (shared) return;
  i64 step = f.rows * f.columns;
  for (int d = v.batch.size() - 1; d >= 0; --d) {
    f.steps[d] = step;
    step *= v.batch[d];
  }
}

// Inner axes of the batch along which b is the same are more rows of a, where they lie so.
void fold_into_rows(ProductView& v) {
  while (!v.batch.empty() && v.b_steps.back() == 0 && v.m > 1 &&
         v.a_steps.back() == v.m * v.a_row && v.d_steps.back() == v.m * v.n) {
    v.m *= v.batch.back();
    for (Dims* dims : {&v.batch, &v.a_steps, &v.b_steps, &v.d_steps}) dims->erase(dims->size() - 1);
  }
}

}  // namespace

OneLaunch::OneLaunch(const ProductView& view, bool by_library) : view_(view) {
  ProductView& v = view_;
  const auto fits = [&](const Factor& f) {
    const bool readable = !by_library || leading(f.rows, f.columns, f.row, f.column);
    return readable && one_step(v.batch, f.steps);
  };
  const auto a = [&] { return Factor{v.m, v.k, v.a, v.a_row, v.a_column, v.a_steps}; };
  const auto b = [&] { return Factor{v.k, v.n, v.b, v.b_row, v.b_column, v.b_steps}; };
  if (v.batch.size() > 1) fold_into_rows(v);
  if (!fits(a())) {
    copy_matrices(v, a(), &a_);
    fold_into_rows(v);
  }
  if (!fits(b())) copy_matrices(v, b(), &b_);
  const i64 a_step = *one_step(v.batch, v.a_steps), b_step = *one_step(v.batch, v.b_steps);
  v.batch = {v.batch.product()};
  v.a_steps = {a_step};
  v.b_steps = {b_step};
  v.d_steps = {v.m * v.n};
}

}  // namespace INGOT_ISA
}  // namespace ingot
