#include <algorithm>
#include <unordered_map>

#include <ingot/profiler/decode.h>
#include <ingot/runtime/observer.h>

namespace ingot::profiler {
namespace {

SliceKind slice_kind(const BeginRecord& record) {
  const RecordHead& head = record.head;
  switch (static_cast<EventKind>(head.kind)) {
    case EventKind::op:
      return SliceKind::op;
    case EventKind::kernel:
      return record.device == kNoGpu ? SliceKind::kernel : SliceKind::launch;
    case EventKind::compile:
      return SliceKind::compile;
    case EventKind::setup:
      return SliceKind::setup;
    case EventKind::replay:
      return SliceKind::replay;
    case EventKind::range:
      break;
  }
  return (head.parts & kId) != 0 ? SliceKind::range : SliceKind::module;
}

class ThreadDecoder {
 public:
  ThreadDecoder(const LinkedWindow& window, const DecodeOptions& options, SliceReader& reader)
      : clock_(window.raw.clock), options_(options), reader_(reader) {}

  void run(const RawThread& thread) {
    for_each_record(thread.bytes, [&](const RecordHead& head, const std::byte* at) {
      switch (head.type) {
        case RecordType::begin:
          begin(at);
          break;
        case RecordType::end:
        case RecordType::range_end:
          if (head.parts != 0) end();
          break;
        case RecordType::memory:
          memory(at);
          break;
        case RecordType::overhead:
          overhead(at);
          break;
      }
    });
  }

 private:
  std::int64_t time(std::uint64_t ticks) const {
    return std::max<std::int64_t>(clock_.ns(ticks), 0);
  }

  void read_shapes(const std::byte*& at, int n) {
    for (int i = 0; i < n; ++i) {
      auto head = take<ShapeHead>(at);
      ArgShape& shape = shapes_.emplace_back();
      shape.scalar = head.n_dims == kNoDims;
      shape.dtype = static_cast<DType>(head.dtype);
      for (int d = 0; !shape.scalar && d < head.n_dims; ++d) shape.sizes.push_back(take<i64>(at));
    }
  }

  void read_graph(const std::byte*& at, Slice& s) {
    const auto head = take<GraphRecord>(at);
    s.graph = head.id;
    if (head.n_parts == 0) return;
    std::vector<GraphOp> ops;
    for (std::uint64_t i = 0; i < head.n_parts; ++i) {
      const auto part = take<PartRecord>(at);
      const std::string_view fused = take_text(at);
      ops.push_back({part.name, fused, part.file, part.line, part.nodes, part.cost});
    }
    reader_.graph(head.id, std::move(ops));
  }

  void begin(const std::byte* at) {
    auto record = take<BeginRecord>(at);
    Slice s;
    s.kind = slice_kind(record);
    s.event = events_++;
    const bool nests = (record.fate & kNestsNowhere) == 0;
    if (s.kind == SliceKind::module && !options_.modules) {
      hidden_.push_back(true);
      return;
    }
    s.unfinished = (record.fate & kWasOpen) != 0;
    s.ended_elsewhere = (record.fate & kEndedElsewhere) != 0;
    s.gpu = record.device;
    s.is_product = record.is_product;
    if (record.dtype != kNoDType) s.dtype = static_cast<DType>(record.dtype);
    s.file = record.file;
    s.line = record.line;
    s.op = record.op;
    s.begin = time(record.head.ticks);
    s.end = std::max(time(record.end_ticks), s.begin);
    std::uint8_t parts = record.head.parts;
    s.has_cost = (parts & kCost) != 0;
    if (s.has_cost) s.cost = take<Cost>(at);
    if ((parts & kId) != 0) take<std::uint64_t>(at);
    shapes_.clear();
    if ((parts & kShapes) != 0) read_shapes(at, record.head.n_shapes);
    s.shapes = (parts & kShapes) != 0 ? 0 : -1;
    if ((parts & kFused) != 0) s.fused_from = take_text(at);
    s.name = (parts & kText) != 0 ? take_text(at) : std::string_view(record.name);
    if ((record.fate & kLeftItsPath) != 0) s.name = "miss";
    if ((parts & kGraph) != 0) read_graph(at, s);
    if (!nests) {
      reader_.beside(s);
      return;
    }
    s.depth = depth_++;
    hidden_.push_back(false);
    reader_.slice(s, shapes_);
  }

  void end() {
    depth_ -= hidden_.back() ? 0 : 1;
    hidden_.pop_back();
  }

