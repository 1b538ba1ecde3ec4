#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <ingot/profiler/decode.h>

namespace ingot::profiler {
namespace {

using ForeignEnds = std::unordered_map<std::uint64_t, std::uint64_t>;  // range id -> ticks

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

class LaneDecoder {
 public:
  LaneDecoder(const RawWindow& raw, const ForeignEnds& foreign, const DecodeOptions& options,
              std::unordered_map<std::string_view, std::string_view>& names,
              std::deque<std::string>& texts, GraphOps& graphs, Lane& lane)
      : raw_(raw),
        foreign_(foreign),
        options_(options),
        names_(names),
        texts_(texts),
        graphs_(graphs),
        lane_(lane) {}

  std::uint64_t run(const RawThread& thread) {
    for_each_record(thread.bytes, [&](const RecordHead& head, const std::byte* at) {
      switch (head.type) {
        case RecordType::begin:
          begin(at);
          break;
        case RecordType::end:
          end(time(head.ticks));
          break;
        case RecordType::memory:
          memory(at);
          break;
        case RecordType::overhead:
          overhead(at);
          break;
        case RecordType::foreign_end:
          break;
      }
    });
    last_ = std::max(last_, raw_.clock.ns(raw_.end));
    while (!open_.empty()) {
      if (open_.back() != kHidden) lane_.slices[open_.back()].unfinished = true;
      end(last_);
    }
    return events_;
  }

  std::int64_t last() const { return last_; }

 private:
  static constexpr int kHidden = -1;

  // Never backwards: counters of two cores may differ by a few ticks.
  std::int64_t time(std::uint64_t ticks) {
    last_ = std::max({last_, raw_.clock.ns(ticks), std::int64_t{0}});
    return last_;
  }

  std::string_view keep(std::string_view text) {
    auto found = names_.find(text);
    if (found == names_.end()) {
      std::string_view kept = texts_.emplace_back(text);
      found = names_.emplace(kept, kept).first;
    }
    return found->second;
  }

  int read_shapes(const std::byte*& at, int n) {
    std::vector<ArgShape>& shapes = lane_.shapes.emplace_back();
    for (int i = 0; i < n; ++i) {
      auto head = take<ShapeHead>(at);
      ArgShape& shape = shapes.emplace_back();
      shape.scalar = head.n_dims == kNoDims;
      shape.dtype = static_cast<DType>(head.dtype);
      for (int d = 0; !shape.scalar && d < head.n_dims; ++d) shape.sizes.push_back(take<i64>(at));
    }
    return static_cast<int>(lane_.shapes.size()) - 1;
  }

  void read_graph(const std::byte*& at, Slice& s) {
    const auto head = take<GraphRecord>(at);
    s.graph = head.id;
    if (head.n_parts == 0) return;
    std::vector<GraphOp>& ops = graphs_[head.id];
    ops.clear();
    for (std::uint64_t i = 0; i < head.n_parts; ++i) {
      const auto part = take<PartRecord>(at);
      const std::string_view fused = take_text(at);
      ops.push_back({part.name, fused.empty() ? fused : keep(fused), part.file, part.line,
                     part.nodes, part.cost});
    }
  }

  void begin(const std::byte* at) {
    auto record = take<BeginRecord>(at);
    Slice s;
    s.kind = slice_kind(record);
    s.event = static_cast<std::uint32_t>(events_++);
    s.gpu = record.device;
    s.is_product = record.is_product;
    if (record.dtype != kNoDType) s.dtype = static_cast<DType>(record.dtype);
    s.file = record.file;
    s.line = record.line;
    s.op = record.op;
    s.begin = time(record.head.ticks);
    if (s.kind == SliceKind::module && !options_.modules) {
      open_.push_back(kHidden);
      return;
    }
    std::uint8_t parts = record.head.parts;
    s.has_cost = (parts & kCost) != 0;
    if (s.has_cost) s.cost = take<Cost>(at);
    std::uint64_t id = (parts & kId) != 0 ? take<std::uint64_t>(at) : 0;
    if ((parts & kShapes) != 0) s.shapes = read_shapes(at, record.head.n_shapes);
    if ((parts & kFused) != 0) s.fused_from = keep(take_text(at));
    s.name = (parts & kText) != 0 ? keep(take_text(at)) : std::string_view(record.name);
    if ((parts & kGraph) != 0) read_graph(at, s);
    if (auto end = foreign_.find(id); id != 0 && end != foreign_.end()) {
      s.end = std::max(s.begin, raw_.clock.ns(end->second));
      lane_.across.push_back(s);
      return;
    }
    s.depth = depth_++;
    open_.push_back(static_cast<int>(lane_.slices.size()));
    lane_.slices.push_back(s);
  }

  void end(std::int64_t at) {
    if (open_.empty()) return;
    if (open_.back() != kHidden) {
      lane_.slices[open_.back()].end = at;
      --depth_;
    }
    open_.pop_back();
  }

  void overhead(const std::byte* at) {
    auto record = take<OverheadRecord>(at);
    Slice s;
    s.kind = SliceKind::overhead;
    s.name = "profiler: memory for events";
    s.begin = time(record.head.ticks);
    s.end = time(record.end_ticks);
    s.depth = depth_;
    lane_.slices.push_back(s);
  }

  void memory(const std::byte* at) {
    auto r = take<MemoryRecord>(at);
    lane_.memory.push_back(
        {time(r.head.ticks), r.device, r.address, r.bytes, r.allocated, r.reserved});
    auto owner = std::find_if(open_.rbegin(), open_.rend(), [](int i) { return i != kHidden; });
    if (owner == open_.rend()) return;
    Slice& s = lane_.slices[*owner];
    (r.device.is_cpu() ? s.self_memory : s.self_gpu_memory) += r.bytes;
  }

  const RawWindow& raw_;
  const ForeignEnds& foreign_;
  const DecodeOptions& options_;
  std::unordered_map<std::string_view, std::string_view>& names_;
  std::deque<std::string>& texts_;
  GraphOps& graphs_;
  Lane& lane_;
  std::vector<int> open_;
  int depth_ = 0;
  std::int64_t last_ = 0;
  std::uint64_t events_ = 0;
};

}  // namespace

Timeline decode(const RawWindow& raw, const DecodeOptions& options) {
  ForeignEnds foreign;
  for (const RawThread& thread : raw.threads) {
    for_each_record(thread.bytes, [&](const RecordHead& head, const std::byte* at) {
      if (head.type != RecordType::foreign_end) return;
      auto record = take<ForeignEndRecord>(at);
      foreign[record.id] = record.head.ticks;
    });
  }
  Timeline timeline;
  timeline.texts = std::make_shared<std::deque<std::string>>();
  timeline.unix_ns = raw.unix_ns;
  timeline.dropped = raw.dropped;
  timeline.end = raw.clock.ns(raw.end);
  std::unordered_map<std::string_view, std::string_view> names;
  for (const RawThread& thread : raw.threads) {
    Lane& lane = timeline.lanes.emplace_back();
    lane.number = thread.number;
    lane.tid = thread.tid;
    lane.name = thread.name;
    LaneDecoder decoder(raw, foreign, options, names, *timeline.texts, timeline.graphs, lane);
    timeline.events += decoder.run(thread);
    timeline.end = std::max(timeline.end, decoder.last());
  }
  return timeline;
}

}  // namespace ingot::profiler
