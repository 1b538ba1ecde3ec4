#include <algorithm>

#include <ingot/profiler/attach_gpu.h>

namespace ingot::profiler {
namespace {

constexpr std::int64_t kLongestLaunch = 20'000;  // ns

// The observer's clock to ns since the window opened: a line through the two pairs.
class ClockLine {
 public:
  ClockLine(const ClockPair& first, const ClockPair& last, const TickMap& clock)
      : device_(first.observer_ns), host_(clock.ns(first.ticks)) {
    const auto device = static_cast<double>(last.observer_ns - first.observer_ns);
    const auto host = static_cast<double>(clock.ns(last.ticks) - host_);
    drift_ = static_cast<std::int64_t>(device - host);
    // Pairs that are one instant say nothing of the rates.
    if (device > 0 && host > 0) slope_ = host / device;
  }
  std::int64_t ns(std::int64_t observer) const {
    return host_ + static_cast<std::int64_t>(static_cast<double>(observer - device_) * slope_);
  }
  std::int64_t drift() const { return drift_; }

 private:
  std::int64_t device_, host_, drift_ = 0;
  double slope_ = 1;
};

// Puts calls among the slices of their thread. Each lies in the innermost slice that is open when
// it begins; what sticks out of that, a matter of the clocks, is cut. Calls that the runtime makes
// of the driver are part of the runtime's call.
class CallMerger {
 public:
  explicit CallMerger(Lane& lane) : lane_(lane) { merged_.reserve(lane.slices.size()); }

  void add(const ApiCall& call, std::int64_t begin, std::int64_t end) {
    while (next_ < lane_.slices.size() && lane_.slices[next_].begin <= begin) take_next();
    begin = std::max(begin, last_begin_);
    if (call.driver && begin < call_end_) {
      lane_.inner_calls.push_back({call.correlation, merged_[call_].correlation});
      return;
    }
    begin = std::max(begin, call_end_);
    while (!open_.empty() && merged_[open_.back()].end <= begin) open_.pop_back();
    if (!open_.empty()) end = std::min(end, merged_[open_.back()].end);
    if (next_ < lane_.slices.size()) end = std::min(end, lane_.slices[next_].begin);
    Slice s;
    s.kind = SliceKind::api;
    s.name = call.name;
    s.correlation = call.correlation;
    s.begin = begin;
    s.end = std::max(begin, end);
    s.depth = static_cast<int>(open_.size());
    call_ = merged_.size();
    call_end_ = s.end;
    merged_.push_back(s);
  }

  void finish() {
    while (next_ < lane_.slices.size()) take_next();
    lane_.slices = std::move(merged_);
  }

 private:
  void take_next() {
    const Slice& s = lane_.slices[next_++];
    open_.resize(std::min(open_.size(), static_cast<std::size_t>(s.depth)));
    open_.push_back(merged_.size());
    merged_.push_back(s);
    last_begin_ = std::max(last_begin_, s.begin);
  }

