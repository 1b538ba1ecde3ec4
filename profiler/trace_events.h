// What the units that write a trace share: the file, the beginnings of events, ids.
// Owns: TraceEvents. Must not know: what is told of a slice or of a GPU's work.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <ingot/profiler/chrome_trace.h>
#include <ingot/profiler/json.h>
#include <ingot/profiler/lane_source.h>
#include <ingot/profiler/out_file.h>
#include <ingot/profiler/timeline.h>

namespace ingot::profiler {

class TraceEvents {
 public:
  TraceEvents(const LaneSource& source, const TraceInfo& info, const std::string& path)
      : source_(source),
        timeline_(source.outline()),
        info_(info),
        file_("export_chrome_trace", path),
        w_(text_) {
    std::uint64_t id = timeline_.first_id;
    for (std::size_t lane = 0; lane < timeline_.lanes.size(); ++lane) {
      first_ids_.push_back(id);
      id += source.slices(lane) + source.beside(lane);
    }
  }

  const Timeline& timeline() const { return timeline_; }
  const TraceInfo& info() const { return info_; }
  JsonWriter& json() { return w_; }

  // {"ph": ..., [cat], name, pid, tid, ts; the caller closes. Each event has a number for pid and
  // tid: speedscope refuses a whole file for one that has not.
  void open(const char* phase, const char* cat, std::string_view name, std::int64_t pid,
            std::int64_t tid, std::int64_t ts) {
    w_.line_break();
    w_.open_object().member("ph", phase);
    if (cat != nullptr) w_.member("cat", cat);
    w_.member("name", name).member("pid", pid).member("tid", tid);
    w_.key("ts").us(ts);
  }
  void open(const char* phase, const char* cat, std::string_view name, std::int64_t tid,
            std::int64_t ts) {
    open(phase, cat, name, info_.pid, tid, ts);
  }

  void close() {
    w_.close_object();
    if (text_.size() < kFlushAt) return;
    file_.write(text_);
    text_.clear();
  }

  template <class V>
  void name(const char* what, std::int64_t pid, std::int64_t tid, const char* key, const V& value) {
    w_.line_break();
    w_.open_object().member("name", what).member("ph", "M").key("ts").us(0);
    w_.member("pid", pid).member("tid", tid).key("args").open_object().member(key, value);
    w_.close_object();
    close();
  }

  std::uint64_t own_id(const Lane& lane, std::size_t slice) const {
    return first_ids_[static_cast<std::size_t>(&lane - timeline_.lanes.data())] + slice;
  }
  // Kernel bodies, launches and API calls name the op that they are of; everything else itself.
  std::uint64_t external_id(const Lane& lane, std::size_t slice) const {
    const Slice* s = &lane.slices[slice];
    while (s->parent >= 0 &&
           (s->is_kernel() || s->kind == SliceKind::launch || s->kind == SliceKind::api)) {
      slice = static_cast<std::size_t>(s->parent);
      const bool was_call = s->kind == SliceKind::api;
      s = &lane.slices[slice];
      if (!was_call) break;
    }
    return own_id(lane, slice);
  }

 protected:
  static constexpr std::size_t kFlushAt = 64 << 10;

  const LaneSource& source_;
  const Timeline& timeline_;  // where a GPU was recorded with the slices, else without
  const TraceInfo& info_;
  OutFile file_;
  std::string text_;
  JsonWriter w_;
  std::vector<std::uint64_t> first_ids_;  // by lane
};

// The GPU's side: nothing where none was recorded.
void write_device_properties(TraceEvents& trace);
void write_gpu_events(TraceEvents& trace);

}  // namespace ingot::profiler
