// The GPU's lanes of a trace.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include <ingot/profiler/trace_events.h>

namespace ingot::profiler {
namespace {

constexpr std::int64_t kGpuOrder = 5'000'000;  // GPUs stand below the host
constexpr std::int64_t kBeside = 2'000'000;    // per lane that a stream has beside its first
constexpr std::int64_t kWaitLane = 1'000'000;  // of a stream
constexpr std::int64_t kOverheadPid = -1, kOverheadOrder = 0x100000A;

const char* category(WorkKind kind) {
  switch (kind) {
    case WorkKind::copy:
      return "gpu_memcpy";
    case WorkKind::set:
      return "gpu_memset";
    case WorkKind::kernel:
      break;
  }
  return "kernel";
}

const Slice& slice_of(const Timeline& t, int lane, int slice) {
  return t.lanes[static_cast<std::size_t>(lane)].slices[static_cast<std::size_t>(slice)];
}

struct Occupancy {
  double blocks_per_multiprocessor = 0, warps_per_multiprocessor = 0;
  int percent = 0;  // of the warps that a multiprocessor can hold
};

// What the launch allows at most: registers come in 256 per warp, shared memory with 1 KiB of the
// system's per block, 32 blocks to a multiprocessor (CUDA programming guide, compute capabilities).
Occupancy occupancy(const GpuWork& w, const GpuDevice& d) {
  const std::int64_t threads = std::int64_t{w.block[0]} * w.block[1] * w.block[2];
  const double blocks = static_cast<double>(w.grid[0]) * w.grid[1] * w.grid[2];
  if (threads == 0 || d.multiprocessors == 0 || d.max_threads_per_multiprocessor == 0) return {};
  const std::int64_t warps = (threads + 31) / 32;
  const std::int64_t all_warps = d.max_threads_per_multiprocessor / 32;
  std::int64_t active = std::min<std::int64_t>(all_warps / warps, 32);
  const std::int64_t registers = (std::int64_t{w.registers} * 32 + 255) / 256 * 256 * warps;
  if (registers > 0) active = std::min(active, d.registers_per_multiprocessor / registers);
  if (w.shared_bytes > 0) {
    active = std::min(active, d.shared_per_multiprocessor / (w.shared_bytes + 1024));
  }
  Occupancy o;
  o.blocks_per_multiprocessor = blocks / d.multiprocessors;
  o.warps_per_multiprocessor = o.blocks_per_multiprocessor * static_cast<double>(warps);
  const double resident = std::min(static_cast<double>(active * warps), o.warps_per_multiprocessor);
  o.percent = static_cast<int>(100 * resident / static_cast<double>(all_warps) + 0.5);
  return o;
}

class GpuEvents {
 public:
  explicit GpuEvents(TraceEvents& trace) : trace_(trace), t_(trace.timeline()), w_(trace.json()) {}

  void run() {
    for (const GpuWork& work : t_.gpu.work) {
      const std::int64_t tid = lane_for(work);
      write(work, tid);
      flow(work, tid);
    }
    for (const GpuWait& wait : t_.gpu.waits) write(wait);
    overheads();
    names();
  }

 private:
  // The first lane of the stream on which nothing runs any more.
  std::int64_t lane_for(const GpuWork& work) {
    std::vector<std::int64_t>& ends = streams_[{work.device, work.stream}];
    std::size_t k = 0;
    while (k < ends.size() && ends[k] > work.begin) ++k;
    if (k == ends.size()) ends.push_back(0);
    ends[k] = work.end;
    return work.stream + static_cast<std::int64_t>(k) * kBeside;
  }

  const GpuDevice* device(int index) const {
    for (const GpuDevice& d : t_.gpu.devices) {
      if (d.index == index) return &d;
    }
    return nullptr;
  }

  void write(const GpuWork& work, std::int64_t tid) {
    const Slice* launch = work.slice < 0 ? nullptr : &slice_of(t_, work.lane, work.slice);
    std::string_view name = work.name;
    // Events do not know which kernels they are around.
    if (name.empty() && launch != nullptr) name = launch->name;
    trace_.open("X", category(work.kind), name.empty() ? "kernels" : name, work.device, tid,
                work.begin);
    w_.key("dur").us(work.end - work.begin).key("args").open_object();
    if (work.slice >= 0) {
      const Lane& lane = t_.lanes[static_cast<std::size_t>(work.lane)];
      w_.member("External id", trace_.external_id(lane, static_cast<std::size_t>(work.slice)));
    } else if (work.call >= 0 && slice_of(t_, work.call_lane, work.call).parent >= 0) {
      const Lane& lane = t_.lanes[static_cast<std::size_t>(work.call_lane)];
      w_.member("External id", trace_.external_id(lane, static_cast<std::size_t>(work.call)));
    }
    w_.member("device", work.device).member("context", work.context);
    w_.member("stream", work.stream);
    w_.member("correlation", static_cast<std::uint64_t>(work.correlation));
    if (work.kind == WorkKind::kernel) {
      kernel_args(work);
    } else {
      w_.member("bytes", work.bytes);
      const auto ns = static_cast<double>(std::max<std::int64_t>(work.end - work.begin, 1));
      w_.member("memory bandwidth (GB/s)", static_cast<double>(work.bytes) / ns);
    }
    if (work.graph_node != 0) {
      w_.member("graph id", work.graph_node >> 32);
      w_.member("graph node id", work.graph_node & 0xFFFFFFFF);
    }
    if (work.graph_op >= 0 && launch != nullptr) {
      const GraphOp& op = t_.graphs.at(launch->graph)[static_cast<std::size_t>(work.graph_op)];
      w_.member("Op", op.name);
      if (!op.fused_from.empty()) w_.member("Fused from", op.fused_from);
    } else if (launch != nullptr && !launch->fused_from.empty()) {
      w_.member("Fused from", launch->fused_from);
    }
    w_.close_object();
    trace_.close();
  }

