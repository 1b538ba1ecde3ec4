// When two worlds of the fuzzer are equal.
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "compiler/fuzz_world.h"

namespace ingot::fuzz {

std::string difference(const Tensor& a, const Tensor& b) {
  if (a.defined() != b.defined()) return "one is undefined";
  if (!a.defined()) return "";
  if (!(a.sizes() == b.sizes()) || a.dtype() != b.dtype()) {
    return fmt::format("{} against {}", describe(a.meta()), describe(b.meta()));
  }
  if (!(a.strides() == b.strides())) return "strides differ";
  if (a.requires_grad() != b.requires_grad()) return "requires_grad differs";
  std::vector<double> x = a.to_vector<double>(), y = b.to_vector<double>();
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(x[i]) && std::isnan(y[i])) continue;
    if (std::bit_cast<std::uint64_t>(x[i]) != std::bit_cast<std::uint64_t>(y[i])) {
      return fmt::format("element {}: {:a} against {:a}", i, x[i], y[i]);
    }
  }
  return "";
}

namespace {

std::string difference(const char* what, const std::vector<Tensor>& a,
                       const std::vector<Tensor>& b) {
  if (a.size() != b.size()) return fmt::format("{}: counts differ", what);
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::string d = fuzz::difference(a[i], b[i]);
    if (!d.empty()) return fmt::format("{} {}: {}", what, i, d);
    if (!a[i].is_leaf()) continue;
    d = fuzz::difference(a[i].grad(), b[i].grad());
    if (!d.empty()) return fmt::format("grad of {} {}: {}", what, i, d);
  }
  return "";
}

}  // namespace

std::string difference(const World& a, const World& b) {
  std::string d = difference("argument", a.now.args, b.now.args);
  if (d.empty()) d = difference("capture", a.now.captures, b.now.captures);
  if (d.empty()) d = difference("escaped", a.escaped, b.escaped);
  if (d.empty() && a.host_log.size() != b.host_log.size()) d = "host-visible facts: counts differ";
  for (std::size_t i = 0; d.empty() && i < a.host_log.size(); ++i) {
    if (a.host_log[i] == b.host_log[i]) continue;
    d = fmt::format("host-visible fact {}: {} against {}", i, a.host_log[i], b.host_log[i]);
  }
  return d;
}

}  // namespace ingot::fuzz
