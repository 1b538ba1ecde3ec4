#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <ostream>

#include <fmt/format.h>

#include <ingot/profiler/judge.h>

namespace ingot::profiler {
namespace {

constexpr std::size_t kLeastUnits = 3;
constexpr double kClear = 2, kMajority = 2.0 / 3, kColdFactor = 2;
// Of a unit's time, what a GPU works: it waits for the host below the one, not above the other.
constexpr double kIdleGpu = 0.75, kBusyGpu = 0.85;

double quantile(std::vector<double> v, double q) {
  if (v.empty()) return 0;
  std::sort(v.begin(), v.end());
  auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(v.size())));
  return v[std::max<std::size_t>(rank, 1) - 1];
}

double median(std::vector<double> v) {
  if (v.empty()) return 0;
  std::sort(v.begin(), v.end());
  std::size_t n = v.size();
  return n % 2 == 1 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

template <class F>
std::vector<double> each(const std::vector<Unit>& units, F&& f) {
  std::vector<double> v;
  for (const Unit& u : units) v.push_back(f(u));
  return v;
}

template <class F>
double sum(const std::vector<Unit>& units, F&& f) {
  double total = 0;
  for (const Unit& u : units) total += f(u);
  return total;
}

Verdict::Kind side(double memory, double compute, double device) {
  if (memory >= kMajority * device) return Verdict::memory_bound;
  if (compute >= kMajority * device) return Verdict::compute_bound;
  return Verdict::mixed;
}

Verdict::Kind classify(const Unit& u) {
  if (u.gpu) {
    if (u.device < kIdleGpu * u.wall) return Verdict::overhead_bound;
    if (u.device < kBusyGpu * u.wall) return Verdict::mixed;
    return side(u.memory_side, u.compute_side, u.self_device);
  }
  if (u.host() >= kClear * u.device) return Verdict::overhead_bound;
  if (u.device < kClear * u.host()) return Verdict::mixed;
  return side(u.memory_side, u.compute_side, u.self_device);
}

bool is_cold(const std::vector<Unit>& units, std::size_t i) {
  if (units[i].compiles) return true;
  if (i != 0 || units.size() < kLeastUnits) return false;
  std::vector<double> others = each(units, [](const Unit& u) { return u.wall; });
  double first = others.front();
  others.erase(others.begin());
  return first > kColdFactor * median(std::move(others));
}

// The figures that the sentences speak of, in microseconds, medians of one unit.
struct Figures {
  double step, host, device, op_host, half_bytes, launches, events, observer, host_work;
  bool gpu;
  double busy() const { return step > 0 ? 100 * std::min(device / step, 1.0) : 0; }
};

Figures figures(const std::vector<Unit>& units) {
  auto mid = [&](auto&& f) { return median(each(units, f)); };
  return {mid([](const Unit& u) { return u.wall / 1e3; }),
          mid([](const Unit& u) { return u.host() / 1e3; }),
          mid([](const Unit& u) { return u.device / 1e3; }),
          mid([](const Unit& u) { return u.op_host / 1e3; }),
          mid([](const Unit& u) { return u.half_bytes / 1e3; }),
          mid([](const Unit& u) { return static_cast<double>(u.launches); }),
          mid([](const Unit& u) { return static_cast<double>(u.events); }),
          mid([](const Unit& u) { return u.observer / 1e3; }),
          mid([](const Unit& u) { return u.host_work / 1e3; }),
          units.front().gpu};
}

std::vector<WhatIf> what_ifs(const Figures& f) {
  std::vector<WhatIf> list;
  // Beside a GPU host and device work at the same time: neither makes a step shorter than the
  // other.
  const double of_host = f.gpu ? std::min(f.host_work, f.step) : 0;
  const double of_device = f.gpu ? std::min(f.device, f.step) : 0;
  auto add = [&](const char* what, double saved, double least) {
    double step = std::max({f.step - saved, f.step / 1e3, least});
    if (f.step > 0) list.push_back({what, step, f.step / step});
  };
  add(f.gpu ? "the GPU twice as fast" : "the kernels twice as fast", f.device / 2, of_host);
  add("half the launches", f.op_host / 2, of_device);
  add("half the bytes", f.half_bytes, of_host);
  std::stable_sort(list.begin(), list.end(),
                   [](const WhatIf& a, const WhatIf& b) { return a.speedup > b.speedup; });
  return list;
}

std::string gain_of(const Verdict& v, std::string_view what) {
  for (const WhatIf& w : v.what_ifs) {
    if (w.what == what) return fmt::format("{}: {:.2f}x", what, w.speedup);
  }
  return std::string(what);
}

void explain(const std::vector<Unit>& units, const Figures& f, std::string_view unit,
             const Roofline& roofline, Verdict& v) {
  auto say = [&]<class... A>(fmt::format_string<A...> text, A&&... a) {
    v.evidence.push_back(fmt::format(text, std::forward<A>(a)...));
  };
  if (f.gpu) {
    say("Median {} {:.3f} us (n = {}, least {:.3f}, p95 {:.3f}): the GPU works {:.3f} us of it "
        "({:.0f} %), the host {:.3f} us.",
        unit, v.step_us.median, v.step_us.n, v.step_us.least, v.step_us.p95, f.device, f.busy(),
        f.host_work);
  } else {
    say("Median {} {:.3f} us (n = {}, least {:.3f}, p95 {:.3f}): host {:.3f} us, kernel bodies "
        "{:.3f} us.",
        unit, v.step_us.median, v.step_us.n, v.step_us.least, v.step_us.p95, f.host, f.device);
  }
  if (f.launches > 0 && f.gpu) {
    say("Host: {:.3f} us in {:.0f} launches ({:.3f} us each), {:.3f} us between them.", f.op_host,
        f.launches, f.op_host / f.launches, std::max(0.0, f.host_work - f.op_host));
  } else if (f.launches > 0) {
    say("Host: {:.3f} us in {:.0f} launches ({:.3f} us each), {:.3f} us between them.", f.op_host,
        f.launches, f.op_host / f.launches, std::max(0.0, f.host - f.op_host));
  } else {
    say("No kernel body ran.");
  }
  const auto beside =
      std::count_if(units.begin(), units.end(), [](const Unit& u) { return u.beside; });
  if (beside > 0) {
    say("{} of {} passes nest in nothing, since they ended on another thread or out of order: each "
        "is judged by what began during it.",
        beside, units.size());
  }
  if (f.gpu && roofline.bytes_per_s <= 0) return;
  double device = sum(units, [](const Unit& u) { return u.self_device; });
  double known = sum(units, [](const Unit& u) { return u.known; });
  if (device > 0 && known > 0) {
    double memory = sum(units, [](const Unit& u) { return u.memory_side; });
    double compute = sum(units, [](const Unit& u) { return u.compute_side; });
    double least = sum(units, [](const Unit& u) { return u.roofline; });
    double far = sum(units, [](const Unit& u) { return u.far; });
    say("Of the kernels' time {:.0f} % is on the memory side of the roofline's ridge ({:.1f} "
        "operations per byte), {:.0f} % on the compute side, {:.0f} % far below both, {:.0f} % of "
        "unknown cost.",
        100 * memory / device, roofline.flops_per_s / roofline.bytes_per_s, 100 * compute / device,
        100 * far / device, 100 * (device - known) / device);
    say("Kernels of known cost reach {:.0f} % of the roofline ({:.1f} GB/s, {:.1f} GFLOP/s).",
        100 * least / known, roofline.bytes_per_s / 1e9, roofline.flops_per_s / 1e9);
  } else if (device > 0) {
    say("The cost of no kernel is known.");
  }
  if (f.observer > 0) {
    say("The recorder's own {:.3f} us ({:.0f} events) are taken off.", f.observer, f.events);
  }
}

void advise(const Figures& f, Verdict& v) {
  switch (v.kind) {
    case Verdict::overhead_bound:
      v.why = f.gpu ? fmt::format(
                          "the GPU waits for the host: it works {:.0f} % of the time, "
                          "{:.3f} us of {:.3f} us",
                          f.busy(), f.device, f.step)
                    : fmt::format("the host works {:.3f} us for {:.3f} us of kernel bodies", f.host,
                                  f.device);
      v.next = fmt::format(
          "Fewer launches (compile() the step; {}), or more work in each: a larger "
          "batch.",
          gain_of(v, "half the launches"));
      break;
    case Verdict::memory_bound:
      v.why = f.gpu ? "the GPU works most of the time, and moving bytes takes most of that"
                    : "kernel bodies take most of the time, and moving bytes takes most of theirs";
      v.next = fmt::format(
          "Move fewer bytes: compile() fuses chains of ops ({}); a smaller dtype; "
          "no copies.",
          gain_of(v, "half the bytes"));
      break;
    case Verdict::compute_bound:
      v.why = f.gpu ? "the GPU works most of the time, and arithmetic takes most of that"
                    : "kernel bodies take most of the time, and arithmetic takes most of theirs";
      v.next = fmt::format(
          "Fewer or cheaper operations: another algorithm, {} ({}).",
          f.gpu ? "TF32 or a 16-bit dtype for products" : "a smaller dtype, more threads",
          gain_of(v, f.gpu ? "the GPU twice as fast" : "the kernels twice as fast"));
      break;
    case Verdict::mixed:
      if (!v.what_ifs.empty()) {
        v.next =
            fmt::format("Begin with what gains most ({}).", gain_of(v, v.what_ifs.front().what));
      }
      break;
    case Verdict::not_enough_data:
      break;
  }
}

// What most units are; `votes` becomes "2 mixed, 1 overhead-bound".
Verdict::Kind vote(const std::vector<Unit>& units, bool* clear, std::string* votes) {
  std::array<std::size_t, 4> counts{};
  for (const Unit& u : units) ++counts[classify(u)];
  auto most = std::max_element(counts.begin(), counts.end());
  *clear = static_cast<double>(*most) >= kMajority * static_cast<double>(units.size());
  for (std::size_t kind = 0; kind < counts.size(); ++kind) {
    if (counts[kind] == 0) continue;
    *votes += fmt::format("{}{} {}", votes->empty() ? "" : ", ", counts[kind],
                          to_string(static_cast<Verdict::Kind>(kind)));
  }
  return *clear ? static_cast<Verdict::Kind>(most - counts.begin()) : Verdict::mixed;
}

std::string mixed_reason(const std::vector<Unit>& units, const Figures& f) {
  if (f.gpu) {
    if (f.device < kBusyGpu * f.step) {
      return fmt::format("the GPU works {:.0f} % of the time and waits for the host in the rest",
                         f.busy());
    }
    const double all = sum(units, [](const Unit& u) { return u.self_device; });
    if (sum(units, [](const Unit& u) { return u.far; }) >= all / 2) {
      return "the GPU works most of the time, but reaches little of what it can: the kernels are "
             "small, or slow";
    }
    return "the GPU works most of the time, but neither memory nor arithmetic takes most of that";
  }
  if (f.device < kClear * f.host) return "host and kernel bodies take about the same time";
  double device = sum(units, [](const Unit& u) { return u.self_device; });
  double far = sum(units, [](const Unit& u) { return u.far; });
  if (far >= device / 2) {
    return "kernel bodies take most of the time, but reach little of the machine: too small for "
           "all threads, or slow";
  }
  return "kernel bodies take most of the time, but neither memory nor arithmetic most of theirs";
}

Verdict too_little(const std::vector<Unit>& units, std::string_view range, Verdict v) {
  v.kind = Verdict::not_enough_data;
  bool empty = !units.empty() &&
               std::all_of(units.begin(), units.end(), [](const Unit& u) { return u.events == 0; });
  if (empty) {
    v.why = "no event was recorded in any unit";
    v.next = "Run ops between the calls of step().";
  } else if (range.empty()) {
    v.why = fmt::format("{} step{} marked, {} needed", units.size(),
                        units.size() == 1 ? " was" : "s were", kLeastUnits);
    v.next = "Call step() after each iteration and record three or more, as Schedule{} does.";
  } else {
    v.why = fmt::format("the range ran {} time{}, {} are needed", units.size(),
                        units.size() == 1 ? "" : "s", kLeastUnits);
    v.next = "Record more passes through the range.";
  }
  return v;
}

}  // namespace

