#include <ingot/profiler/aggregate.h>
#include <ingot/profiler/chrome_trace.h>
#include <ingot/profiler/clock.h>
#include <ingot/profiler/trace_events.h>

namespace ingot::profiler {
namespace {

constexpr std::int64_t kStepsLane = 1'000'000;  // added to the thread's id
constexpr std::int64_t kSpansPid = -2, kSpansTid = 0, kSpansOrder = 0x20000000;

const char* category(const Slice& s) {
  switch (s.kind) {
    case SliceKind::op:
      return "cpu_op";
    case SliceKind::kernel:
      return "cpu_kernel";
    case SliceKind::launch:
      return s.gpu < 0 ? "cpu_kernel" : "launch";
    case SliceKind::api:
      return s.name.starts_with("cuda") ? "cuda_runtime" : "cuda_driver";
    case SliceKind::setup:
      return "setup";
    case SliceKind::compile:
      return "compile";
    case SliceKind::replay:
      return "replay";
    case SliceKind::overhead:
      return "overhead";
    case SliceKind::range:
    case SliceKind::module:
    case SliceKind::step:
      break;
  }
  return "user_annotation";
}

// As C++ spells the types in PyTorch: readers compare with these.
const char* type_name(DType t) {
  static constexpr const char* kNames[kDTypeCount] = {
      "float", "double", "c10::Half", "c10::BFloat16", "long int", "int", "unsigned char", "bool"};
  return kNames[static_cast<int>(t)];
}

class TraceWriter : public TraceEvents {
 public:
  using TraceEvents::TraceEvents;

  void run() {
    w_.open_object();
    header();
    w_.key("traceEvents").open_array();
    names();
    for (std::size_t lane = 0; lane < timeline_.lanes.size(); ++lane) {
      Slices slices(*this, lane);
      source_.read(lane, slices);
      if (source_.beside(lane) > 0) {
        Beside beside(*this, lane);
        source_.read(lane, beside);
      }
      if (info_.profile_memory) {
        Memory memory(*this, lane);
        source_.read(lane, memory);
      }
    }
    if (timeline_.step_lane < 0) steps();
    write_gpu_events(*this);
    span();
    w_.line_break();
    w_.close_array();
    w_.member("traceName", info_.process + "_" + std::to_string(info_.pid) + "_" +
                               std::to_string(timeline_.first_id));
    w_.close_object().line_break();
    file_.write(text_);
    file_.commit();
  }

 private:
  void header() {
    w_.member("schemaVersion", 1);
    write_device_properties(*this);
    auto flag = [&](const char* name, bool on) {
      if (on) w_.member(name, 1);
    };
    flag("record_shapes", info_.record_shapes);
    flag("profile_memory", info_.profile_memory);
    flag("with_stack", info_.with_stack);
    flag("with_flops", info_.with_flops);
    flag("with_modules", info_.with_modules);
    w_.key("distributedInfo").open_object();
    w_.member("backend", "none").member("rank", 0).member("world_size", 1).close_object();
    w_.key("ingot").open_object();
    w_.member("events", timeline_.events).member("dropped", timeline_.dropped);
    if (const GpuTimeline& gpu = timeline_.gpu; gpu.recorded()) {
      w_.member("gpu_dropped", gpu.count.dropped + gpu.dropped_other);
      w_.member("gpu_records_without_times", gpu.without_times);
    }
    w_.member("observer_ns_per_event", timeline_.event_cost_ns);
    w_.member("clock", clock_name()).close_object();
    w_.member("displayTimeUnit", "ms").member("baseTimeNanoseconds", timeline_.unix_ns);
    w_.line_break();
  }

  void names() {
    name("process_name", info_.pid, 0, "name", info_.process);
    name("process_labels", info_.pid, 0, "labels", "CPU");
    name("process_sort_index", info_.pid, 0, "sort_index", info_.pid);
    for (const Lane& lane : timeline_.lanes) {
      std::string shown = "thread " + std::to_string(lane.tid) + " (" + lane.name + ")";
      name("thread_name", info_.pid, lane.tid, "name", shown);
      name("thread_sort_index", info_.pid, lane.tid, "sort_index", lane.number);
    }
    name("process_name", kSpansPid, 0, "name", "Spans");
    name("process_sort_index", kSpansPid, 0, "sort_index", kSpansOrder);
    name("thread_name", kSpansPid, kSpansTid, "name", "Ingot Profiler");
  }

  // What is open around a slice, by depth.
  struct Open {
    SliceKind kind;
    std::string_view name;
    std::uint64_t id;
  };

  class Slices final : public SliceReader {
   public:
    Slices(TraceWriter& writer, std::size_t lane)
        : writer_(writer), lane_(lane), next_id_(writer.first_ids_[lane]) {}

    void slice(const Slice& s, std::span<const ArgShape> shapes) override {
      open_.resize(static_cast<std::size_t>(s.depth));
      open_.push_back({s.kind, s.name, next_id_++});
      writer_.slice(writer_.timeline_.lanes[lane_], s, shapes, open_,
                    static_cast<std::int64_t>(index_++));
    }

   private:
    TraceWriter& writer_;
    std::size_t lane_, index_ = 0;
    std::uint64_t next_id_;
    std::vector<Open> open_;
  };

  class Beside final : public SliceReader {
   public:
    Beside(TraceWriter& writer, std::size_t lane)
        : writer_(writer),
          lane_(lane),
          next_id_(writer.first_ids_[lane] + writer.source_.slices(lane)) {}
    void beside(const Slice& s) override {
      writer_.beside(writer_.timeline_.lanes[lane_], s, next_id_++);
    }

