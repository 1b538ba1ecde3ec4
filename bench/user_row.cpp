// A fused row of the user's own against the built-in row of the same formula: both are text in a
// generated kernel, so they should cost the same.
#include <fmt/format.h>

#include <ingot/ingot.h>

#include "benchmarks.h"

namespace bench {

using namespace ingot;

namespace {

INGOT_ROW(OwnSilu, {
  static constexpr const char* name = "own_silu";
  template <class S>
  static S value(S x) {
    return x * sigmoid(x);
  }
});

}  // namespace

std::vector<Row> user_row() {
  constexpr i64 kElements = i64{1} << 22;
  const Tensor a = randn({kElements}), b = randn({kElements});
  const auto own = compile([](const Tensor& x, const Tensor& y) { return op<OwnSilu>(x * y + 1); },
                           {.name = "user_row_4m"});
  const auto built_in =
      compile([](const Tensor& x, const Tensor& y) { return silu(x * y + 1); }, {.name = "silu"});
  const std::vector<Series> s =
      race({[&] { (void)own(a, b); }, [&] { (void)built_in(a, b); }}, {.seconds = 4, .rounds = 25});
  constexpr double kAllowed = 1.05;
  Row row{.name = "user_row_4m", .unit = "us"};
  row.ours = s[0];
  row.limit = s[1].median();
  row.limit_least = s[1].least();
  row.limit_name = "the same kernel with the built-in row";
  row.target = fmt::format("<= {} x", kAllowed);
  row.met = row.ratio() <= kAllowed;
  row.note = fmt::format("fused: {} and {} kernels a call", own.ledger().launches_compiled,
                         built_in.ledger().launches_compiled);
  return {row};
}

}  // namespace bench
