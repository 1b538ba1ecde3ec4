// Masks: what a fused group gains that reads, makes or converts bools, on one thread.
#include <limits>

#include <fmt/format.h>

#include <ingot/ingot.h>

#include "benchmarks.h"

namespace bench {

using namespace ingot;

std::vector<Row> masks() {
  constexpr i64 kElements = i64{1} << 22;
  const int threads = num_threads();
  set_num_threads(1);
  const Tensor a = randn({kElements}), mask = randn({kElements}) > 0;
  const auto row = [](const char* name, const std::function<Tensor()>& f) {
    const auto compiled = compile([f] { return f(); }, {.name = name});
    const std::vector<Series> s =
        race({[&] { (void)f(); }, [&] { (void)compiled(); }}, {.seconds = 2, .rounds = 15});
    constexpr double kAllowed = 0.67;  // 1.5 times the speed
    Row result{.name = name, .unit = "us"};
    result.ours = s[1];
    result.limit = s[0].median();
    result.limit_least = s[0].least();
    result.limit_name = "eager, one thread";
    result.target = fmt::format("<= {} x", kAllowed);
    result.met = result.ratio() <= kAllowed;
    return result;
  };
  constexpr double kInf = std::numeric_limits<double>::infinity();
  std::vector<Row> rows = {
      row("masks_where_4m", [&] { return where(mask, a / 4, -kInf); }),
      row("masks_positive_4m", [&] { return (a > 0).to(kFloat32) * a; }),
      row("masks_keep_4m", [&] { return mask * a; }),
  };
  set_num_threads(threads);
  return rows;
}

}  // namespace bench
