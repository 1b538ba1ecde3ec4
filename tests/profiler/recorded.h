// A window of the recorder, without a session.
// Owns: Recorded, and how tests look at a lane.
#pragma once

#include <stdexcept>
#include <string>

#include <ingot/profiler/decode.h>

namespace ingot::profiler {

// Holds the lease and one window.
class Recorded {
 public:
  explicit Recorded(Recording recording = {}) {
    recorder().lease(Loc::here());
    recorder().open(recording);
  }
  ~Recorded() {
    recorder().discard();
    recorder().free_own_chunks();
    recorder().give_back();
  }
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;
  Timeline close(const DecodeOptions& options = {}) {
    Timeline t = decode(link_ends(recorder().close()), options);
    finish(t, 0);
    return t;
  }
};

inline std::string outline(const Lane& lane) {
  std::string text;
  for (const Slice& s : lane.slices) {
    text += std::string(static_cast<std::size_t>(s.depth), '>') + std::string(s.name) +
            (s.unfinished ? "! " : " ");
  }
  return text;
}

inline const Lane& own_lane(const Timeline& t) {
  for (const Lane& lane : t.lanes) {
    if (t_log != nullptr && lane.number == t_log->number) return lane;
  }
  throw std::out_of_range("no lane of this thread");
}

}  // namespace ingot::profiler