  Lane& lane_;
  std::vector<Slice> merged_;
  std::vector<std::size_t> open_;  // of the lane's own slices, by depth
  std::size_t next_ = 0, call_ = 0;
  std::int64_t last_begin_ = 0, call_end_ = 0;
};

void add_calls(Timeline& timeline, std::vector<ApiCall>& calls, const ClockLine& line) {
  std::stable_sort(calls.begin(), calls.end(), [](const ApiCall& a, const ApiCall& b) {
    if (a.tid != b.tid) return a.tid < b.tid;
    if (a.begin != b.begin) return a.begin < b.begin;
    return a.driver < b.driver;
  });
  for (auto call = calls.begin(); call != calls.end();) {
    const int tid = call->tid;
    auto lane = std::find_if(timeline.lanes.begin(), timeline.lanes.end(),
                             [&](const Lane& l) { return l.tid == tid; });
    if (lane == timeline.lanes.end()) {
      Lane own;
      own.tid = tid;
      lane = timeline.lanes.insert(lane, std::move(own));
    }
    CallMerger merger(*lane);
    for (; call != calls.end() && call->tid == tid; ++call) {
      const std::int64_t begin = std::max<std::int64_t>(line.ns(call->begin), 0);
      const std::int64_t end = std::max(line.ns(call->end), begin);
      merger.add(*call, begin, end);
      timeline.end = std::max(timeline.end, begin);
    }
    merger.finish();
    for (const Slice& s : lane->slices) timeline.end = std::max(timeline.end, s.end);
  }
}

// Kernels and the nodes of graphs: what LaunchCount counts.
bool is_launched(const GpuWork& w) { return w.graph_node != 0 || w.kind == WorkKind::kernel; }

// Records of waits name the context only.
void find_devices(GpuTimeline& gpu) {
  std::unordered_map<int, int> devices;  // by context
  for (const GpuWork& w : gpu.work) devices[w.context] = w.device;
  for (GpuWait& w : gpu.waits) {
    if (const auto found = devices.find(w.context); found != devices.end()) {
      w.device = found->second;
    } else if (gpu.devices.size() == 1) {
      w.device = gpu.devices[0].index;
    }
  }
}

// A record of a buffer that was lost, or of work that never ended, has no times: 0, or an end
// before the begin. Returns how many `counts` says were among them.
template <class Record, class F>
std::uint64_t drop_without_times(std::vector<Record>& records, F&& counts) {
  std::uint64_t n = 0;
  std::erase_if(records, [&](const Record& r) {
    const bool bad = r.begin <= 0 || r.end <= 0 || r.end < r.begin;
    n += bad && counts(r) ? 1 : 0;
    return bad;
  });
  return n;
}

void drop_without_times(GpuRecords& records, GpuTimeline& gpu) {
  const auto all = [](const auto&) { return true; };
  const std::size_t before = records.work.size();
  const std::uint64_t launched = drop_without_times(records.work, is_launched);
  const std::uint64_t other = before - records.work.size() - launched;
  const std::uint64_t beside = drop_without_times(records.calls, all) +
                               drop_without_times(records.overheads, all) +
                               drop_without_times(records.waits, all);
  gpu.without_times = launched + other + beside;
  records.dropped_work += launched;
  records.dropped_other += other + beside;
}

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> starts) {
  return std::any_of(starts.begin(), starts.end(),
                     [&](std::string_view start) { return text.starts_with(start); });
}

struct Place {
  int lane = -1, slice = -1;
};

// Where events and API calls are among the slices.
class Places {
 public:
  explicit Places(const Timeline& t) : window_(t.gpu.window & 0xFFF) {
    for (std::size_t l = 0; l < t.lanes.size(); ++l) {
      const Lane& lane = t.lanes[l];
      std::vector<int>& events = events_[lane.number & 0xFFFFF];
      for (std::size_t i = 0; i < lane.slices.size(); ++i) {
        const Slice& s = lane.slices[i];
        const Place place{static_cast<int>(l), static_cast<int>(i)};
        if (s.kind == SliceKind::api) {
          calls_[s.correlation] = place;
        } else if (s.kind == SliceKind::launch) {
          if (events.size() <= s.event) events.resize(s.event + 1, -1);
          events[s.event] = place.slice;
          lanes_[lane.number & 0xFFFFF] = place.lane;
        }
      }
      for (auto [inner, outer] : lane.inner_calls) {
        if (auto found = calls_.find(outer); found != calls_.end()) calls_[inner] = found->second;
      }
    }
  }

  Place event(std::uint64_t id) const {
    if (id == 0 || id >> 52 != window_) return {};
    const int thread = static_cast<int>(id >> 32 & 0xFFFFF);
    const auto index = static_cast<std::uint32_t>(id);
    const auto events = events_.find(thread);
    const auto lane = lanes_.find(thread);
    if (events == events_.end() || lane == lanes_.end() || index >= events->second.size()) {
      return {};
    }
    const int slice = events->second[index];
    return slice < 0 ? Place{} : Place{lane->second, slice};
  }
  Place call(std::uint32_t correlation) const {
    const auto found = calls_.find(correlation);
    return found == calls_.end() ? Place{} : found->second;
  }

