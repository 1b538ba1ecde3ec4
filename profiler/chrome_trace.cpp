#include <ingot/profiler/aggregate.h>
#include <ingot/profiler/chrome_trace.h>
#include <ingot/profiler/clock.h>
#include <ingot/profiler/trace_events.h>

namespace ingot::profiler {
namespace {

constexpr std::int64_t kStepsLane = 1'000'000;  // added to the thread's id
constexpr std::int64_t kSpansOrder = 0x20000000;

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
  TraceWriter(const Timeline& timeline, const TraceInfo& info, const std::string& path)
      : TraceEvents(timeline, info, path) {}

  void run() {
    w_.open_object();
    header();
    w_.key("traceEvents").open_array();
    names();
    for (const Lane& lane : timeline_.lanes) {
      for (std::size_t i = 0; i < lane.slices.size(); ++i) slice(lane, i);
      std::uint64_t id = own_id(lane, lane.slices.size());
      for (const Slice& s : lane.across) across(lane, s, id++);
      for (const MemoryChange& m : lane.memory) memory(lane, m);
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
    name("process_sort_index", "Spans", 0, "sort_index", kSpansOrder);
  }

  void shapes(const Lane& lane, const Slice& s) {
    if (s.shapes < 0) return;
    const std::vector<ArgShape>& list = lane.shapes[static_cast<std::size_t>(s.shapes)];
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

  std::string_view module_of(const Lane& lane, const Slice& s) {
    for (int p = s.parent; p >= 0; p = lane.slices[static_cast<std::size_t>(p)].parent) {
      const Slice& parent = lane.slices[static_cast<std::size_t>(p)];
      if (parent.kind == SliceKind::module) return parent.name;
    }
    return {};
  }

  void slice(const Lane& lane, std::size_t index) {
    const Slice& s = lane.slices[index];
    open("X", category(s), shown_name(s), lane.tid, s.begin);
    w_.key("dur").us(s.duration()).key("args").open_object();
    if (s.kind == SliceKind::api) {
      if (s.parent >= 0) w_.member("External id", external_id(lane, index));
      w_.member("correlation", static_cast<std::uint64_t>(s.correlation));
      w_.close_object();
      close();
      return;
    }
    w_.member("External id", external_id(lane, index));
    if (!s.is_kernel() && s.kind != SliceKind::launch) w_.member("Record function id", 0);
    w_.member("Ev Idx", static_cast<std::int64_t>(index));
    shapes(lane, s);
    if (s.has_cost) {
      w_.member("flops", s.cost.flops + s.cost.transcendentals).member("bytes", s.cost.bytes);
    }
    if (!s.fused_from.empty()) w_.member("Fused from", s.fused_from);
    if (info_.with_stack && s.line > 0) {
      w_.member("Call stack", to_string(Loc::here(s.file, s.line)));
    }
    if (info_.with_modules && s.kind == SliceKind::op) {
      if (std::string_view module = module_of(lane, s); !module.empty()) {
        w_.member("Module Hierarchy", module);
      }
    }
    if (s.unfinished) w_.member("unfinished", 1);
    w_.close_object();
    close();
  }

  void across(const Lane& lane, const Slice& s, std::uint64_t id) {
    for (const char* phase : {"b", "e"}) {
      open(phase, "user_annotation", s.name, lane.tid, *phase == 'b' ? s.begin : s.end);
      w_.member("id", std::to_string(id));
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

  void span() {
    w_.line_break();
    w_.open_object().member("ph", "X").member("cat", "Trace").key("ts").us(0);
    w_.key("dur").us(timeline_.end).member("pid", "Spans").member("tid", "Ingot Profiler");
    w_.member("name", "Ingot Profiler (0)").key("args").open_object();
    w_.member("Op count", timeline_.events).close_object();
    close();
    w_.line_break();
    w_.open_object().member("name", "Iteration Start: Ingot Profiler").member("ph", "i");
    w_.member("s", "g").member("pid", "Traces").member("tid", "Trace Ingot Profiler");
    w_.key("ts").us(0);
    close();
    w_.line_break();
    w_.open_object().member("name", "Record Window End").member("ph", "i").member("s", "g");
    w_.member("pid", "").member("tid", "").key("ts").us(timeline_.end);
    close();
  }
};

}  // namespace

void write_chrome_trace(const Timeline& timeline, const TraceInfo& info, const std::string& path) {
  TraceWriter(timeline, info, path).run();
}

}  // namespace ingot::profiler