   private:
    TraceWriter& writer_;
    std::size_t lane_;
    std::uint64_t next_id_;
  };

  class Memory final : public SliceReader {
   public:
    Memory(TraceWriter& writer, std::size_t lane) : writer_(writer), lane_(lane) {}
    void memory(const MemoryChange& m, int) override {
      writer_.memory(writer_.timeline_.lanes[lane_], m);
    }

   private:
    TraceWriter& writer_;
    std::size_t lane_;
  };

  void shapes(std::span<const ArgShape> list) {
    w_.key("Input Dims").open_array();
    for (const ArgShape& shape : list) {
      w_.open_array();
      for (i64 d : shape.sizes) w_.value(d);
      w_.close_array();
    }
    w_.close_array().key("Input type").open_array();
    for (const ArgShape& shape : list) w_.value(shape.scalar ? "Scalar" : type_name(shape.dtype));
    w_.close_array();
  }

  // Of the innermost module around.
  static std::string_view module_of(const std::vector<Open>& open) {
    for (std::size_t i = open.size() - 1; i-- > 0;) {
      if (open[i].kind == SliceKind::module) return open[i].name;
    }
    return {};
  }

  // Kernel bodies, launches and API calls name the op that they are of; everything else itself.
  static std::uint64_t external_id(const std::vector<Open>& open) {
    std::size_t i = open.size() - 1;
    while (i > 0 && (open[i].kind == SliceKind::kernel || open[i].kind == SliceKind::launch ||
                     open[i].kind == SliceKind::api)) {
      const bool was_call = open[i].kind == SliceKind::api;
      --i;
      if (!was_call) break;
    }
    return open[i].id;
  }

  // `open` ends with the slice itself.
  void slice(const Lane& lane, const Slice& s, std::span<const ArgShape> operands,
             const std::vector<Open>& open, std::int64_t index) {
    TraceEvents::open("X", category(s), shown_name(s), lane.tid, s.begin);
    w_.key("dur").us(s.duration()).key("args").open_object();
    if (s.kind == SliceKind::api) {
      if (open.size() > 1) w_.member("External id", external_id(open));
      w_.member("correlation", static_cast<std::uint64_t>(s.correlation));
      w_.close_object();
      close();
      return;
    }
    w_.member("External id", external_id(open));
    if (!s.is_kernel() && s.kind != SliceKind::launch) w_.member("Record function id", 0);
    w_.member("Ev Idx", index);
    if (s.shapes >= 0) shapes(operands);
    if (s.has_cost) {
      w_.member("flops", s.cost.flops + s.cost.transcendentals).member("bytes", s.cost.bytes);
    }
    if (!s.fused_from.empty()) w_.member("Fused from", s.fused_from);
    if (info_.with_stack && s.line > 0) {
      w_.member("Call stack", to_string(Loc::here(s.file, s.line)));
    }
    if (info_.with_modules && s.kind == SliceKind::op) {
      if (std::string_view module = module_of(open); !module.empty()) {
        w_.member("Module Hierarchy", module);
      }
    }
    if (s.unfinished) w_.member("unfinished", 1);
    w_.close_object();
    close();
  }

  void beside(const Lane& lane, const Slice& s, std::uint64_t id) {
    for (const char* phase : {"b", "e"}) {
      open(phase, "user_annotation", s.name, lane.tid, *phase == 'b' ? s.begin : s.end);
      w_.member("id", std::to_string(id));
      if (s.unfinished) w_.key("args").open_object().member("unfinished", 1).close_object();
      close();
    }
  }

  void memory(const Lane& lane, const MemoryChange& m) {
    open("i", "cpu_instant_event", "[memory]", lane.tid, m.at);
    w_.member("s", "t").key("args").open_object();
    w_.member("Total Reserved", m.reserved).member("Total Allocated", m.allocated);
    w_.member("Bytes", m.bytes).member("Addr", m.address);
    w_.member("Device Id", m.device.is_cpu() ? -1 : m.device.index());
    w_.member("Device Type", static_cast<int>(m.device.type())).close_object();
    close();
  }

  // They overlap the slices of their thread, so they have a lane of their own.
  void steps() {
    if (timeline_.steps.empty()) return;
    std::int64_t tid = kStepsLane + info_.pid;
    name("thread_name", info_.pid, tid, "name", "steps");
    for (const StepTime& step : timeline_.steps) {
      open("X", "user_annotation", "ProfilerStep#" + std::to_string(step.number), tid, step.begin);
      w_.key("dur").us(step.end - step.begin);
      close();
    }
  }

  // The window as a whole. PyTorch gives it words for a process and a thread.
  void span() {
    open("X", "Trace", "Ingot Profiler (0)", kSpansPid, kSpansTid, 0);
    w_.key("dur").us(timeline_.end).key("args").open_object();
    w_.member("Op count", timeline_.events).close_object();
    close();
    for (bool is_end : {false, true}) {
      open("i", nullptr, is_end ? "Record Window End" : "Iteration Start: Ingot Profiler",
           kSpansPid, kSpansTid, is_end ? timeline_.end : 0);
      w_.member("s", "g");
      close();
    }
  }
};

}  // namespace

void write_chrome_trace(const LaneSource& source, const TraceInfo& info, const std::string& path) {
  TraceWriter(source, info, path).run();
}

}  // namespace ingot::profiler