 private:
  std::uint64_t window_;
  std::unordered_map<int, std::vector<int>> events_;  // by thread number
  std::unordered_map<int, int> lanes_;
  std::unordered_map<std::uint32_t, Place> calls_;  // by correlation
};

Slice& slice_at(Timeline& t, int lane, int slice) {
  return t.lanes[static_cast<std::size_t>(lane)].slices[static_cast<std::size_t>(slice)];
}

void find_owner(Timeline& t, const Places& places, GpuWork& w) {
  const Place call = places.call(w.correlation);
  w.call_lane = call.lane;
  w.call = call.slice;
  Place owner = places.event(w.link);
  if (owner.slice < 0 && call.slice >= 0) {
    // The call was made within that event, on its thread.
    int parent = slice_at(t, call.lane, call.slice).parent;
    while (parent >= 0 && slice_at(t, call.lane, parent).kind == SliceKind::setup) {
      parent = slice_at(t, call.lane, parent).parent;
    }
    if (parent >= 0 && slice_at(t, call.lane, parent).kind == SliceKind::launch) {
      owner = {call.lane, parent};
    }
  }
  w.lane = owner.lane;
  w.slice = owner.slice;
}

// The executable graph of a node.
std::uint64_t exec_of(const GpuWork& w) { return w.graph_node >> 32; }

// Which executable graph each of Timeline::graphs is, as most of its launches say. A launch that
// says otherwise was joined to another's event.
class ExecGraphs {
 public:
  void add(std::uint64_t graph, std::uint64_t exec) { ++votes_[graph][exec]; }
  bool agrees(std::uint64_t graph, std::uint64_t exec) const {
    const auto& votes = votes_.at(graph);
    const std::size_t own = votes.at(exec);
    return std::all_of(votes.begin(), votes.end(),
                       [&](const auto& v) { return v.first == exec || v.second < own; });
  }

 private:
  std::unordered_map<std::uint64_t, std::unordered_map<std::uint64_t, std::size_t>> votes_;
};

// Whether these, in the order of their numbers, can be one launch: each node of one graph once.
bool is_one_launch(const std::vector<GpuWork*>& nodes) {
  const auto same = [](const GpuWork* a, const GpuWork* b) {
    return a->graph_node == b->graph_node;
  };
  return exec_of(*nodes.front()) == exec_of(*nodes.back()) &&
         std::adjacent_find(nodes.begin(), nodes.end(), same) == nodes.end();
}

std::uint64_t graph_of(Timeline& t, const GpuWork& w) {
  return w.slice < 0 ? 0 : slice_at(t, w.lane, w.slice).graph;
}

// The nodes of one graph launch, first to last as the graph was made.
void name_nodes(Timeline& t, const std::vector<GpuWork*>& nodes, const ExecGraphs& execs) {
  ++t.gpu.count.graphs;
  const std::uint64_t graph = graph_of(t, *nodes.front());
  const auto found = t.graphs.find(graph);
  std::size_t expected = 0;
  if (found != t.graphs.end()) {
    for (const GraphOp& op : found->second) expected += static_cast<std::size_t>(op.nodes);
  }
  if (expected != nodes.size() || !is_one_launch(nodes) ||
      !execs.agrees(graph, exec_of(*nodes.front()))) {
    // Nothing says which node is which.
    ++t.gpu.count.misfits;
    t.gpu.count.launched += expected == 0 ? nodes.size() : expected;
    return;
  }
  t.gpu.count.launched += expected;
  std::size_t node = 0;
  for (std::size_t op = 0; op < found->second.size(); ++op) {
    for (int i = 0; i < found->second[op].nodes; ++i) {
      nodes[node++]->graph_op = static_cast<int>(op);
    }
  }
}

// CUPTI 13.0 is known to give graph launches wrong correlation ids from its second session in a
// process on. Sessions here finalise it, so that each is its first: over three sessions of 1130
// launches each none was wrong. Should one be, names are left out rather than given to the wrong
// nodes: the launch has another count, another graph's nodes, or one node twice.
void link_launches(Timeline& t) {
  std::unordered_map<std::uint32_t, std::vector<GpuWork*>> by_call;
  for (GpuWork& w : t.gpu.work) {
    w.first = w.correlation == 0;  // of an observer that knows no calls: a launch each
    if (!w.first) by_call[w.correlation].push_back(&w);
  }
  ExecGraphs execs;
  for (auto& [correlation, work] : by_call) {
    GpuWork& first =
        **std::min_element(work.begin(), work.end(),
                           [](const GpuWork* a, const GpuWork* b) { return a->begin < b->begin; });
    first.first = true;
    if (first.call >= 0) {
      const std::int64_t delay = first.begin - slice_at(t, first.call_lane, first.call).begin;
      if (delay < 0) ++t.gpu.count.too_early;
      first.delay = std::max<std::int64_t>(delay, 0);
    }
    if (first.graph_node == 0) continue;
    std::stable_sort(work.begin(), work.end(), [](const GpuWork* a, const GpuWork* b) {
      return a->graph_node < b->graph_node;
    });
    execs.add(graph_of(t, first), exec_of(first));
  }
  for (const auto& [correlation, work] : by_call) {
    if (work.front()->graph_node != 0) name_nodes(t, work, execs);
  }
}

// Launches while a graph is recorded give nothing to the GPU.
void count_launches(Timeline& t) {
  for (const Lane& lane : t.lanes) {
    bool capturing = false;
    for (const Slice& s : lane.slices) {
      if (s.kind != SliceKind::api) continue;
      if (starts_with_any(s.name, {"cudaStreamBeginCapture", "cuStreamBeginCapture"})) {
        capturing = true;
      } else if (starts_with_any(s.name, {"cudaStreamEndCapture", "cuStreamEndCapture"})) {
        capturing = false;
      } else if (!capturing && launches_kernel(s.name)) {
        ++t.gpu.count.launched;
      }
    }
  }
  for (const GpuWork& w : t.gpu.work) {
    t.gpu.count.recorded += is_launched(w) ? 1 : 0;
  }
}

}  // namespace

