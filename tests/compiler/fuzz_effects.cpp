// Statements of random programs that do more than compute: writes, host reads, random numbers,
// escapes, host buffers, caught errors, guards, nested compiled functions, throws.
#include <cmath>
#include <optional>
#include <stdexcept>

#include "compiler/fuzz_run.h"

namespace ingot::fuzz {

namespace {

// Whether x takes the result of an op with y in place.
bool takes(const Tensor& x, const Tensor& y) {
  const Dims &a = x.sizes(), &b = y.sizes();
  if (b.size() > a.size()) return false;
  for (int i = 1; i <= b.size(); ++i) {
    const i64 m = a[a.size() - i], n = b[b.size() - i];
    if (m != n && n != 1) return false;
  }
  return true;
}

}  // namespace

void Run::write() {
  Tensor x = any();
  const Tensor y = partner(x);
  if (!x.is_floating_point() && !(features_.dtypes && x.dtype() != kBool)) return;
  std::optional<NoGradGuard> guard;
  if (shape_.chance(75)) guard.emplace();
  const bool floats = x.is_floating_point();
  // An expanded tensor refuses the write, and so does a leaf: in both modes.
  switch (choose(14)) {
    case 0:
      name(" add_ number");
      x.add_(floats ? Scalar(scalar()) : Scalar(whole()));
      return;
    case 1:
      if (!takes(x, y)) return;
      name(" mul_");
      x.mul_(y.to(x.dtype()));
      return;
    case 2:
      if (!takes(x, y)) return;
      name(" copy_");
      x.copy_(y);
      return;
    case 3:
      name(" relu_");
      x.relu_();
      return;
    case 4:
      if (x.dim() == 0 || x.size(0) == 0) return;
      name(" [0] = number");
      x[0] = std::abs(whole()) % 100;
      return;
    case 5:
      name(" zero_");
      x.zero_();
      return;
    case 6:
      if (!floats) return;
      name(" clamp_");
      x.clamp_(-1, scalar());
      return;
    case 7:
      if (!floats || !takes(x, y)) return;
      name(" addcmul_");
      x.addcmul_(y.to(x.dtype()), y.to(x.dtype()), scalar());
      return;
    case 8:
      if (x.dim() == 0 || x.size(0) < 2) return;
      name(" the later rows = the earlier");  // operands that overlap
      x.narrow(0, 1, x.size(0) - 1).copy_(x.narrow(0, 0, x.size(0) - 1));
      return;
    case 9:
      if (!floats || !features_.random) return;
      name(" uniform_");
      x.uniform_();
      return;
    case 10: {
      if (x.dim() == 0 || x.size(-1) == 0) return;
      name(" a column mul_");
      Tensor column = x.select(-1, value_.below(static_cast<int>(x.size(-1))));
      column.mul_(2);
      return;
    }
    case 11:
      if (x.dim() == 0 || x.size(0) == 0) return;
      name(" index_put_");
      x.index_put_({index_below(x.size(0), 1)}, 1);
      return;
    case 12:
      if (!takes(x, y)) return;
      name(" sub_");
      x.sub_(y.to(x.dtype()));
      return;
    default:
      if (x.dim() != 2 || x.size(0) != x.size(1)) return;
      name(" = its own transpose");
      x.copy_(x.t());
      return;
  }
}

void Run::observe() {
  const Tensor x = any();
  if (x.numel() == 0) return;
  const double v = x.reshape({x.numel()})[0].item<double>();
  log(v);
  // Control flow that follows data: another path by the call.
  if (!restless_ || v > 0.5) push(x.to(kFloat32) * 2.0);
}

void Run::random() {
  const Tensor x = full_precision();
  switch (choose(7)) {
    case 0:
    case 1:
      name(" dropout");
      return push(dropout(x, 0.5));
    case 2:
      name(" rand");
      return push(rand({world_.now.rows, world_.now.cols}));
    case 3:
      name(" randn_like");
      return push(randn_like(x));
    case 4:
      name(" randint");
      return push(randint(0, 9, {world_.now.cols}));
    case 5:
      name(" seed, then rand_like");
      manual_seed(static_cast<std::uint64_t>(value_.below(100)));
      return push(rand_like(x));
    default:
      name(" randn");
      return push(randn({world_.now.cols}));
  }
}

void Run::drop() {
  // The tensors of the world stay.
  constexpr int kKept = 4;
  const auto n = static_cast<int>(pool_.size());
  if (n <= kKept + 2) return;
  const auto at = pool_.begin() + kKept + shape_.below(n - kKept);
  line_ += " t" + std::to_string(at->id);
  pool_.erase(at);
}

void Run::escape() {
  // In restless programs not in every call: a late escape.
  const Tensor x = any();
  if (!restless_ || value_.chance(40)) world_.escaped.push_back(x);
  if (world_.escaped.size() > 4) world_.escaped.erase(world_.escaped.begin());
}

void Run::host() {
  // A staging buffer, refilled while pending ops may still read what came from it.
  const i64 rows = world_.now.rows, cols = world_.now.cols;
  std::vector<float> values(static_cast<std::size_t>(rows * cols));
  for (float& v : values) v = static_cast<float>(value_.real());
  push(from_vector(values, {rows, cols}));
  log(any().requires_grad() ? 1 : 0);
}

void Run::error() {
  const Tensor x = any();
  const Tensor y = any();
  switch (choose(6)) {
    case 0:
      name(" matmul that does not fit");
      return push(matmul(x.to(kFloat32), ones({x.numel() + 3, 2})));
    case 1:
      name(" add that does not broadcast");
      return push(add(x.unsqueeze(0), ones({2, 2, 2, 2, 2}).narrow(0, 0, 2) + ones({7})));
    case 2:
      name(" narrow out of range");
      return push(x.unsqueeze(0).narrow(0, 0, 2));
    case 3:
      name(" view that needs a copy, or other sizes");
      return push(x.view({x.numel() + 1}));
    case 4: {
      // A data error: eager throws at the first line, a replay at the second.
      if (default_device().is_cuda()) return;
      name(" index_select out of range");
      const Tensor rows = index_select(x.unsqueeze(0), 0, full({1}, value_.below(2)));
      (void)rows.to_vector<double>();
      return push(rows);
    }
    default:
      name(" cat of other sizes");
      return push(cat({x.unsqueeze(0), y}, 1));
  }
}

void Run::guard() {
  if (shape_.chance(50)) {
    // A guard that restores a weight when the scope ends.
    Tensor& w = world_.now.captures[1];
    const Tensor saved = w;
    w = noise({world_.now.rows, world_.now.cols}, value_);
    name(" another weight for a while");
    push(w * 2.0);
    w = saved;
    return;
  }
  const NoGradGuard no_grad;
  name(" without gradients:");
  const int count = 1 + shape_.below(3);
  for (int i = 0; i < count; ++i) shape_.chance(50) ? unary() : binary();
}

void Run::nested() {
  const Tensor x = floating();
  if (shape_.chance(50)) {
    // A compiled function made and called inside: it inlines.
    name(" a compiled function");
    auto inner = compile([](const Tensor& t) { return tanh(t) * 0.5; });
    push(inner(x));
  } else {
    name(" a compiled function that calls itself");
    push(world_.helper(x, restless_ ? value_.below(3) : choose(3)));
  }
}

void Run::throws() {
  if (value_.chance(15)) throw std::runtime_error("thrown by the program");
}

}  // namespace ingot::fuzz
