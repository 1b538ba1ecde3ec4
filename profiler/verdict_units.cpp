// What was spent in each step or pass through a range.
#include <algorithm>
#include <set>

#include <ingot/kernels/core/check.h>
#include <ingot/profiler/aggregate.h>
#include <ingot/profiler/attach_gpu.h>
#include <ingot/profiler/executions.h>
#include <ingot/profiler/judge.h>
#include <ingot/profiler/record.h>

namespace ingot::profiler {
namespace {

constexpr double kNear = 0.05;  // of the roofline: below, something else is the limit

bool is_host_work(SliceKind kind) {
  return kind == SliceKind::op || kind == SliceKind::replay || kind == SliceKind::launch ||
         kind == SliceKind::api;
}

// A kernel's body, or all that an op gave a GPU.
void add_body(double self, const Cost* cost, Peak peak, const Roofline& roofline, Unit& unit) {
  unit.self_device += self;
  if (cost == nullptr) return;
  LeastTime least = least_time(*cost, roofline, peak);
  if (least.ns() <= 0) return;
  unit.known += self;
  unit.roofline += least.ns();
  if (least.ns() < kNear * self) {
    unit.far += self;
  } else if (least.memory >= least.compute) {
    unit.memory_side += self;
    // Fewer bytes help until the arithmetic is the limit.
    unit.half_bytes += self - std::max(self / 2, std::min(self, least.compute));
  } else {
    unit.compute_side += self;
  }
}

void add(const Slice& s, const Roofline& roofline, Unit& unit) {
  const bool recorded =
      s.kind != SliceKind::step && s.kind != SliceKind::overhead && s.kind != SliceKind::api;
  if (recorded) ++unit.events;
  unit.compiles |= s.kind == SliceKind::compile || s.kind == SliceKind::setup;
  if (s.is_kernel()) {
    ++unit.launches;
    add_body(static_cast<double>(s.self), s.has_cost ? &s.cost : nullptr, Peak::f32, roofline,
             unit);
  } else {
    const auto wait = static_cast<double>(waiting_ns(s));
    unit.self_host += static_cast<double>(s.self);
    unit.host_work -= wait;
    if (is_host_work(s.kind)) unit.op_host += static_cast<double>(s.self) - wait;
    unit.unseen |= s.kind == SliceKind::launch;
    if (s.kind == SliceKind::overhead) unit.observer += static_cast<double>(s.self);
  }
}

// For each slice of each lane the unit that it belongs to, or -1.
using Owners = std::vector<std::vector<int>>;

Owners no_owners(const Timeline& timeline) {
  Owners owners;
  for (const Lane& lane : timeline.lanes) owners.emplace_back(lane.slices.size(), -1);
  return owners;
}

// A pass that nests in nothing, and where to look for what it is about.
struct BesidePass {
  int unit;
  std::size_t first_lane, last_lane;
};

bool is_in(const Unit& unit, const Slice& s) { return s.begin >= unit.begin && s.begin < unit.end; }

// What each unit gave the GPU, and what it added to the time until all of that was done: the host
// may be steps ahead of the GPU, so a step's own begin and end do not tell.
void add_gpu_work(const Timeline& t, const Owners& owners, const std::vector<BesidePass>& beside,
                  const Roofline& roofline, std::vector<Unit>& units) {
  // Calls f for each unit that launched what this slice did: passes may overlap.
  const auto each_owner = [&](int lane, int slice, auto&& f) {
    if (slice < 0) return;
    const auto l = static_cast<std::size_t>(lane), i = static_cast<std::size_t>(slice);
    if (const int index = owners[l][i]; index >= 0) f(static_cast<std::size_t>(index));
    for (const BesidePass& pass : beside) {
      const auto index = static_cast<std::size_t>(pass.unit);
      if (l < pass.first_lane || l > pass.last_lane) continue;
      if (is_in(units[index], t.lanes[l].slices[i])) f(index);
    }
  };
  std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> spans(units.size());
  for (const GpuWork& w : t.gpu.work) {
    each_owner(w.slice < 0 ? w.call_lane : w.lane, w.slice < 0 ? w.call : w.slice,
               [&](std::size_t index) {
                 Unit& unit = units[index];
                 unit.last_work = std::max(unit.last_work, w.end);
                 unit.launches += w.first ? 1 : 0;
                 if (w.graph_node != 0) {
                   unit.graphs += w.first ? 1 : 0;
                   ++unit.graph_nodes;
                 }
                 spans[index].emplace_back(w.begin, w.end);
               });
  }
  for (const Execution& e : executions(t)) {
    each_owner(e.slice < 0 ? e.call_lane : e.lane, e.slice < 0 ? e.call : e.slice,
               [&](std::size_t index) {
                 add_body(static_cast<double>(e.device), e.cost, e.peak, roofline, units[index]);
               });
  }
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < units.size(); ++i) {
    units[i].gpu = true;
    units[i].device = static_cast<double>(BusyTime(std::move(spans[i])).all());
    units[i].host_work += static_cast<double>(units[i].end - units[i].begin);
    order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return units[a].begin < units[b].begin; });
  std::int64_t done = 0;
  for (std::size_t i : order) {
    const std::int64_t begin = std::max(units[i].begin, done);
    done = std::max({done, units[i].end, units[i].last_work});
    units[i].wall = std::max(static_cast<double>(done - begin), units[i].device);
  }
}

