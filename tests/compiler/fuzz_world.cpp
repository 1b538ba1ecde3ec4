#include "compiler/fuzz_world.h"

#include <algorithm>
#include <array>
#include <limits>

namespace ingot::fuzz {

Tensor noise(Dims sizes, Dice& dice, DType dtype) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr std::array<float, 8> kSpecial = {
      0, -0.0f, 1, kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN(), 1e-40f, 1e30f};
  const bool special = dice.chance(12);
  std::vector<float> values(static_cast<std::size_t>(sizes.product()));
  for (float& v : values) {
    v = special && dice.chance(15) ? kSpecial[static_cast<std::size_t>(dice.below(8))]
                                   : static_cast<float>(dice.real() * 4 - 2);
  }
  return from_vector(values, sizes, kFloat32).to(dtype);
}

namespace {

struct Sizes {
  i64 rows, cols;
};

std::vector<Sizes> sizes_of(std::uint64_t seed, const Features& f) {
  std::vector<Sizes> all = {{f.rows, f.cols}};
  Dice dice(mixed(seed, 3));
  if (!f.sizes || !dice.chance(40)) return all;
  const int more = 1 + dice.below(2);
  for (int i = 0; i < more; ++i) {
    constexpr std::array<i64, 8> kRows = {0, 1, 1, 2, 3, 5, 7, 9},
                                 kCols = {1, 2, 3, 4, 6, 8, 17, 0};
    i64 rows = kRows[static_cast<std::size_t>(dice.below(8))];
    i64 cols = dice.chance(30) ? f.cols : kCols[static_cast<std::size_t>(dice.below(8))];
    if (dice.chance(10)) cols = 33 + dice.below(300);  // a row that fuses as one
    all.push_back({rows, cols});
  }
  return all;
}

// A matrix of new numbers in one of the layouts that programs meet.
enum class Layout { dense, columns, part_of_rows, every_other, unaligned };
Layout layout_of(std::uint64_t seed) {
  Dice dice(mixed(seed, 10));
  return dice.chance(60) ? Layout::dense : static_cast<Layout>(dice.below(5));
}
Tensor matrix(i64 rows, i64 cols, Dice& dice, Layout layout) {
  switch (layout) {
    case Layout::columns:
      return noise({cols, rows}, dice).t();
    case Layout::part_of_rows:
      return noise({rows, cols + 3}, dice).narrow(1, 1, cols);
    case Layout::every_other:
      return noise({rows, 2 * cols}, dice).slice(1, 0, 2 * cols, 2);
    case Layout::unaligned:
      return noise({rows * cols + 1}, dice).narrow(0, 1, rows * cols).view({rows, cols});
    default:
      return noise({rows, cols}, dice);
  }
}

// Tensors of other dtypes; integers are small, so that they are indices too.
void add_dtypes(Givens& g, Dice& dice) {
  constexpr std::array<DType, 3> kFloating = {kFloat64, kFloat16, kBFloat16};
  constexpr std::array<DType, 3> kIntegers = {kInt64, kInt32, kUInt8};
  if (dice.chance(60))
    g.captures.push_back(
        noise({g.rows, g.cols}, dice, kFloating[static_cast<std::size_t>(dice.below(3))]));
  if (dice.chance(60))
    g.captures.push_back((noise({g.rows, g.cols}, dice) * 3 + 6)
                             .to(kIntegers[static_cast<std::size_t>(dice.below(3))]));
  if (dice.chance(50)) g.captures.push_back(noise({g.rows, g.cols}, dice) > 0.3);
  if (dice.chance(30)) g.captures.push_back((noise({g.rows}, dice) * 3 + 6).to(kInt64));
}

Givens make_givens(Sizes sizes, std::uint64_t seed, Layout layout, const Features& f) {
  Dice dice(mixed(seed, 5));
  Givens g{sizes.rows, sizes.cols, {}, {}};
  const i64 rows = g.rows, cols = g.cols;
  g.args.push_back(matrix(rows, cols, dice, layout));
  g.args.push_back(noise({cols}, dice));
  // A large square of drawn numbers would take longer than the program.
  g.captures.push_back(cols > 40 ? noise({cols, 1}, dice) * noise({cols}, dice)
                                 : noise({cols, cols}, dice));
  g.captures.push_back(noise({rows, cols}, dice));
  g.captures.push_back(noise({cols}, dice));
  if (dice.chance(50)) g.captures[0].requires_grad_();
  if (dice.chance(50)) g.captures[2].requires_grad_();
  if (dice.chance(30)) g.captures.push_back(g.args[0]);                 // the argument itself
  if (dice.chance(30)) g.captures.push_back(g.captures[1].t());         // a view of a capture
  if (dice.chance(30) && rows > 0) g.args.push_back(g.captures[1][0]);  // an argument inside one
  if (f.dtypes) add_dtypes(g, dice);
  return g;
}

// Captures in memory of the host's, made before the calls.
void add_borrowed(World& world, std::uint64_t seed) {
  Dice dice(mixed(seed, 8));
  for (Givens& g : world.others) {
    if (!dice.chance(40)) continue;
    world.borrowed.emplace_back(static_cast<std::size_t>(g.rows * g.cols) + 1, 0.5f);
    g.captures.push_back(from_blob(world.borrowed.back().data(), {g.rows, g.cols}, kFloat32));
  }
}

}  // namespace

