#include "compiler/fuzz_program.h"

#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

namespace ingot::fuzz {

std::uint64_t Dice::next() {
  std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

namespace {

// Rows of a user's own.
INGOT_ROW(FuzzBend, {
  static constexpr const char* name = "fuzz_bend";
  template <class S>
  static S value(S x) {
    return (x + sqrt(x * x + S(4))) * S(0.5);
  }
  template <class S>
  static S grad(S x, S, S dy) {
    return dy * (S(1) + x / sqrt(x * x + S(4))) * S(0.5);
  }
});
INGOT_ROW(FuzzMix, {
  static constexpr const char* name = "fuzz_mix";
  template <class S>
  static S value(S a, S b) {
    return select(a > b, a - b * S(0.25), tanh(b) * a);
  }
  template <class S>
  static S grad_a(S a, S b, S, S dy) {
    return select(a > b, dy, dy * tanh(b));
  }
  template <class S>
  static S grad_b(S a, S b, S, S dy) {
    const S t = tanh(b);
    return select(a > b, dy * S(-0.25), dy * a * (S(1) - t * t));
  }
});

Tensor noise(Dims sizes, Dice& dice) {
  std::vector<float> values(static_cast<std::size_t>(sizes.product()));
  for (float& v : values) v = static_cast<float>(dice.real() * 4 - 2);
  return from_vector(values, sizes);
}

// One run of a program: the tensors in reach, and the two sources of choice.
class Run {
 public:
  Run(World& world, std::uint64_t seed, int call, const Features& features, int depth)
      : world_(world),
        shape_(seed),
        value_(seed * 31 + static_cast<std::uint64_t>(call)),
        call_(call),
        features_(features),
        depth_(depth) {
    for (const Tensor& t : world.args) pool_.push_back(t);
    for (const Tensor& t : world.captures) pool_.push_back(t);
  }

  std::vector<Tensor> go() {
    int steps = 3 + shape_.below(18);
    for (int i = 0; i < steps; ++i) step();
    if (features_.grad && shape_.chance(30)) backward();
    std::vector<Tensor> results;
    int count = 1 + shape_.below(3);
    for (int i = 0; i < count; ++i) results.push_back(any());
    return results;
  }

 private:
  const Tensor& any() { return pool_[static_cast<std::size_t>(shape_.below(size()))]; }
  int size() const { return static_cast<int>(pool_.size()); }
  Tensor floating() {
    Tensor t = any();
    return t.is_floating_point() ? t : t.to(kFloat32);
  }
  void push(Tensor t) {
    if (t.numel() <= 4096 + 4 * features_.rows * features_.cols) pool_.push_back(std::move(t));
  }
  // A partner whose shape broadcasts with t's.
  Tensor partner(const Tensor& t) {
    for (int tries = 0; tries < 6; ++tries) {
      Tensor o = any();
      if (fits(t.sizes(), o.sizes())) return o;
    }
    return t;
  }
  static bool fits(const Dims& a, const Dims& b) {
    for (int i = 1; i <= std::min(a.size(), b.size()); ++i) {
      i64 x = a[a.size() - i], y = b[b.size() - i];
      if (x != y && x != 1 && y != 1) return false;
    }
    return true;
  }
  double scalar() { return std::round(value_.real() * 64 - 32) / 16; }

  void step() {
    if (features_.rowwise && shape_.chance(30)) return along_rows();
    switch (shape_.below(22)) {
      case 0:
      case 1:
      case 2:
        return unary();
      case 3:
      case 4:
      case 5:
        return binary();
      case 6:
      case 7:
        return with_scalar();
      case 8:
      case 9:
      case 10:
        return view();
      case 11:
        return reduction();
      case 12:
        return product();
      case 13:
        return composite();
      case 14:
      case 15:
        return write();
      case 16:
        return observe();
      case 17:
        return random();
      case 18:
        return drop();
      case 19:
        return escape();
      case 20:
        return host();
      default:
        return rare();
    }
  }

  void unary() {
    Tensor x = floating();
    switch (shape_.below(14)) {
      case 11:
      case 12:
        return push(op<FuzzBend>(x));
      case 0:
        return push(exp(clamp(x, -4, 4)));
      case 1:
        return push(tanh(x));
      case 2:
        return push(sigmoid(x));
      case 3:
        return push(relu(x));
      case 4:
        return push(gelu(x));
      case 5:
        return push(neg(x));
      case 6:
        return push(sqrt(x));
      case 7:
        return push(log(x));
      case 8:
        return push(abs(x));
      case 9:
        return push(silu(x));
      case 10:
        return push(x.to(kInt64));
      default:
        return push(square(x));
    }
  }
  void binary() {
    Tensor x = any();
    Tensor y = partner(x);
    switch (shape_.below(10)) {
      case 9:
        return push(op<FuzzMix>(x, y));
      case 0:
      case 1:
        return push(add(x, y));
      case 2:
        return push(mul(x, y));
      case 3:
        return push(x.to(kFloat32) - y.to(kFloat32));
      case 4:
        return push(div(x, y));
      case 5:
        return push(maximum(x.to(kFloat32), y.to(kFloat32)));
      case 6:
        return push(where(gt(x, y), x.to(kFloat32), y.to(kFloat32)));
      case 7:
        return push(le(x, y));
      default:
        return push(minimum(x.to(kFloat32), y.to(kFloat32)));
    }
  }
  void with_scalar() {
    Tensor x = floating();
    double s = scalar();
    switch (shape_.below(5)) {
      case 0:
        return push(x * s);
      case 1:
        return push(s - x);
      case 2:
        return push(x + static_cast<int>(s));
      case 3:
        return push(clamp(x, s, s + 1));
      default:
        return push(addcmul(x, x, x, s));
    }
  }
  void view() {
    Tensor x = any();
    switch (shape_.below(7)) {
      case 0:
        return push(x.dim() == 0 ? x : x.transpose(0, -1));
      case 1:
        return push(x.reshape({-1}));
      case 2:
        if (x.dim() == 0 || x.size(0) < 2) return;
        return push(x[value_.below(static_cast<int>(x.size(0)))]);  // a start that changes
      case 3: {
        if (x.dim() == 0 || x.size(-1) < 3) return;
        i64 length = 2;
        i64 start = value_.below(static_cast<int>(x.size(-1) - length + 1));
        return push(x.narrow(-1, start, length));
      }
      case 4:
        return push(x.unsqueeze(0));
      case 5:
        return x.dim() > 6 ? void() : push(x.unsqueeze(0).expand([&] {
          Dims d = x.sizes();
          d.insert(0, 2);
          return d;
        }()));
      default:
        return push(x.detach());
    }
  }
  void reduction() {
    Tensor x = floating();
    if (x.numel() == 0) return;
    int axis = x.dim() == 0 ? 0 : shape_.below(x.dim());
    switch (shape_.below(6)) {
      case 0:
        return push(x.sum());
      case 1:
        return push(x.mean(axis, true));
      case 2:
        return push(x.amax(axis));
      case 3:
        return push(x.argmax(axis));
      case 4:
        return push(x.var(axis, 0, true));
      default:
        return push(x.sum(axis, true));
    }
  }
  void product() {
    Tensor x = floating();
    if (x.dim() == 0 || x.dim() > 3) return;
    Tensor w = noise_like_weight(x.size(-1));
    shape_.chance(50) ? push(matmul(x, w)) : push(linear(x, w.t(), world_.captures[2]));
  }
  Tensor noise_like_weight(i64 rows) {
    // From the capture when it fits, so that weights are captures as in real programs.
    const Tensor& w = world_.captures[0];
    return w.dim() == 2 && w.size(0) == rows ? w : ones({rows, features_.cols});
  }
  void composite() {
    Tensor x = floating();
    if (x.dim() == 0) return;
    switch (shape_.below(3)) {
      case 0:
        return push(softmax(x, -1));
      case 1:
        return push(log_softmax(x, 0));
      default:
        return push(layer_norm(x, {x.size(-1)}));
    }
  }
  // What a program along rows is made of: a value a row, broadcast back to the rows it came from.
  void along_rows() {
    Tensor x = floating();
    if (x.dim() == 0 || x.numel() == 0) return;
    switch (shape_.below(10)) {
      case 0:
        return push(x - x.mean(-1, true));
      case 1:
        return push(x / (x.abs().sum(-1, true) + 1));
      case 2:
        return push(exp(clamp(x - x.amax(-1, true), -8, 8)));
      case 3:
        return push(x * rsqrt(square(x).mean(-1, true) + 0.5));
      case 4:
        return push(softmax(x * 0.5, -1));
      case 5:
        return push(log_softmax(x, -1) + x);
      case 6:
        return push(layer_norm(x + 1, {x.size(-1)}) * 0.5);
      case 7:
        return push(logsumexp(x, -1, true));
      case 8:
        return push(tanh(x).sum());
      default:
        return push(x.var(-1, 1, true) + x.amin(-1, true));
    }
  }
  void write() {
    if (!features_.in_place) return;
    Tensor x = any();
    Tensor y = partner(x);
    if (!x.is_floating_point()) return;
    try {
      NoGradGuard guard;
      bool widens = !(broadcast_of(x.sizes(), y.sizes()) == x.sizes());
      switch (shape_.below(6)) {
        case 0:
          x.add_(scalar());
          return;
        case 1:
          if (!widens) x.mul_(y.to(kFloat32));
          return;
        case 2:
          if (!widens) x.copy_(y);
          return;
        case 3:
          x.relu_();
          return;
        case 4:
          if (x.dim() > 0 && x.size(0) > 0) x[0] = scalar();
          return;
        default:
          if (x.dim() == 2 && x.size(0) == x.size(1)) x.copy_(x.t() * 1.0);
          return;
      }
    } catch (const Error&) {
      world_.host_log.push_back(-7);  // an expanded tensor refused the write: in both modes
    }
  }
  static Dims broadcast_of(const Dims& a, const Dims& b) {
    Dims out = a.size() >= b.size() ? a : b;
    for (int i = 1; i <= std::min(a.size(), b.size()); ++i) {
      out[out.size() - i] = std::max(a[a.size() - i], b[b.size() - i]);
    }
    return out;
  }
  void observe() {
    if (!features_.observe) return;
    Tensor x = any();
    if (x.numel() == 0) return;
    double v = x.reshape({-1})[0].item<double>();
    world_.host_log.push_back(std::isnan(v) ? -1 : v);
    if (v > 0.5) push(x.to(kFloat32) * 2.0);  // control flow that follows data
  }
  void random() {
    if (!features_.random) return;
    Tensor x = floating();
    switch (shape_.below(3)) {
      case 0:
        return push(dropout(x, 0.5));
      case 1:
        return push(rand({features_.rows, features_.cols}));
      default:
        return push(randn({features_.cols}));
    }
  }
  void drop() {
    if (size() > 6) pool_.erase(pool_.begin() + 4 + shape_.below(size() - 4));
  }
  void escape() {
    if (value_.chance(40)) world_.escaped.push_back(any());  // not in every call: a late escape
    if (world_.escaped.size() > 4) world_.escaped.erase(world_.escaped.begin());
  }
  void host() {
    // A staging buffer, refilled while pending ops may still read what came from it.
    for (float& v : world_.staging) v = static_cast<float>(value_.real());
    push(from_vector(world_.staging, {features_.rows, features_.cols}));
    world_.host_log.push_back(any().requires_grad() ? 1 : 0);
  }
  void rare();
  void backward() {
    Tensor loss;
    for (const Tensor& t : pool_) {
      if (t.is_floating_point() && t.requires_grad()) loss = t;
    }
    if (!loss.defined()) return;
    try {
      loss.sum().backward();
    } catch (const Error&) {
      world_.host_log.push_back(-9);  // a saved value was overwritten: in both modes
    }
    for (Tensor& t : world_.captures) {
      if (!t.grad().defined()) continue;
      push(t.grad());
      if (shape_.chance(50)) {
        NoGradGuard guard;
        t.add_(t.grad() * -0.1);
      }
    }
  }

  World& world_;
  Dice shape_, value_;
  int call_;
  Features features_;
  int depth_;
  std::vector<Tensor> pool_;
};

void Run::rare() {
  switch (shape_.below(5)) {
    case 0:
      if (features_.throws && value_.chance(15)) throw std::runtime_error("thrown by the program");
      return;
    case 1:
      if (features_.nested && depth_ == 0) {
        // A compiled function called inside: it inlines.
        auto inner = compile([](const Tensor& t) { return tanh(t) * 0.5; });
        push(inner(floating()));
      }
      return;
    case 2: {
      // A guard that restores a weight when the scope ends.
      Tensor& w = world_.captures[1];
      Tensor saved = w;
      w = noise({features_.rows, features_.cols}, value_);
      push(w * 2.0);
      w = saved;
      return;
    }
    case 3: {
      Tensor x = floating();
      return push(cat({x.reshape({-1}), x.reshape({-1})}, 0));
    }
    default:
      return push(scalar_tensor(scalar()));
  }
}

}  // namespace

World make_world(std::uint64_t seed, const Features& f) {
  Dice dice(seed ^ 0xabcdef);
  World w;
  w.staging.resize(static_cast<std::size_t>(f.rows * f.cols));
  w.args.push_back(noise({f.rows, f.cols}, dice));
  w.args.push_back(noise({f.cols}, dice));
  // A large square of drawn numbers would take longer than the program.
  w.captures.push_back(f.cols > 100 ? noise({f.cols, 1}, dice) * noise({f.cols}, dice)
                                    : noise({f.cols, f.cols}, dice));
  w.captures.push_back(noise({f.rows, f.cols}, dice));
  w.captures.push_back(noise({f.cols}, dice));
  if (dice.chance(50)) w.captures[0].requires_grad_();
  if (dice.chance(50)) w.captures[2].requires_grad_();
  if (dice.chance(30)) w.captures.push_back(w.args[0]);          // the argument itself
  if (dice.chance(30)) w.captures.push_back(w.captures[1].t());  // a view of a capture
  if (dice.chance(30)) w.args.push_back(w.captures[1][0]);       // an argument inside a capture
  return w;
}

std::vector<Tensor> Program::run(World& world, int call) const {
  return Run(world, seed_, call, features_, 0).go();
}

void Program::between_calls(World& world, int call) const {
  Dice dice(seed_ * 77 + static_cast<std::uint64_t>(call));
  NoGradGuard guard;
  const i64 rows = features_.rows, cols = features_.cols;
  if (dice.chance(30)) world.args[0] = noise({rows, cols}, dice);
  if (dice.chance(15)) world.captures[1] = noise({rows, cols}, dice);  // swapped
  if (dice.chance(10))
    world.captures[1] =
        noise({rows * cols + 1}, dice).narrow(0, 1, rows * cols).view({rows, cols});  // re-aligned
  if (dice.chance(10)) world.captures[1] = world.args[0];                             // aliased
  if (dice.chance(10)) world.captures[2].requires_grad_(!world.captures[2].requires_grad());
  if (dice.chance(10)) world.args[0] = noise({rows + 1, cols}, dice);  // a new shape
  if (dice.chance(20)) world.escaped.clear();
  for (Tensor& t : world.captures) {
    if (t.is_leaf() && t.requires_grad() && dice.chance(40)) t.mutable_grad() = Tensor();
  }
}

}  // namespace ingot::fuzz