  void overhead(const std::byte* at) {
    auto record = take<OverheadRecord>(at);
    Slice s;
    s.kind = SliceKind::overhead;
    s.name = "profiler: memory for events";
    s.begin = time(record.head.ticks);
    s.end = std::max(time(record.end_ticks), s.begin);
    s.depth = depth_;
    reader_.slice(s, {});
  }

  void memory(const std::byte* at) {
    auto r = take<MemoryRecord>(at);
    reader_.memory({time(r.head.ticks), r.device, r.address, r.bytes, r.allocated, r.reserved},
                   depth_);
  }

  const TickMap& clock_;
  const DecodeOptions& options_;
  SliceReader& reader_;
  std::vector<bool> hidden_;  // of each open event that nests: whether it is left out
  std::vector<ArgShape> shapes_;
  int depth_ = 0;
  std::uint32_t events_ = 0;
};

// Keeps all of it: the texts too, which are the window's.
class LaneBuilder final : public SliceReader {
 public:
  LaneBuilder(Timeline& timeline, std::unordered_map<std::string_view, std::string_view>& names,
              Lane& lane)
      : timeline_(timeline), names_(names), lane_(lane) {}

  void slice(const Slice& s, std::span<const ArgShape> shapes) override {
    open_.resize(static_cast<std::size_t>(s.depth));
    open_.push_back(lane_.slices.size());
    lane_.slices.push_back(kept(s));
    if (s.shapes < 0) return;
    lane_.slices.back().shapes = static_cast<int>(lane_.shapes.size());
    lane_.shapes.emplace_back(shapes.begin(), shapes.end());
  }

  void beside(const Slice& s) override { lane_.across.push_back(kept(s)); }

  void memory(const MemoryChange& m, int depth) override {
    lane_.memory.push_back(m);
    if (depth == 0) return;
    Slice& s = lane_.slices[open_[static_cast<std::size_t>(depth) - 1]];
    (m.device.is_cpu() ? s.self_memory : s.self_gpu_memory) += m.bytes;
  }

  void graph(std::uint64_t id, std::vector<GraphOp>&& ops) override {
    for (GraphOp& op : ops) op.fused_from = keep(op.fused_from);
    timeline_.graphs[id] = std::move(ops);
  }

 private:
  Slice kept(Slice s) {
    if (s.kind == SliceKind::range) s.name = keep(s.name);  // other names stay as they are
    s.fused_from = keep(s.fused_from);
    return s;
  }
  std::string_view keep(std::string_view text) {
    if (text.empty()) return "";
    auto found = names_.find(text);
    if (found == names_.end()) {
      std::string_view kept = timeline_.texts->emplace_back(text);
      found = names_.emplace(kept, kept).first;
    }
    return found->second;
  }

  Timeline& timeline_;
  std::unordered_map<std::string_view, std::string_view>& names_;
  Lane& lane_;
  std::vector<std::size_t> open_;
};

}  // namespace

void read_thread(const LinkedWindow& window, std::size_t thread, const DecodeOptions& options,
                 SliceReader& reader) {
  ThreadDecoder(window, options, reader).run(window.raw.threads[thread]);
}

std::size_t slices_of(const LinkedWindow::Thread& t, const DecodeOptions& options) {
  return t.events - t.beside - (options.modules ? 0 : t.modules) + t.overheads;
}

Timeline outline(const LinkedWindow& window) {
  Timeline timeline;
  timeline.texts = std::make_shared<std::deque<std::string>>();
  timeline.unix_ns = window.raw.unix_ns;
  timeline.dropped = window.raw.dropped;
  timeline.end = window.end;
  for (std::size_t i = 0; i < window.raw.threads.size(); ++i) {
    const RawThread& thread = window.raw.threads[i];
    Lane& lane = timeline.lanes.emplace_back();
    lane.number = thread.number;
    lane.tid = thread.tid;
    lane.name = thread.name;
    timeline.events += window.threads[i].events;
  }
  return timeline;
}

Timeline decode(const LinkedWindow& window, const DecodeOptions& options) {
  Timeline timeline = outline(window);
  std::unordered_map<std::string_view, std::string_view> names;
  for (std::size_t i = 0; i < timeline.lanes.size(); ++i) {
    Lane& lane = timeline.lanes[i];
    lane.slices.reserve(slices_of(window.threads[i], options));
    LaneBuilder builder(timeline, names, lane);
    read_thread(window, i, options, builder);
  }
  return timeline;
}

}  // namespace ingot::profiler
