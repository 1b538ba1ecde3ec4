#include <algorithm>
#include <cmath>
#include <vector>

#include <ingot/kernels/core/check.h>
#include <ingot/runtime/anomaly.h>
#include <ingot/runtime/autograd.h>
#include <ingot/runtime/dispatch.h>
#include <ingot/runtime/env.h>

namespace ingot {

constinit thread_local Anomaly t_anomaly = Anomaly::unset;

Anomaly anomaly_mode() {
  if (t_anomaly == Anomaly::unset) {
    const std::string& find = env().detect_anomaly;
    t_anomaly = find.empty() ? Anomaly::off : find == "1" ? Anomaly::nan : Anomaly::nan_or_inf;
  }
  return t_anomaly;
}

AnomalyGuard::AnomalyGuard(bool check_inf, Loc loc) : was_(t_anomaly) {
  if (t_interceptor != nullptr) t_interceptor->leave("an AnomalyGuard begins", loc);
  t_anomaly = check_inf ? Anomaly::nan_or_inf : Anomaly::nan;
}

namespace {

// Reading an operand may run ops of its own.
struct Unchecked {
  Unchecked() { t_anomaly = Anomaly::off; }
  ~Unchecked() { t_anomaly = was; }
  Anomaly was = t_anomaly;
};

// "[1, 2]" of an element in row-major order.
std::string place_of(std::size_t element, const Dims& sizes) {
  Dims place = sizes;
  auto rest = static_cast<i64>(element);
  for (int d = sizes.size() - 1; d >= 0; --d) {
    place[d] = rest % sizes[d];
    rest /= sizes[d];
  }
  return to_string(place);
}

std::string range_of(const Tensor& t) {
  const std::vector<double> values = t.to_vector<double>();
  double low = INFINITY, high = -INFINITY;
  std::size_t nans = 0;
  for (double v : values) {
    nans += std::isnan(v) ? 1 : 0;
    low = std::min(low, std::isnan(v) ? low : v);
    high = std::max(high, std::isnan(v) ? high : v);
  }
  if (values.size() == nans) return values.empty() ? "empty" : "all NaN";
  return fmt::format("from {:.6g} to {:.6g}{}", low, high,
                     nans == 0 ? "" : fmt::format(" and {} NaN", nans));
}

std::string operands_of(const Call& call) {
  std::string text;
  int scalar = 0;
  for (int i = 0; i < call.n_in; ++i) {
    const bool present = call.in[i] != nullptr && call.in[i]->defined();
    if (!present && scalar == call.attrs.n_scalars) continue;
    text += fmt::format("{}operand {} ", text.empty() ? "; " : ", ", i);
    if (!present) {
      text += call.attrs.s[scalar++].str();
    } else if (i == call.writes) {
      text += describe(call.in[i]->meta()) + " overwritten";
    } else {
      text += describe(call.in[i]->meta()) + " " + range_of(*call.in[i]);
    }
  }
  return text;
}

// Whether the op only moved what an operand held already: a copy, a cast, an index.
template <class IsBad>
bool moves_any(const Call& call, IsBad is_bad) {
  if (call.op.kind != OpKind::data) return false;
  for (int i = 0; i < call.n_in; ++i) {
    if (call.in[i] == nullptr || !call.in[i]->defined() || i == call.writes) continue;
    const std::vector<double> values = call.in[i]->to_vector<double>();
    if (std::any_of(values.begin(), values.end(), is_bad)) return true;
  }
  return false;
}

}  // namespace

void check_anomaly(const Call& call, const Tensor* out) {
  const Anomaly mode = anomaly_mode();
  if (mode == Anomaly::off) return;
  // What makes a tensor from nothing means the value that it is given.
  if (call.op.kind == OpKind::view || call.n_in == 0) return;
  const bool check_inf = mode == Anomaly::nan_or_inf;
  const auto is_bad = [&](double v) { return std::isnan(v) || (check_inf && std::isinf(v)); };
  const Unchecked reading;
  for (int r = 0; r < call.op.n_out; ++r) {
    if (!out[r].is_floating_point()) continue;
    const std::vector<double> values = out[r].to_vector<double>();
    const auto bad = std::find_if(values.begin(), values.end(), is_bad);
    if (bad == values.end() || moves_any(call, is_bad)) continue;
    const auto element = static_cast<std::size_t>(bad - values.begin());
    throw Error(fmt::format("{}: element {} of the result {} is {}{}{}; at {}", call.op.name,
                            place_of(element, out[r].sizes()), describe(out[r].meta()),
                            std::isnan(*bad) ? "NaN"
                            : *bad > 0       ? "infinite"
                                             : "negatively infinite",
                            in_backward() ? ", in backward() of the op at this line" : "",
                            operands_of(call), to_string(call.loc)),
                call.op.name, call.loc);
  }
}

}  // namespace ingot