Verdict judge(const std::vector<Unit>& all, std::string_view range, const Roofline& roofline) {
  std::vector<Unit> warm;
  std::string cold;
  int n_cold = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!is_cold(all, i)) {
      warm.push_back(all[i]);
      continue;
    }
    ++n_cold;
    if (n_cold <= 3) {
      cold += fmt::format("{}{} ({:.3f} us{})", cold.empty() ? "" : ", ", all[i].name,
                          all[i].wall / 1e3, all[i].compiles ? ", phases of a first call" : "");
    }
  }
  bool left_out = warm.size() >= kLeastUnits;
  const std::vector<Unit>& units = left_out ? warm : all;

  Verdict v;
  v.cold = left_out ? n_cold : 0;
  v.self_cpu_us = sum(units, [](const Unit& u) { return u.self_host / 1e3; });
  v.self_device_us = sum(units, [](const Unit& u) { return u.self_device / 1e3; });
  double wall = sum(units, [](const Unit& u) { return u.wall + u.observer; });
  v.device_busy = wall > 0 ? sum(units, [](const Unit& u) { return u.device; }) / wall : 0;
  std::vector<double> steps = each(units, [](const Unit& u) { return u.wall / 1e3; });
  v.step_us.n = static_cast<int>(steps.size());
  v.step_us.median = median(steps);
  v.step_us.p95 = quantile(steps, 0.95);
  v.step_us.least = quantile(steps, 0);

  double events = sum(units, [](const Unit& u) { return static_cast<double>(u.events); });
  const bool unseen =
      std::any_of(units.begin(), units.end(), [](const Unit& u) { return u.unseen; });
  if (unseen) {
    v.kind = Verdict::not_enough_data;
    v.why = "kernels were launched on a GPU, but the session did not record it";
    v.next = "Ask for Activity::CUDA, or begin the session once a tensor is on the GPU.";
    return v;
  }
  if (units.size() < kLeastUnits || events == 0) return too_little(units, range, std::move(v));

  Figures f = figures(units);
  bool clear = false;
  std::string votes;
  v.kind = vote(units, &clear, &votes);
  if (v.kind == Verdict::mixed) {
    v.why = clear ? mixed_reason(units, f)
                  : fmt::format("the {} disagree: {}", range.empty() ? "steps" : "passes", votes);
  }
  v.what_ifs = what_ifs(f);
  explain(units, f, range.empty() ? "step" : "pass", roofline, v);
  if (n_cold > 0) {
    v.evidence.push_back(fmt::format("Cold, {}: {}{}.", left_out ? "left out" : "not left out",
                                     cold, n_cold > 3 ? ", ..." : ""));
  }
  advise(f, v);
  return v;
}

const char* to_string(Verdict::Kind kind) {
  switch (kind) {
    case Verdict::overhead_bound:
      return "overhead-bound";
    case Verdict::memory_bound:
      return "memory-bound";
    case Verdict::compute_bound:
      return "compute-bound";
    case Verdict::mixed:
      return "mixed";
    case Verdict::not_enough_data:
      break;
  }
  return "not enough data";
}

std::string to_string(const Verdict& v) {
  std::string out = fmt::format("Verdict: {}: {}.\n", to_string(v.kind), v.why);
  for (const std::string& sentence : v.evidence) out += "  " + sentence + "\n";
  if (!v.what_ifs.empty()) {
    out += "  What if (computed):";
    for (const WhatIf& w : v.what_ifs) {
      fmt::format_to(std::back_inserter(out), "{} {}: {:.3f} us ({:.2f}x)",
                     &w == v.what_ifs.data() ? "" : ";", w.what, w.step_us, w.speedup);
    }
    out += ".\n";
  }
  if (!v.next.empty()) out += "  Next: " + v.next + "\n";
  return out;
}

std::ostream& operator<<(std::ostream& out, const Verdict& v) { return out << to_string(v); }

}  // namespace ingot::profiler
