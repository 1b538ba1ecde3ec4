// The records of a linked window as slices.
// Owns: reading a thread once from begin to end, in constant memory, and the timeline that is made
// of all threads. Must not know: how records were written, what slices are for.
#pragma once

#include <span>
#include <vector>

#include <ingot/profiler/link_ends.h>
#include <ingot/profiler/timeline.h>

namespace ingot::profiler {

struct DecodeOptions {
  bool modules = true;  // false: module ranges are left out, what they hold moves up
};

// Told of what a thread did, in order. What is passed is valid during the call, texts as long as
// the window.
class SliceReader {
 public:
  virtual ~SliceReader() = default;
  // Nests; its depth is set, and `shapes` is not negative where the operands' are told.
  virtual void slice(const Slice&, std::span<const ArgShape>) {}
  virtual void beside(const Slice&) {}              // nests nowhere
  virtual void memory(const MemoryChange&, int) {}  // and the depth: of how many slices inside
  virtual void graph(std::uint64_t, std::vector<GraphOp>&&) {}
};
void read_thread(const LinkedWindow& window, std::size_t thread, const DecodeOptions& options,
                 SliceReader& reader);

// How many slices read_thread() tells, beside ones apart.
std::size_t slices_of(const LinkedWindow::Thread& thread, const DecodeOptions& options);

// The window without slices: lanes as the threads, the end, the counts.
Timeline outline(const LinkedWindow& window);
// Lanes without parents and own times: finish() follows.
Timeline decode(const LinkedWindow& window, const DecodeOptions& options);

}  // namespace ingot::profiler
