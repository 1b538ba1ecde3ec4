#include <algorithm>
#include <new>

#include <ingot/profiler/recorder.h>

namespace ingot::profiler {
namespace {

// Destroying it at exit would race with threads that still run.
union Forever {
  Recorder value;
  constexpr Forever() : value() {}
  ~Forever() {}
};
constinit Forever g_recorder;

Cost cost_of(const Event& e) {
  if (e.cost != nullptr) return *e.cost;
  return e.op->cost(*e.op, *e.args, e.out);
}

bool has_cost(const Event& e) {
  if (e.kind != EventKind::kernel) return false;
  return e.cost != nullptr ||
         (e.op != nullptr && e.op->cost != nullptr && e.args != nullptr && e.out != nullptr);
}

std::byte* write_shapes(std::byte* at, const OpArgs& args, int n) {
  for (int i = 0; i < n; ++i) {
    ShapeHead head{};
    head.n_dims = kNoDims;
    const Meta* m = args.in[i];
    if (m != nullptr) {
      head.dtype = static_cast<std::uint8_t>(m->dtype);
      head.n_dims = static_cast<std::uint8_t>(m->dim());
    }
    std::memcpy(at, &head, sizeof head);
    at += sizeof head;
    if (m == nullptr) continue;
    std::size_t bytes = sizeof(i64) * static_cast<std::size_t>(m->dim());
    std::memcpy(at, m->sizes.begin(), bytes);
    at += bytes;
  }
  return at;
}

// Events deeper than the mask has bits do not name themselves to the GPU's records.
constexpr std::uint32_t kMostLinked = 64;
// A record fits into a chunk; the ops of a graph beyond remain unnamed.
constexpr std::size_t kMostPartBytes = std::size_t{1} << 20;

bool launches(const Event& e) { return e.kind == EventKind::kernel && e.device.is_cuda(); }

std::uint8_t dtype_of(const Event& e) {
  const Meta* m = e.args != nullptr && e.args->n_in > 0 ? e.args->in[0] : nullptr;
  if (m == nullptr && e.n_out > 0) m = e.out;
  return m == nullptr ? kNoDType : static_cast<std::uint8_t>(m->dtype);
}

std::size_t parts_room(const GraphLaunch& graph) {
  std::size_t bytes = 0;
  for (int i = 0; i < graph.n_parts; ++i) {
    const char* fused = graph.parts[i].fused_from;
    bytes += sizeof(PartRecord) + text_room(fused == nullptr ? 0 : std::strlen(fused));
  }
  return bytes;
}

std::byte* write_graph(std::byte* at, const GraphLaunch& graph, bool with_parts) {
  const GraphRecord head{graph.id, static_cast<std::uint64_t>(with_parts ? graph.n_parts : 0)};
  std::memcpy(at, &head, sizeof head);
  at += sizeof head;
  for (int i = 0; with_parts && i < graph.n_parts; ++i) {
    const GraphPart& p = graph.parts[i];
    const PartRecord record{p.name, p.loc.file, p.loc.line, p.nodes, p.cost};
    std::memcpy(at, &record, sizeof record);
    at = write_text(at + sizeof record, p.fused_from == nullptr ? "" : p.fused_from);
  }
  return at;
}

std::size_t shapes_room(const OpArgs& args, int n) {
  std::size_t bytes = 0;
  for (int i = 0; i < n; ++i) {
    bytes += sizeof(ShapeHead);
    if (args.in[i] != nullptr) bytes += sizeof(i64) * static_cast<std::size_t>(args.in[i]->dim());
  }
  return bytes;
}

}  // namespace

Recorder& recorder() { return g_recorder.value; }

// The calling thread's log, ready for `window`; nullptr for a thread that is about to end.
inline ThreadLog* Recorder::log_of(std::uint64_t window) {
  ThreadLog* log = t_log;
  if (log == nullptr) [[unlikely]] {
    log = attach();
    if (log == nullptr) return nullptr;
  }
  if (log->window() != window) [[unlikely]]
    log->restart(window);
  return log;
}

// nullptr: what was to be written is dropped and counted, and so is all that comes later, whatever
// room it needs: an event that is recorded lies in all that it was called in.
inline std::byte* Recorder::reserve(ThreadLog& log, std::size_t bytes) {
  std::byte* at = log.full ? nullptr : log.room(bytes, budget_);
  if (at == nullptr) [[unlikely]] {
    log.full = true;
    log.count_drop();
  }
  return at;
}

// A range's id, or 0: not a range, or dropped.
std::uint64_t Recorder::write_begin(const Event& e, std::uint64_t window, bool is_range,
                                    std::string_view range_name) {
  ThreadLog* log = log_of(window);
  if (log == nullptr) return 0;

  RecordHead head{RecordType::begin, static_cast<std::uint8_t>(e.kind), 0, 0, 0, 0};
  std::size_t bytes = sizeof(BeginRecord);
  Cost cost;
  if ((window & kWithCosts) != 0 && has_cost(e)) {
    // Operands that the op itself would refuse have no cost.
    try {
      cost = cost_of(e);
      head.parts |= kCost;
      bytes += sizeof cost;
    } catch (...) {
    }
  }
  std::uint64_t id = 0;
  if (is_range) {
    head.parts |= kId | kText;
    bytes += sizeof id + text_room(range_name.size());
    id = ++log->ranges << 24 | static_cast<std::uint64_t>(log->number);
  }
  if ((window & kWithShapes) != 0 && e.args != nullptr) {
    head.parts |= kShapes;
    head.n_shapes = static_cast<std::uint8_t>(std::min(e.args->n_in, 255));
    bytes += shapes_room(*e.args, head.n_shapes);
  }
  std::string_view fused = e.fused_from == nullptr ? "" : e.fused_from;
  if (!fused.empty()) {
    head.parts |= kFused;
    bytes += text_room(fused.size());
  }
  bool with_parts = false;
  if (e.graph != nullptr) {
    head.parts |= kGraph;
    bytes += sizeof(GraphRecord);
    if (!log->knows_graph(e.graph->id)) {
      const std::size_t room = parts_room(*e.graph);
      with_parts = room <= kMostPartBytes;
      if (with_parts) bytes += room;
    }
  }
  std::byte* at = reserve(*log, bytes);
  if (at == nullptr) [[unlikely]] {
    if (!is_range) ++log->skipped;
    return 0;
  }

  head.bytes = static_cast<std::uint32_t>(bytes);
  const bool on_gpu = launches(e);
  auto* record = new (at) BeginRecord{head,
                                      e.name,
                                      e.loc.file,
                                      e.op,
                                      e.loc.line,
                                      on_gpu ? static_cast<std::int8_t>(e.device.index()) : kNoGpu,
                                      on_gpu ? dtype_of(e) : kNoDType,
                                      on_gpu && e.op != nullptr && e.op->kind == OpKind::product,
                                      0,
                                      0};
  at += sizeof(BeginRecord);
  if ((head.parts & kCost) != 0) {
    std::memcpy(at, &cost, sizeof cost);
    at += sizeof cost;
  }
  if ((head.parts & kId) != 0) {
    std::memcpy(at, &id, sizeof id);
    at += sizeof id;
  }
  if ((head.parts & kShapes) != 0) at = write_shapes(at, *e.args, head.n_shapes);
  if ((head.parts & kFused) != 0) at = write_text(at, fused);
  if ((head.parts & kText) != 0) at = write_text(at, range_name);
  if (e.graph != nullptr) {
    write_graph(at, *e.graph, with_parts);
    if (with_parts) log->note_graph(e.graph->id);
  }
  if ((window & kWithGpu) != 0 && !is_range && log->scopes < kMostLinked) {
    const std::uint64_t bit = std::uint64_t{1} << log->scopes;
    log->linked = on_gpu ? log->linked | bit : log->linked & ~bit;
    if (on_gpu) {
      const auto tell = launch_begins_.load(std::memory_order_relaxed);
      if (tell != nullptr) {
        tell(launch_id(window >> kFlagBits, log->number, log->events), e.device.index());
      }
    }
  }
  if (is_range) {
    log->end_room += sizeof(RangeEndRecord);
  } else {
    log->end_room += sizeof(RecordHead);
    ++log->scopes;
  }
  ++log->events;
  // Last, so that an event's duration holds as little of this as possible.
  record->head.ticks = ticks();
  log->publish(bytes);
  return id;
}

void Recorder::begin(const Event& event) {
  std::uint64_t window = window_.load(std::memory_order_acquire);
  if (window != 0) write_begin(event, window);
}

void Recorder::write_end(std::uint8_t kind) {
  std::uint64_t now = ticks();
  std::uint64_t window = window_.load(std::memory_order_acquire);
  ThreadLog* log = t_log;
  // The begin was not seen, or belongs to a window that is closed.
  if (window == 0 || log == nullptr || log->window() != window) return;
  if (log->skipped > 0) {
    --log->skipped;
    return;
  }
  if (log->scopes == 0) return;
  --log->scopes;
  if ((window & kWithGpu) != 0 && log->scopes < kMostLinked &&
      (log->linked >> log->scopes & 1) != 0) {
    if (const auto tell = launch_ends_.load(std::memory_order_relaxed); tell != nullptr) tell();
  }
  std::byte* at = log->room_for_end(sizeof(RecordHead));
  if (at == nullptr) return;
  new (at) RecordHead{RecordType::end, kind, 0, 0, sizeof(RecordHead), now};
  log->publish(sizeof(RecordHead));
}

void Recorder::memory(const MemoryEvent& e) {
  std::uint64_t window = window_.load(std::memory_order_acquire);
  if ((window & kWithMemory) == 0) return;
  ThreadLog* log = log_of(window);
  if (log == nullptr) return;
  std::byte* at = reserve(*log, sizeof(MemoryRecord));
  if (at == nullptr) return;
  RecordHead head{RecordType::memory, 0, 0, 0, sizeof(MemoryRecord), ticks()};
  new (at) MemoryRecord{head,    e.device,    reinterpret_cast<std::uint64_t>(e.address),
                        e.bytes, e.allocated, e.reserved};
  log->publish(sizeof(MemoryRecord));
}

RangeToken Recorder::begin_range(std::string_view name, Loc loc) {
  std::uint64_t window = window_.load(std::memory_order_acquire);
  if (window == 0) return {};
  Event event{.kind = EventKind::range, .name = "", .loc = loc};
  std::uint64_t id = write_begin(event, window, true, name);
  return {window, id, t_log == nullptr ? 0 : t_log->number};
}

// Ranges end by their ids, since nothing makes them nest: one may be kept beyond the scope that it
// began in, or end while what began later goes on. link_ends() sees which do.
void Recorder::end_range(const RangeToken& token) {
  const std::uint64_t now = ticks();
  std::uint64_t window = window_.load(std::memory_order_acquire);
  if (window == 0 || window != token.window || token.id == 0) return;
  ThreadLog* log = log_of(window);
  if (log == nullptr) return;
  const bool is_own = log->number == token.thread;
  if (!is_own) give_up_end(token);
  std::byte* at = is_own ? log->room_for_end(sizeof(RangeEndRecord))
                         : log->room(sizeof(RangeEndRecord), budget_);
  if (at == nullptr) return;  // it shows as unfinished
  RecordHead head{RecordType::range_end, 0, 0, 0, sizeof(RangeEndRecord), now};
  new (at) RangeEndRecord{head, token.id};
  log->publish(sizeof(RangeEndRecord));
}

}  // namespace ingot::profiler
