// What was spent in each step or pass through a range.
#include <algorithm>
#include <set>

#include <ingot/kernels/core/check.h>
#include <ingot/profiler/aggregate.h>
#include <ingot/profiler/judge.h>

namespace ingot::profiler {
namespace {

constexpr double kNear = 0.05;  // of the roofline: below, something else is the limit

bool is_host_work(SliceKind kind) { return kind == SliceKind::op || kind == SliceKind::replay; }

void add_kernel(const Slice& s, const Roofline& roofline, Unit& unit) {
  auto self = static_cast<double>(s.self);
  ++unit.launches;
  unit.self_device += self;
  if (!s.has_cost) return;
  LeastTime least = least_time(s.cost, roofline);
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
  if (s.kind != SliceKind::step && s.kind != SliceKind::overhead) ++unit.events;
  unit.compiles |= s.kind == SliceKind::compile;
  if (s.is_kernel()) {
    add_kernel(s, roofline, unit);
  } else {
    unit.self_host += static_cast<double>(s.self);
    if (is_host_work(s.kind)) unit.op_host += static_cast<double>(s.self);
    if (s.kind == SliceKind::overhead) unit.observer += static_cast<double>(s.self);
  }
}

void take_off_observer(const Timeline& timeline, Unit& unit) {
  unit.observer += timeline.event_cost_ns * static_cast<double>(unit.events);
  unit.observer = std::min(unit.observer, std::max(0.0, unit.wall - unit.device));
  unit.wall -= unit.observer;
  // A kernel's event lies inside its op.
  unit.op_host -= timeline.event_cost_ns * static_cast<double>(unit.launches);
  unit.op_host = std::clamp(unit.op_host, 0.0, unit.host());
}

std::vector<Unit> step_units(const Timeline& timeline, const Roofline& roofline) {
  const BusyTime device(timeline);
  std::vector<Unit> units;
  for (const StepTime& step : timeline.steps) {
    Unit& unit = units.emplace_back();
    unit.name = "ProfilerStep#" + std::to_string(step.number);
    unit.wall = static_cast<double>(step.end - step.begin);
    unit.device = static_cast<double>(device.in(step.begin, step.end));
  }
  for (const Lane& lane : timeline.lanes) {
    for (const Slice& s : lane.slices) {
      auto after =
          std::upper_bound(timeline.steps.begin(), timeline.steps.end(), s.begin,
                           [](std::int64_t t, const StepTime& step) { return t < step.begin; });
      if (after == timeline.steps.begin()) continue;
      auto index = static_cast<std::size_t>(after - timeline.steps.begin() - 1);
      if (s.begin < timeline.steps[index].end) add(s, roofline, units[index]);
    }
  }
  return units;
}

std::vector<Unit> range_units(const Timeline& timeline, std::string_view range,
                              const Roofline& roofline) {
  std::vector<Unit> units;
  std::set<std::string_view> known;
  for (const Lane& lane : timeline.lanes) {
    for (std::size_t i = 0; i < lane.slices.size(); ++i) {
      const Slice& s = lane.slices[i];
      if (s.kind != SliceKind::range && s.kind != SliceKind::module && s.kind != SliceKind::step) {
        continue;
      }
      known.insert(s.name);
      if (s.name != range || s.unfinished) continue;
      Unit& unit = units.emplace_back();
      unit.name = range;
      unit.wall = static_cast<double>(s.duration());
      unit.device = static_cast<double>(s.device);
      add(s, roofline, unit);
      // What it holds follows it; a pass inside a pass is part of the outer one.
      while (i + 1 < lane.slices.size() && lane.slices[i + 1].depth > s.depth) {
        add(lane.slices[++i], roofline, unit);
        known.insert(lane.slices[i].name);
      }
    }
  }
  if (units.empty() && !known.contains(range)) {
    std::string names;
    for (std::string_view name : known) {
      names += (names.empty() ? "" : ", ") + std::string(name);
      if (names.size() > 300) {
        names += ", ...";
        break;
      }
    }
    INGOT_CHECK(false, "verdict: no range is named '{}'; there are: {}", range,
                names.empty() ? "none" : names);
  }
  return units;
}

}  // namespace

std::vector<Unit> units_of(const Timeline& timeline, std::string_view range,
                           const Roofline& roofline) {
  std::vector<Unit> units =
      range.empty() ? step_units(timeline, roofline) : range_units(timeline, range, roofline);
  for (Unit& unit : units) take_off_observer(timeline, unit);
  return units;
}

}  // namespace ingot::profiler
