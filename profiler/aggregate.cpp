#include <algorithm>
#include <cmath>
#include <unordered_map>

#include <fmt/format.h>

#include <ingot/profiler/aggregate.h>

namespace ingot::profiler {
namespace {

double us(std::int64_t ns) { return static_cast<double>(ns) / 1e3; }

// The smallest sample that at least the share q of all samples does not exceed.
double quantile(std::vector<std::int64_t>& samples, double q) {
  if (samples.empty()) return 0;
  auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(samples.size())));
  auto at = samples.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1) - 1);
  std::nth_element(samples.begin(), at, samples.end());
  return us(*at);
}

double median(std::vector<std::int64_t>& samples) {
  double upper = quantile(samples, 0.5);
  if (samples.size() % 2 == 1 || samples.empty()) return upper;
  auto next = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  return (upper + us(*std::min_element(next, samples.end()))) / 2;
}

class Aggregator {
 public:
  Aggregator(const AggregateOptions& options, const Roofline& roofline)
      : options_(options), roofline_(roofline) {}

  void add(const Lane& lane) {
    rows_of_.emplace_back();
    for (std::size_t i = 0; i < lane.slices.size(); ++i) {
      const Slice& s = lane.slices[i];
      std::size_t row = belongs_to_parent(lane, s) ? row_of()[static_cast<std::size_t>(s.parent)]
                                                   : row_for(lane, s);
      row_of().push_back(row);
      add_times(lane, s, row);
      if (s.is_kernel() && s.has_cost) add_cost(s.cost, s.self, Peak::f32, row);
    }
    for (const Slice& s : lane.across) add_unsummed(lane, s);
  }

  // After all lanes.
  void add(const Execution& e) {
    const double device = us(e.device);
    std::size_t index = 0;
    if (e.op != nullptr || e.slice < 0) {
      index = row_for(e);
      rows_[index].calls += 1;
      rows_[index].device_total_us += device;
      samples_[index].push_back(e.device);
    } else {
      index = rows_of_[static_cast<std::size_t>(e.lane)][static_cast<std::size_t>(e.slice)];
    }
    Row& row = rows_[index];
    row.self_device_us += device;
    row.gpu_work += e.pieces;
    // Of a graph only the first node waits for its launch.
    if (e.first->first && e.first->delay >= 0) delays_[index].push_back(e.first->delay);
    if (e.cost != nullptr) add_cost(*e.cost, e.device, e.peak, index);
  }

  void add_unsummed(const Lane& lane, const Slice& s) {
    std::size_t row = row_for(lane, s);
    rows_[row].calls += 1;
    rows_[row].beside += 1;
    rows_[row].cpu_total_us += us(s.duration());
    samples_[row].push_back(s.duration());
  }

  std::vector<Row> finish() {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      rows_[i].median_us = median(samples_[i]);
      rows_[i].p95_us = quantile(samples_[i], 0.95);
      if (auto delays = delays_.find(i); delays != delays_.end()) {
        rows_[i].launch_delay_us = median(delays->second);
      }
    }
    std::stable_sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) {
      return a.self_cpu_us + a.self_device_us > b.self_cpu_us + b.self_device_us;
    });
    return std::move(rows_);
  }

 private:
  std::size_t row_for(const Lane& lane, const Slice& s) {
    std::string name = s.kind == SliceKind::step ? "ProfilerStep*" : shown_name(s);
    std::string shapes = options_.by_shape ? shapes_text(lane, s) : "";
    std::string source;
    if (options_.with_stack && s.line > 0) {
      source = to_string(Loc::here(s.file, s.line));
    }
    return row_named(static_cast<int>(s.kind), std::move(name), std::move(shapes),
                     std::move(source), s.fused_from);
  }

  std::size_t row_for(const Execution& e) {
    if (e.op == nullptr) {
      return row_named(kLooseWork, std::string(e.first->name), "", "", "");
    }
    std::string source;
    if (options_.with_stack && e.op->line > 0) {
      source = to_string(Loc::here(e.op->file, e.op->line));
    }
    return row_named(kGraphOp, std::string(e.op->name), "", std::move(source), e.op->fused_from);
  }

  // The kind keeps an op apart from a range of its name.
  std::size_t row_named(int kind, std::string name, std::string shapes, std::string source,
                        std::string_view fused_from) {
    std::string key =
        fmt::format("{}\x1f{}\x1f{}\x1f{}\x1f{}", kind, name, shapes, source, fused_from);
    auto [found, is_new] = index_.emplace(std::move(key), rows_.size());
    if (is_new) {
      Row& row = rows_.emplace_back();
      row.name = std::move(name);
      row.shapes = std::move(shapes);
      row.source = std::move(source);
      row.fused_from = fused_from;
      samples_.emplace_back();
    }
    return found->second;
  }

  // A recursive call's total is part of the outer call's.
  bool inside_same_row(const Lane& lane, const Slice& s, std::size_t row) const {
    for (int p = s.parent; p >= 0; p = lane.slices[static_cast<std::size_t>(p)].parent) {
      if (rows_of_.back()[static_cast<std::size_t>(p)] == row) return true;
    }
    return false;
  }

  void add_times(const Lane& lane, const Slice& s, std::size_t index) {
    Row& row = rows_[index];
    bool merged = belongs_to_parent(lane, s);
    (s.is_kernel() ? row.self_device_us : row.self_cpu_us) += us(s.self);
    row.self_memory += s.self_memory;
    row.self_gpu_memory += s.self_gpu_memory;
    if (merged) return;
    row.calls += 1;
    samples_[index].push_back(s.duration());
    if (inside_same_row(lane, s, index)) return;
    row.device_total_us += us(s.device);
    row.memory += s.memory;
    row.gpu_memory += s.gpu_memory;
    if (!s.is_kernel()) row.cpu_total_us += us(s.duration());
  }

  void add_cost(const Cost& cost, std::int64_t device, Peak peak, std::size_t index) {
    Row& row = rows_[index];
    row.flops += cost.flops + cost.transcendentals;
    row.bytes += cost.bytes;
    row.cost_us += us(device);
    row.roofline_us += least_time(cost, roofline_, peak).ns() / 1e3;
  }

  std::vector<std::size_t>& row_of() { return rows_of_.back(); }

  // Kinds of rows beside those of slices.
  static constexpr int kGraphOp = 100, kLooseWork = 101;

  const AggregateOptions& options_;
  const Roofline& roofline_;
  std::vector<Row> rows_;
  std::vector<std::vector<std::int64_t>> samples_;
  std::unordered_map<std::size_t, std::vector<std::int64_t>> delays_;  // by row
  std::vector<std::vector<std::size_t>> rows_of_;                      // by lane, of its slices
  std::unordered_map<std::string, std::size_t> index_;
};

}  // namespace

