// Which end belongs to which begin.
// Owns: LinkedWindow. An end without a begin (an event that was already open when the window
// opened) is ignored; a begin without an end is cut where the window closed. Events of the runtime
// nest on their thread. A range of record_function need not: one that ends on another thread,
// outlives the event that it began in, or ends while what began inside it goes on, is kept beside
// the nesting, with its own begin and end. Must not know: timelines.
#pragma once

#include <cstddef>
#include <vector>

#include <ingot/profiler/recorder.h>

namespace ingot::profiler {

// A window whose begins know their ends (BeginRecord::end_ticks and fate), and whose ticks never go
// backwards along a thread: counters of two cores may differ by a few.
struct LinkedWindow {
  struct Thread {
    std::size_t events = 0;     // begun
    std::size_t modules = 0;    // of them
    std::size_t beside = 0;     // of them
    std::size_t overheads = 0;  // of the recorder's own
    std::int64_t end = 0;       // ns
  };
  RawWindow raw;
  std::vector<Thread> threads;  // as raw.threads
  std::int64_t end = 0;         // ns
};

LinkedWindow link_ends(RawWindow raw);

}  // namespace ingot::profiler
