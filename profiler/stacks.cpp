// Folded stacks: one line for each distinct stack of slices, as flame graph programs read them.
#include <map>

#include <ingot/profiler/aggregate.h>
#include <ingot/profiler/chrome_trace.h>
#include <ingot/profiler/out_file.h>

namespace ingot::profiler {
namespace {

// Semicolons separate frames and line ends separate stacks.
std::string frame_name(const Slice& s, bool with_source) {
  std::string name = s.kind == SliceKind::step ? "ProfilerStep*" : shown_name(s);
  if (with_source && s.line > 0) name += " (" + to_string(Loc::here(s.file, s.line)) + ")";
  for (char& c : name) {
    if (c == ';') c = ',';
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  return name;
}

}  // namespace

void write_stacks(const Timeline& timeline, bool device, bool with_source,
                  const std::string& path) {
  std::map<std::string, std::int64_t> totals;
  for (const Lane& lane : timeline.lanes) {
    std::string stack = "thread " + std::to_string(lane.number);
    std::vector<std::size_t> lengths = {stack.size()};  // of the stack at each depth
    for (const Slice& s : lane.slices) {
      lengths.resize(static_cast<std::size_t>(s.depth) + 1);
      stack.resize(lengths.back());
      stack += ';' + frame_name(s, with_source);
      lengths.push_back(stack.size());
      if (s.is_kernel() == device && s.self > 0) totals[stack] += s.self;
    }
  }
  OutFile file("export_stacks", path);
  for (const auto& [stack, ns] : totals) file.write(stack + ' ' + std::to_string(ns) + '\n');
  file.commit();
}

}  // namespace ingot::profiler
