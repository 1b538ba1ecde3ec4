#include "harness.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include "support/json.h"

namespace bench {

namespace {

using Clock = std::chrono::steady_clock;

double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

// Three significant digits.
std::string number(double v) {
  const double size = std::abs(v);
  return fmt::format("{:.{}f}", v,
                     size < 0.1   ? 4
                     : size < 1   ? 3
                     : size < 10  ? 2
                     : size < 100 ? 1
                                  : 0);
}

}  // namespace

double Series::quantile(double q) const {
  if (values_.empty()) return 0;
  std::vector<double> sorted = values_;
  std::sort(sorted.begin(), sorted.end());
  return sorted[static_cast<std::size_t>(std::lround(q * static_cast<double>(sorted.size() - 1)))];
}

Series Series::scaled(double by) const {
  Series result;
  for (double v : values_) result.add(v * by);
  return result;
}

double time_us(const std::function<void()>& f) {
  const Clock::time_point start = Clock::now();
  f();
  return microseconds_since(start);
}

std::vector<Series> race(const std::vector<std::function<void()>>& contenders, Budget budget) {
  std::vector<Series> series(contenders.size());
  std::vector<int> calls;
  for (const auto& f : contenders) {
    constexpr int kWarmUp = 3;
    double once = 0;
    for (int i = 0; i < kWarmUp; ++i) once = time_us(f);
    calls.push_back(static_cast<int>(std::clamp(budget.batch_us / once, 1.0, 10'000.0)));
  }
  const Clock::time_point start = Clock::now();
  for (int round = 0; round < budget.rounds || microseconds_since(start) < budget.seconds * 1e6;
       ++round) {
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      // Each round begins with another one: nobody always runs after the same neighbour.
      const std::size_t c = (i + static_cast<std::size_t>(round)) % contenders.size();
      const Clock::time_point begin = Clock::now();
      for (int k = 0; k < calls[c]; ++k) contenders[c]();
      series[c].add(microseconds_since(begin) / calls[c]);
    }
  }
  return series;
}

std::string table(const std::vector<Row>& rows) {
  std::string out = fmt::format(
      "{:<21} {:<4} {:>9} {:>9} {:>8} {:>9} {:>9} {:>6}  {:<18} {:<6}  {}\n", "name", "unit",
      "ours", "least", "spread", "limit", "least", "ratio", "target", "", "the limit is");
  for (const Row& r : rows) {
    out += fmt::format("{:<21} {:<4} {:>9} {:>9} {:>8} {:>9} {:>9} {:>6}  {:<18} {:<6}  {}\n",
                       r.name, r.unit, number(r.ours.median()), number(r.ours.least()),
                       number(r.ours.spread()), number(r.limit), number(r.limit_least),
                       number(r.ratio()), r.target,
                       !r.met.has_value() ? "-"
                       : *r.met           ? "met"
                                          : "MISSED",
                       r.limit_name);
    if (!r.note.empty()) out += fmt::format("{:<21} {}\n", "", r.note);
  }
  return out;
}

std::string json(const std::vector<Row>& rows) {
  std::vector<examples::JsonObject> list;
  for (const Row& r : rows) {
    list.emplace_back()
        .add("name", r.name)
        .add("unit", r.unit)
        .add("ours", r.ours.median())
        .add("limit", r.limit)
        .add("limit_name", r.limit_name)
        .add("ratio", r.ratio())
        .add("n", r.ours.n())
        .add("spread", r.ours.spread());
  }
  return examples::json(list);
}

}  // namespace bench