void take_off_observer(const Timeline& timeline, Unit& unit) {
  unit.observer += timeline.event_cost_ns * static_cast<double>(unit.events);
  if (unit.gpu) {
    const LaunchCost& cost = timeline.gpu.launch_cost;
    unit.observer += cost.kernel * static_cast<double>(unit.launches - unit.graphs) +
                     cost.graph * static_cast<double>(unit.graphs) +
                     cost.graph_node * static_cast<double>(unit.graph_nodes);
  }
  unit.observer = std::min(unit.observer, std::max(0.0, unit.wall - unit.device));
  unit.wall -= unit.observer;
  if (unit.gpu) {
    unit.host_work = std::max(unit.host_work - unit.observer, 0.0);
    unit.op_host = std::clamp(unit.op_host - unit.observer, 0.0, unit.host_work);
    return;
  }
  // A kernel's event lies inside its op.
  unit.op_host -= timeline.event_cost_ns * static_cast<double>(unit.launches);
  unit.op_host = std::clamp(unit.op_host, 0.0, unit.host());
}

std::vector<Unit> step_units(const Timeline& timeline, const Roofline& roofline, Owners& owners) {
  const BusyTime device(timeline);
  std::vector<Unit> units;
  for (const StepTime& step : timeline.steps) {
    Unit& unit = units.emplace_back();
    unit.name = "ProfilerStep#" + std::to_string(step.number);
    unit.wall = static_cast<double>(step.end - step.begin);
    unit.device = static_cast<double>(device.in(step.begin, step.end));
    unit.begin = step.begin;
    unit.end = step.end;
  }
  for (std::size_t l = 0; l < timeline.lanes.size(); ++l) {
    const Lane& lane = timeline.lanes[l];
    for (std::size_t i = 0; i < lane.slices.size(); ++i) {
      const Slice& s = lane.slices[i];
      auto after =
          std::upper_bound(timeline.steps.begin(), timeline.steps.end(), s.begin,
                           [](std::int64_t t, const StepTime& step) { return t < step.begin; });
      if (after == timeline.steps.begin()) continue;
      auto index = static_cast<std::size_t>(after - timeline.steps.begin() - 1);
      if (s.begin >= timeline.steps[index].end) continue;
      add(s, roofline, units[index]);
      owners[l][i] = static_cast<int>(index);
    }
  }
  return units;
}

