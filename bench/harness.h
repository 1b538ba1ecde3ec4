// How a figure is measured and shown.
// Owns: interleaved timing, the rows, the table and the JSON. Must not know: what is measured.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace bench {

// Samples of one figure.
class Series {
 public:
  void add(double value) { values_.push_back(value); }
  double last() const { return values_.back(); }
  int n() const { return static_cast<int>(values_.size()); }
  double median() const { return quantile(0.5); }
  double least() const { return quantile(0); }
  // Half of the samples lie within this distance of each other: upper minus lower quartile.
  double spread() const { return quantile(0.75) - quantile(0.25); }
  Series scaled(double by) const;

 private:
  double quantile(double q) const;
  std::vector<double> values_;
};

struct Row {
  std::string name = {}, unit = {};
  Series ours = {};
  double limit = 0, limit_least = 0;  // median and least; equal for a plain bound
  std::string limit_name = {};
  std::string target = {};       // as text, "<= 1.15 x"
  std::optional<bool> met = {};  // none: the target names what another program measures
  std::string note = {};         // what else was seen

  double ratio() const { return ours.median() / limit; }
};

struct Budget {
  double seconds = 1.5;   // of one race
  int rounds = 15;        // at least
  double batch_us = 100;  // a sample is a batch of calls that lasts about so long
};

// Runs the contenders in turn, so that a drift of the machine meets all, and gives microseconds per
// call, one series for each.
std::vector<Series> race(const std::vector<std::function<void()>>& contenders, Budget budget = {});

// Microseconds of one call.
double time_us(const std::function<void()>& f);

// Keeps the compiler from dropping what led to *p.
inline void keep(const void* p) { asm volatile("" : : "g"(p) : "memory"); }

std::string table(const std::vector<Row>& rows);
std::string json(const std::vector<Row>& rows);

}  // namespace bench