bool launches_kernel(std::string_view name) {
  return starts_with_any(name, {"cudaLaunchKernel", "cudaLaunchCooperativeKernel", "cuLaunchKernel",
                                "cuLaunchCooperativeKernel"});
}

bool launches_graph(std::string_view name) {
  return starts_with_any(name, {"cudaGraphLaunch", "cuGraphLaunch"});
}

std::int64_t waiting_ns(const Slice& s) {
  if (s.kind != SliceKind::api) return 0;
  if (s.name.find("Synchronize") != std::string_view::npos) return s.duration();
  const bool may_queue =
      launches_kernel(s.name) || launches_graph(s.name) ||
      starts_with_any(s.name, {"cudaMemcpy", "cudaMemset", "cuMemcpy", "cuMemset"});
  return may_queue ? std::max<std::int64_t>(s.duration() - kLongestLaunch, 0) : 0;
}

void attach_gpu(Timeline& t, GpuRecords records, const TickMap& clock, std::uint64_t window) {
  const ClockLine line(records.first, records.last, clock);
  GpuTimeline& gpu = t.gpu;
  drop_without_times(records, gpu);
  gpu.source = std::move(records.source);
  gpu.reason = std::move(records.reason);
  gpu.window = window;
  gpu.drift = line.drift();
  gpu.pair_width = std::max(records.first.width, records.last.width);
  gpu.launch_cost = records.launch_cost;
  gpu.devices = std::move(records.devices);
  gpu.texts = std::move(records.texts);
  gpu.dropped_other = records.dropped_other + records.dropped_launches + records.dropped_graphs;
  gpu.count.dropped = records.dropped_work;
  gpu.count.launched = records.dropped_launches;
  gpu.count.dropped_graphs = records.dropped_graphs;
  gpu.work = std::move(records.work);
  gpu.waits = std::move(records.waits);
  gpu.overheads = std::move(records.overheads);

  std::unordered_map<std::uint32_t, std::uint64_t> links;
  for (const LaunchLink& link : records.links) links[link.correlation] = link.id;
  const auto map = [&](auto& spans) {
    for (auto& s : spans) {
      s.begin = std::max<std::int64_t>(line.ns(s.begin), 0);
      s.end = std::max(line.ns(s.end), s.begin);
      t.end = std::max(t.end, s.end);
    }
  };
  map(gpu.work);
  map(gpu.waits);
  map(gpu.overheads);
  for (GpuWork& w : gpu.work) {
    if (auto link = links.find(w.correlation); w.link == 0 && link != links.end()) {
      w.link = link->second;
    }
  }
  std::stable_sort(gpu.work.begin(), gpu.work.end(),
                   [](const GpuWork& a, const GpuWork& b) { return a.begin < b.begin; });
  find_devices(gpu);
  add_calls(t, records.calls, line);
}

void link_gpu(Timeline& t) {
  const Places places(t);
  for (GpuWork& w : t.gpu.work) {
    find_owner(t, places, w);
    const std::int64_t duration = w.end - w.begin;
    t.self_device += duration;
    if (w.slice < 0) ++t.gpu.count.unlinked;
    if (w.slice >= 0) slice_at(t, w.lane, w.slice).self_work += duration;
    // All that holds the launch holds the work; an API call itself counts as host time only.
    const int lane = w.slice >= 0 ? w.lane : w.call_lane;
    int i = w.slice;
    if (i < 0 && w.call >= 0) i = slice_at(t, lane, w.call).parent;
    for (; i >= 0; i = slice_at(t, lane, i).parent) {
      slice_at(t, lane, i).device += duration;
    }
  }
  count_launches(t);
  link_launches(t);
}

}  // namespace ingot::profiler
