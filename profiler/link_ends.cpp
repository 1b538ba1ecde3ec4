#include <algorithm>
#include <unordered_map>

#include <ingot/profiler/link_ends.h>
#include <ingot/runtime/observer.h>

namespace ingot::profiler {
namespace {

using RangeEnds = std::unordered_map<std::uint64_t, std::uint64_t>;  // id -> ticks

// The thread that a range began on.
std::uint64_t thread_of(std::uint64_t range) { return range & 0xFFFFFF; }

class ThreadLinker {
 public:
  ThreadLinker(RawWindow& raw, RawThread& thread, const RangeEnds& elsewhere)
      : bytes_(thread.bytes), elsewhere_(elsewhere), last_(raw.begin), number_(thread.number) {}

  LinkedWindow::Thread run(std::uint64_t window_end) {
    for (std::size_t at = 0; at < bytes_.size();) {
      auto head = load<RecordHead>(at);
      head.ticks = later(head.ticks);
      store(at, head);
      switch (head.type) {
        case RecordType::begin:
          begin(at);
          break;
        case RecordType::end:
          end(at, head);
          break;
        case RecordType::range_end:
          range_end(at, head);
          break;
        case RecordType::overhead:
          overhead(at);
          break;
        case RecordType::memory:
          break;
      }
      at += head.bytes;
    }
    const std::uint64_t last = later(window_end);
    for (std::size_t begin : scopes_) set_end(begin, last, kWasOpen);
    for (const Range& r : ranges_) {
      if (!r.ended) set_end(r.begin, last, kWasOpen);
    }
    for (auto [id, begin] : loose_) set_end(begin, last, kWasOpen | kNestsNowhere);
    return facts_;
  }

  std::uint64_t last() const { return last_; }

 private:
  struct Range {
    std::uint64_t id;
    std::size_t begin;   // its record's place
    std::size_t scopes;  // that were open
    bool ended;
  };

  template <class T>
  T load(std::size_t at) const {
    const std::byte* from = bytes_.data() + at;
    return take<T>(from);
  }
  template <class T>
  void store(std::size_t at, const T& value) {
    std::memcpy(bytes_.data() + at, static_cast<const void*>(&value), sizeof value);
  }

  std::uint64_t later(std::uint64_t ticks) {
    if (static_cast<std::int64_t>(ticks - last_) > 0) last_ = ticks;
    return last_;
  }

  void set_end(std::size_t begin, std::uint64_t ticks, int fate) {
    auto record = load<BeginRecord>(begin);
    const bool is_before = static_cast<std::int64_t>(ticks - record.head.ticks) < 0;
    record.end_ticks = is_before ? record.head.ticks : ticks;
    record.fate = static_cast<std::uint8_t>(fate);
    facts_.beside += (fate & kNestsNowhere) != 0 ? 1 : 0;
    store(begin, record);
  }

  void begin(std::size_t at) {
    const auto record = load<BeginRecord>(at);
    ++facts_.events;
    if ((record.head.parts & kId) == 0) {
      facts_.modules += static_cast<EventKind>(record.head.kind) == EventKind::range ? 1 : 0;
      scopes_.push_back(at);
      return;
    }
    std::size_t id_at = at + sizeof record;
    if ((record.head.parts & kCost) != 0) id_at += sizeof(Cost);
    const auto id = load<std::uint64_t>(id_at);
    if (auto end = elsewhere_.find(id); end != elsewhere_.end()) {
      set_end(at, end->second, kNestsNowhere | kEndedElsewhere);
    } else {
      ranges_.push_back({id, at, scopes_.size(), false});
    }
  }

  // Of the innermost scope. The ranges that began inside it and go on do not nest.
  void end(std::size_t at, RecordHead head) {
    head.parts = scopes_.empty() ? 0 : 1;
    store(at, head);
    if (scopes_.empty()) return;
    set_end(scopes_.back(), head.ticks, head.kind == kMissed ? kLeftItsPath : 0);
    for (; !ranges_.empty() && ranges_.back().scopes == scopes_.size(); ranges_.pop_back()) {
      const Range& r = ranges_.back();
      if (!r.ended) loose_.emplace(r.id, r.begin);
    }
    scopes_.pop_back();
    drop_ended();
  }

  void range_end(std::size_t at, RecordHead head) {
    const auto id = load<std::uint64_t>(at + sizeof(RecordHead));
    head.parts = 0;
    if (thread_of(id) == static_cast<std::uint64_t>(number_)) {
      // Ids grow along a thread.
      auto range = std::lower_bound(ranges_.begin(), ranges_.end(), id,
                                    [](const Range& r, std::uint64_t i) { return r.id < i; });
      if (range != ranges_.end() && range->id == id) {
        const bool nests = range + 1 == ranges_.end() && range->scopes == scopes_.size();
        head.parts = nests ? 1 : 0;
        set_end(range->begin, head.ticks, nests ? 0 : kNestsNowhere);
        range->ended = true;
        drop_ended();
      } else if (auto loose = loose_.find(id); loose != loose_.end()) {
        set_end(loose->second, head.ticks, kNestsNowhere);
        loose_.erase(loose);
      }
    }
    store(at, head);
  }

  void drop_ended() {
    while (!ranges_.empty() && ranges_.back().ended) ranges_.pop_back();
  }

  void overhead(std::size_t at) {
    auto record = load<OverheadRecord>(at);
    record.end_ticks = later(record.end_ticks);
    store(at, record);
    ++facts_.overheads;
  }

  Bytes& bytes_;
  const RangeEnds& elsewhere_;
  std::uint64_t last_;
  int number_;
  LinkedWindow::Thread facts_;
  std::vector<std::size_t> scopes_;  // open: their begins' places
  std::vector<Range> ranges_;        // open, by id; ended ones only between others
  std::unordered_map<std::uint64_t, std::size_t> loose_;  // open ones that outlived their scope
};

RangeEnds ends_elsewhere(const RawWindow& raw) {
  RangeEnds ends;
  for (const RawThread& thread : raw.threads) {
    for_each_record(thread.bytes, [&](const RecordHead& head, const std::byte* at) {
      if (head.type != RecordType::range_end) return;
      const auto record = take<RangeEndRecord>(at);
      if (thread_of(record.id) == static_cast<std::uint64_t>(thread.number)) return;
      ends[record.id] = record.head.ticks;
    });
  }
  return ends;
}

}  // namespace

LinkedWindow link_ends(RawWindow raw) {
  const RangeEnds elsewhere = ends_elsewhere(raw);
  LinkedWindow linked;
  linked.end = std::max<std::int64_t>(raw.clock.ns(raw.end), 0);
  for (RawThread& thread : raw.threads) {
    ThreadLinker linker(raw, thread, elsewhere);
    linked.threads.push_back(linker.run(raw.end));
    linked.threads.back().end = raw.clock.ns(linker.last());
    linked.end = std::max(linked.end, linked.threads.back().end);
  }
  linked.raw = std::move(raw);
  return linked;
}

}  // namespace ingot::profiler