  void three(const char* key, const int (&v)[3]) {
    w_.key(key).open_array();
    for (int n : v) w_.value(n);
    w_.close_array();
  }

  void kernel_args(const GpuWork& work) {
    if (work.block[0] == 0) return;
    w_.member("registers per thread", work.registers);
    w_.member("shared memory", work.shared_bytes);
    three("grid", work.grid);
    three("block", work.block);
    const GpuDevice* d = device(work.device);
    if (d == nullptr || d->multiprocessors == 0) return;
    const Occupancy o = occupancy(work, *d);
    w_.member("blocks per SM", o.blocks_per_multiprocessor);
    w_.member("warps per SM", o.warps_per_multiprocessor);
    w_.member("est. achieved occupancy %", o.percent);
  }

  void flow(const GpuWork& work, std::int64_t tid) {
    if (work.call < 0) return;
    const Lane& lane = t_.lanes[static_cast<std::size_t>(work.call_lane)];
    const Slice& call = lane.slices[static_cast<std::size_t>(work.call)];
    const auto id = static_cast<std::uint64_t>(work.correlation);
    if (work.first) {
      trace_.open("s", "ac2g", "ac2g", lane.tid, call.begin);
      w_.member("id", id);
      trace_.close();
    }
    trace_.open("f", "ac2g", "ac2g", work.device, tid, work.begin);
    w_.member("id", id).member("bp", "e");
    trace_.close();
  }

  void write(const GpuWait& wait) {
    if (wait.stream < 0 || wait.device < 0) return;  // the API call's own slice shows it
    std::int64_t& end = waits_[{wait.device, wait.stream}];
    if (wait.begin < end) return;  // two threads wait for one stream
    end = wait.end;
    trace_.open("X", "cuda_sync", wait.name, wait.device, wait.stream + kWaitLane, wait.begin);
    w_.key("dur").us(wait.end - wait.begin).key("args").open_object();
    w_.member("device", wait.device).member("context", wait.context);
    w_.member("stream", wait.stream);
    w_.member("correlation", static_cast<std::uint64_t>(wait.correlation)).close_object();
    trace_.close();
  }

  void overheads() {
    std::map<int, std::int64_t> ends;
    for (const GpuOverhead& o : t_.gpu.overheads) {
      std::int64_t& end = ends[o.tid];
      const std::int64_t begin = std::max(o.begin, end);
      end = std::max(o.end, begin);
      trace_.open("X", "overhead", o.name, kOverheadPid, o.tid, begin);
      w_.key("dur").us(end - begin);
      trace_.close();
    }
    if (ends.empty()) return;
    trace_.name("process_name", kOverheadPid, 0, "name", "overhead of the driver and CUPTI");
    trace_.name("process_sort_index", kOverheadPid, 0, "sort_index", kOverheadOrder);
  }

  void names() {
    int last = -1;
    for (const auto& [key, ends] : streams_) {
      const auto [index, stream] = key;
      if (index != last) {
        const GpuDevice* d = device(index);
        const std::string label = fmt::format("GPU {}", index);
        trace_.name("process_name", index, 0, "name",
                    d == nullptr ? label : label + " (" + d->name + ")");
        trace_.name("process_labels", index, 0, "labels", label);
        trace_.name("process_sort_index", index, 0, "sort_index", kGpuOrder + index);
        last = index;
      }
      for (std::size_t k = 0; k < ends.size(); ++k) {
        const std::int64_t tid = stream + static_cast<std::int64_t>(k) * kBeside;
        trace_.name("thread_name", index, tid, "name",
                    fmt::format("stream {}{}", stream, k == 0 ? "" : " (overlapping)"));
        trace_.name("thread_sort_index", index, tid, "sort_index",
                    stream * 16 + static_cast<std::int64_t>(k));
      }
    }
    for (const auto& [key, end] : waits_) {
      const auto [index, stream] = key;
      trace_.name("thread_name", index, stream + kWaitLane, "name",
                  fmt::format("stream {} (sync)", stream));
    }
  }

  TraceEvents& trace_;
  const Timeline& t_;
  JsonWriter& w_;
  std::map<std::pair<int, int>, std::vector<std::int64_t>> streams_;  // ends of their lanes
  std::map<std::pair<int, int>, std::int64_t> waits_;
};

}  // namespace

void write_device_properties(TraceEvents& trace) {
  JsonWriter& w = trace.json();
  w.key("deviceProperties").open_array();
  for (const GpuDevice& d : trace.timeline().gpu.devices) {
    w.line_break();
    w.open_object().member("id", d.index).member("name", d.name);
    w.member("totalGlobalMem", d.memory);
    w.member("computeMajor", d.major).member("computeMinor", d.minor);
    w.member("maxThreadsPerMultiprocessor", d.max_threads_per_multiprocessor);
    w.member("regsPerMultiprocessor", d.registers_per_multiprocessor);
    w.member("sharedMemPerMultiprocessor", d.shared_per_multiprocessor);
    w.member("warpSize", 32).member("numSms", d.multiprocessors).close_object();
  }
  w.close_array();
}

void write_gpu_events(TraceEvents& trace) {
  if (trace.timeline().gpu.recorded()) GpuEvents(trace).run();
}

}  // namespace ingot::profiler