bool is_restless(std::uint64_t seed, const Features& f) {
  return Dice(mixed(seed, 1)).chance(f.restless);
}

int calls_of(std::uint64_t seed, const Features& f) {
  if (is_restless(seed, f)) return 5;
  const int sets = static_cast<int>(sizes_of(seed, f).size());
  return sets == 1 ? 8 : 6 * sets;
}

void fill_world(World& world, std::uint64_t seed, const Features& f) {
  std::size_t most = 0;
  const bool same_draws = Dice(mixed(seed, 6)).chance(50);
  std::uint64_t n = 0;
  for (const Sizes& s : sizes_of(seed, f)) {
    // Of equal draws the sets have the same dtypes, aliases and leaves: one path where sizes allow.
    world.others.push_back(make_givens(s, mixed(seed, same_draws ? 0 : n++), layout_of(seed), f));
    most = std::max(most, static_cast<std::size_t>(s.rows * s.cols));
  }
  if (f.hooks) add_leaf_hooks(world, seed);
  if (f.pointers) add_borrowed(world, seed);
  world.now = world.others.front();
  world.others.erase(world.others.begin());
  world.staging.resize(most + 1);
}

void between_calls(World& world, std::uint64_t seed, const Features& f, int call) {
  Dice dice(mixed(seed, 1000 + static_cast<std::uint64_t>(call)));
  NoGradGuard guard;
  if (!world.others.empty()) {
    std::swap(world.now, world.others.front());
    std::rotate(world.others.begin(), world.others.begin() + 1, world.others.end());
  }
  Givens& g = world.now;
  const i64 rows = g.rows, cols = g.cols;
  const bool restless = is_restless(seed, f);
  if (dice.chance(30)) g.args[0].copy_(noise(g.args[0].sizes(), dice));
  // New tensors of the same metadata: what was one tensor before is two now, which only restless
  // programs meet unless nothing shares it.
  const bool shared = g.captures.size() > 3 && g.captures[3].dtype() == kFloat32;
  if (restless || (!shared && g.args.size() == 2)) {
    if (dice.chance(30)) g.args[0] = matrix(rows, cols, dice, layout_of(seed));
    if (dice.chance(15)) g.captures[1] = noise({rows, cols}, dice);  // swapped
    if (dice.chance(15)) {                                           // re-aligned
      g.captures[1] = matrix(rows, cols, dice, Layout::unaligned);
    }
  }
  if (restless) {
    if (dice.chance(10)) g.captures[1] = g.args[0];  // aliased
    if (dice.chance(10)) g.captures[2].requires_grad_(!g.captures[2].requires_grad());
    if (dice.chance(10)) g.args[0] = noise({rows + 1, cols}, dice);  // a new shape
    if (dice.chance(20)) world.escaped.clear();
  }
  // Gradients go before each call, as in training, or never; or by chance.
  const bool always = Dice(mixed(seed, 2)).chance(60);
  for (Tensor& t : g.captures) {
    if (!t.is_leaf() || !t.requires_grad()) continue;
    if (restless ? dice.chance(40) : always) t.mutable_grad() = Tensor();
  }
}

}  // namespace ingot::fuzz