LeastTime least_time(const Cost& cost, const Roofline& roofline, Peak peak) {
  double ops = cost.flops + kTranscendentalOps * cost.transcendentals;
  const double flops = flops_per_s(roofline, peak);
  return {.memory = roofline.bytes_per_s > 0 ? cost.bytes / roofline.bytes_per_s * 1e9 : 0,
          .compute = flops > 0 ? ops / flops * 1e9 : 0};
}

std::string shown_name(const Slice& s) {
  std::string name(s.name);
  switch (s.kind) {
    case SliceKind::op:
      return "aten::" + name;
    case SliceKind::compile:
      return "compile: " + name;
    case SliceKind::setup:
      return "setup: " + name;
    case SliceKind::replay:
      return "replay: " + name;
    default:
      return name;
  }
}

bool belongs_to_parent(const Lane& lane, const Slice& kernel) {
  const bool is_body = kernel.is_kernel() || kernel.kind == SliceKind::launch;
  if (!is_body || kernel.parent < 0 || kernel.op == nullptr || !kernel.fused_from.empty()) {
    return false;
  }
  const Slice& parent = lane.slices[static_cast<std::size_t>(kernel.parent)];
  return parent.kind == SliceKind::op && parent.op == kernel.op;
}

std::string shapes_text(const Lane& lane, const Slice& s) {
  if (s.shapes < 0) return "";
  std::string text = "[";
  for (const ArgShape& shape : lane.shapes[static_cast<std::size_t>(s.shapes)]) {
    if (text.size() > 1) text += ", ";
    text += shape.scalar ? "[]" : to_string(shape.sizes);
  }
  return text + "]";
}

Averages aggregate(const Timeline& timeline, const AggregateOptions& options,
                   const Roofline& roofline) {
  auto data = std::make_shared<Averages::Data>();
  Aggregator rows(options, roofline);
  for (const Lane& lane : timeline.lanes) rows.add(lane);
  if (timeline.step_lane < 0) {
    for (const StepTime& step : timeline.steps) {
      Slice s;
      s.kind = SliceKind::step;
      s.begin = step.begin;
      s.end = step.end;
      rows.add_unsummed({}, s);
    }
  }
  for (const Execution& e : executions(timeline)) rows.add(e);
  data->rows = rows.finish();
  data->self_host_us = us(timeline.self_host);
  data->self_device_us = us(timeline.self_device);
  const BusyTime device(timeline);
  std::int64_t window = timeline.end, busy = 0;
  if (timeline.steps.empty()) {
    busy = device.in(0, timeline.end);
  } else {
    window = 0;
    for (const StepTime& step : timeline.steps) {
      window += step.end - step.begin;
      busy += device.in(step.begin, step.end);
    }
    // A GPU works on after the host has finished the last step.
    const std::int64_t last = timeline.steps.back().end;
    if (timeline.on_gpu()) {
      const std::int64_t end = std::max(last, device.last_end());
      window += end - last;
      busy += device.in(last, end);
    }
  }
  data->window_us = us(window);
  data->device_busy = window > 0 ? static_cast<double>(busy) / static_cast<double>(window) : 0;
  data->steps = static_cast<int>(timeline.steps.size());
  data->events = timeline.events;
  data->dropped = timeline.dropped;
  data->event_cost_ns = timeline.event_cost_ns;
  data->empty_event_ns = timeline.empty_event_ns;
  add_first_steps(timeline, *data);
  add_gpu(timeline, *data);
  bool has_cost = std::any_of(data->rows.begin(), data->rows.end(),
                              [](const Row& row) { return row.cost_us > 0; });
  if (has_cost) {
    data->roofline = fmt::format("{:.1f} GB/s, {:.1f} GFLOP/s ({})", roofline.bytes_per_s / 1e9,
                                 roofline.flops_per_s / 1e9, roofline.how);
  }
  data->with_memory = options.with_memory;
  data->with_shapes = options.by_shape;
  data->with_stack = options.with_stack;
  return Averages(std::move(data));
}

}  // namespace ingot::profiler
