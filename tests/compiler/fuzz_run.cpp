#include "compiler/fuzz_run.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include <fmt/format.h>

namespace ingot::fuzz {

namespace {

struct Weight {
  Kind kind;
  int weight;
};

std::vector<Weight> weights_of(const Features& f, bool restless) {
  return {{Kind::unary, 14},
          {Kind::binary, 16},
          {Kind::with_scalar, 9},
          {Kind::cast, f.dtypes ? 4 : 0},
          {Kind::view, 13},
          {Kind::reduction, 7},
          {Kind::product, 4},
          {Kind::composite, 5},
          {Kind::along_rows, f.rowwise ? 35 : 4},
          {Kind::indexing, 5},
          {Kind::write, f.in_place ? 11 : 0},
          {Kind::observe, f.observe ? 3 : 0},
          {Kind::random, f.random ? 4 : 0},
          {Kind::drop, 4},
          {Kind::escape, 3},
          {Kind::host, 3},
          {Kind::error, f.errors ? 1 : 0},
          {Kind::guard, 2},
          {Kind::nested, f.nested ? 2 : 0},
          {Kind::throws, f.throws && restless ? 2 : 0},
          {Kind::pointer, f.pointers ? 14 : 0},
          {Kind::hook, f.hooks ? 8 : 0}};
}

bool fits(const Dims& a, const Dims& b) {
  for (int i = 1; i <= std::min(a.size(), b.size()); ++i) {
    const i64 x = a[a.size() - i], y = b[b.size() - i];
    if (x != y && x != 1 && y != 1) return false;
  }
  return true;
}

constexpr const char* kNames[] = {
    "unary",    "binary",   "with_scalar", "cast",    "view",   "reduction", "product", "composite",
    "rows",     "indexing", "write",       "observe", "random", "drop",      "escape",  "host",
    "backward", "error",    "guard",       "nested",  "throws", "pointer",   "hook"};

}  // namespace

Program::Program(std::uint64_t seed, const Features& features)
    : seed_(seed), features_(features), restless_(is_restless(seed, features)) {
  Dice dice(mixed(seed, 11));
  const std::vector<Weight> weights = weights_of(features, restless_);
  int total = 0;
  for (const Weight& w : weights) total += w.weight;
  const int steps = 3 + dice.below(dice.chance(70) ? 18 : 45);
  for (int i = 0; i < steps; ++i) {
    int at = dice.below(total);
    std::size_t k = 0;
    while (at >= weights[k].weight) at -= weights[k++].weight;
    statements_.push_back({weights[k].kind, dice.next()});
  }
  if (features.grad && dice.chance(features.hooks ? 80 : 35)) {
    statements_.push_back({Kind::backward, dice.next()});
    for (int more = dice.below(3); more > 0; --more) {
      statements_.push_back({dice.chance(50) ? Kind::unary : Kind::binary, dice.next()});
    }
  }
}

Program Program::without(std::size_t begin, std::size_t count) const {
  Program p = *this;
  const auto first = p.statements_.begin() + static_cast<std::ptrdiff_t>(begin);
  p.statements_.erase(first, first + static_cast<std::ptrdiff_t>(count));
  return p;
}

std::vector<Tensor> Program::run(World& world, int call, std::vector<std::string>* listing) const {
  Run run(world, features_, restless_, call, listing);
  for (const Statement& s : statements_) run.step(s);
  return run.results(seed_);
}

Run::Run(World& world, const Features& features, bool restless, int call,
         std::vector<std::string>* listing)
    : world_(world), features_(features), restless_(restless), call_(call), listing_(listing) {
  for (const auto* list : {&world.now.args, &world.now.captures}) {
    for (const Tensor& t : *list) {
      line_ = list == &world.now.args ? "argument" : "capture";
      push(t);
      if (listing_ != nullptr) listing_->push_back(line_);
    }
  }
}

void Run::step(const Statement& statement) {
  shape_ = Dice(statement.seed);
  value_ = Dice(mixed(statement.seed, static_cast<std::uint64_t>(call_)));
  line_ = fmt::format("{}: ", kNames[static_cast<int>(statement.kind)]);
  try {
    execute(statement.kind);
  } catch (const Error& error) {
    // What the op refuses here is refused in both modes.
    log_error(error);
    line_ += std::string(" threw: ") + error.what();
  }
  if (listing_ != nullptr) listing_->push_back(line_);
}

std::vector<Tensor> Run::results(std::uint64_t seed) {
  shape_ = Dice(mixed(seed, 12));
  line_ = "return";
  std::vector<Tensor> results;
  const int count = 1 + shape_.below(5);
  // The newest are likelier: what nobody returns would be dead code.
  for (int i = 0; i < count; ++i) {
    const auto n = static_cast<int>(pool_.size());
    const int at = shape_.chance(60) ? n - 1 - shape_.below(std::min(n, 4)) : shape_.below(n);
    const Named& named = pool_[static_cast<std::size_t>(at)];
    line_ += fmt::format(" t{}", named.id);
    results.push_back(named.tensor);
  }
  if (listing_ != nullptr) listing_->push_back(line_);
  return results;
}

void Run::execute(Kind kind) {
  // g++'s sanitizer mistakes the index of an array of these for another number.
  static constexpr auto kActions = std::to_array<void (Run::*)()>(
      {&Run::unary,     &Run::binary,   &Run::with_scalar, &Run::cast,       &Run::view,
       &Run::reduction, &Run::product,  &Run::composite,   &Run::along_rows, &Run::indexing,
       &Run::write,     &Run::observe,  &Run::random,      &Run::drop,       &Run::escape,
       &Run::host,      &Run::backward, &Run::error,       &Run::guard,      &Run::nested,
       &Run::throws,    &Run::pointer,  &Run::hook});
  const auto action = kActions[static_cast<std::size_t>(kind)];
  (this->*action)();
}

const Tensor& Run::any() {
  // The newest half is likelier, so that programs are chains and not only fans.
  const auto n = static_cast<int>(pool_.size());
  const int at = shape_.chance(40) ? n - 1 - shape_.below((n + 1) / 2) : shape_.below(n);
  const Named& named = pool_[static_cast<std::size_t>(at)];
  if (listing_ != nullptr) line_ += fmt::format(" t{}", named.id);
  return named.tensor;
}

Tensor Run::floating() {
  const Tensor& t = any();
  return t.is_floating_point() ? t : t.to(kFloat32);
}

Tensor Run::full_precision() {
  const Tensor& t = any();
  return t.dtype() == kFloat32 || t.dtype() == kFloat64 ? t : t.to(kFloat32);
}

Tensor Run::partner(const Tensor& t) {
  const std::string before = line_;
  for (int tries = 0; tries < 6; ++tries) {
    line_ = before;
    const Tensor& o = any();
    if (fits(t.sizes(), o.sizes())) return o;
  }
  line_ = before + " (itself)";
  return t;
}

Tensor Run::index_below(i64 size, i64 count) {
  // From an integer capture where there is one, else from the host: both are read in every call.
  for (const Tensor& t : world_.now.captures) {
    if (t.dtype() == kInt64 && t.dim() == 1 && t.numel() == count) return remainder(t, size);
  }
  std::vector<i64> values(static_cast<std::size_t>(count));
  for (i64& v : values) v = value_.below(static_cast<int>(size));
  return from_vector(values, {count});
}

Dims Run::axes_of(const Tensor& t) {
  Dims axes;
  for (int d = 0; d < t.dim(); ++d) {
    if (shape_.chance(60)) axes.push_back(shape_.chance(30) ? d - t.dim() : d);
  }
  return axes;
}

int Run::axis_of(const Tensor& t) { return t.dim() == 0 ? 0 : shape_.below(t.dim()); }

double Run::scalar() {
  if (value_.chance(4)) {
    constexpr double kSpecial[] = {0, -0.0, 1e30, -16777217,
                                   std::numeric_limits<double>::infinity()};
    return kSpecial[value_.below(5)];
  }
  return std::round(value_.real() * 64 - 32) / 16;
}

i64 Run::whole() { return value_.chance(4) ? (i64{1} << 24) + 1 : value_.below(5) - 2; }

void Run::push(Tensor t) {
  if (t.numel() > 4096 + 4 * world_.now.rows * world_.now.cols) return;
  if (listing_ != nullptr) {
    line_ += fmt::format(" -> t{} {}", next_id_, describe(t.meta()));
    if (t.requires_grad()) line_ += " grad";
  }
  pool_.push_back({std::move(t), next_id_++});
}

void Run::log_error(const std::exception& error) {
  log(static_cast<double>(std::hash<std::string_view>()(error.what()) >> 12));
}

}  // namespace ingot::fuzz