// A pass that nests in nothing is judged by what began during it. What is not over when the pass
// ends counts up to there.
Unit beside_unit(const Timeline& t, const BesidePass& pass, const Slice& range,
                 const BusyTime& device, const Roofline& roofline) {
  Unit unit;
  unit.name = range.name;
  unit.beside = true;
  unit.wall = static_cast<double>(range.duration());
  unit.begin = range.begin;
  unit.end = range.end;
  unit.events = 1;  // the range's own
  for (std::size_t l = pass.first_lane; l <= pass.last_lane; ++l) {
    const std::vector<Slice>& slices = t.lanes[l].slices;
    auto s = std::lower_bound(slices.begin(), slices.end(), range.begin,
                              [](const Slice& a, std::int64_t at) { return a.begin < at; });
    for (; s != slices.end() && s->begin < range.end; ++s) {
      Slice part = *s;
      part.end = std::min(part.end, range.end);
      part.self = std::min(part.self, part.duration());
      add(part, roofline, unit);
      if (part.is_kernel()) unit.device += static_cast<double>(part.self);
    }
  }
  // Kernels of several threads may run at once.
  if (pass.first_lane != pass.last_lane) {
    unit.device = static_cast<double>(device.in(range.begin, range.end));
  }
  return unit;
}

std::vector<Unit> range_units(const Timeline& timeline, std::string_view range,
                              const Roofline& roofline, Owners& owners,
                              std::vector<BesidePass>& beside) {
  std::vector<Unit> units;
  std::set<std::string_view> known;
  // Names were cut when they were recorded, those of modules were not.
  const std::string recorded = recorded_text(range);
  const auto is_wanted = [&](const Slice& s) {
    return !s.unfinished && (s.name == range || s.name == recorded);
  };
  const BusyTime device(timeline);
  for (std::size_t l = 0; l < timeline.lanes.size(); ++l) {
    const Lane& lane = timeline.lanes[l];
    for (const Slice& s : lane.across) {
      known.insert(s.name);
      if (!is_wanted(s)) continue;
      BesidePass pass{static_cast<int>(units.size()), l, l};
      if (s.ended_elsewhere) pass = {pass.unit, 0, timeline.lanes.size() - 1};
      units.push_back(beside_unit(timeline, pass, s, device, roofline));
      beside.push_back(pass);
    }
    for (std::size_t i = 0; i < lane.slices.size(); ++i) {
      const Slice& s = lane.slices[i];
      if (s.kind != SliceKind::range && s.kind != SliceKind::module && s.kind != SliceKind::step) {
        continue;
      }
      known.insert(s.name);
      if (!is_wanted(s)) continue;
      Unit& unit = units.emplace_back();
      unit.name = s.name;
      unit.wall = static_cast<double>(s.duration());
      unit.device = static_cast<double>(s.device);
      unit.begin = s.begin;
      unit.end = s.end;
      add(s, roofline, unit);
      // What it holds follows it; a pass inside a pass is part of the outer one.
      while (i + 1 < lane.slices.size() && lane.slices[i + 1].depth > s.depth) {
        add(lane.slices[++i], roofline, unit);
        owners[l][i] = static_cast<int>(units.size()) - 1;
        known.insert(lane.slices[i].name);
      }
    }
  }
  if (units.empty() && known.contains(recorded)) return units;
  if (units.empty() && !known.contains(range)) {
    std::string names;
    for (std::string_view name : known) {
      names += (names.empty() ? "" : ", ") + std::string(name);
      if (names.size() > 300) {
        names += ", ...";
        break;
      }
    }
    INGOT_CHECK(false, "verdict: no range is named '{}'; there are: {}", recorded,
                names.empty() ? "none" : names);
  }
  return units;
}

}  // namespace

std::vector<Unit> units_of(const Timeline& timeline, std::string_view range,
                           const Roofline& roofline) {
  Owners owners = no_owners(timeline);
  std::vector<BesidePass> beside;
  std::vector<Unit> units = range.empty() ? step_units(timeline, roofline, owners)
                                          : range_units(timeline, range, roofline, owners, beside);
  if (timeline.on_gpu()) add_gpu_work(timeline, owners, beside, roofline, units);
  for (Unit& unit : units) {
    unit.unseen &= !timeline.gpu.recorded();
    take_off_observer(timeline, unit);
  }
  return units;
}

}  // namespace ingot::profiler
