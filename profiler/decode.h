// From the records of a window to its timeline.
// Owns: which ends belong to which begins. An end without a begin (an event that was already open
// when the window opened) is ignored; a begin without an end is cut where the window closed.
// Must not know: how records were written, what the timeline is for.
#pragma once

#include <ingot/profiler/recorder.h>
#include <ingot/profiler/timeline.h>

namespace ingot::profiler {

struct DecodeOptions {
  bool modules = true;  // false: module ranges are left out, what they hold moves up
};

// Lanes without parents and own times: finish() follows.
Timeline decode(const RawWindow& raw, const DecodeOptions& options);

}  // namespace ingot::profiler
