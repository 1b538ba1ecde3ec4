// Folded stacks: one line for each distinct stack of slices, as flame graph programs read them.
#include <map>

#include <ingot/kernels/core/text.h>
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
  return valid_utf8(name);
}

// Adds up the own time of each stack of one lane: a slice's duration without those inside it.
class StackTimes final : public SliceReader {
 public:
  StackTimes(int lane, bool device, bool with_source, OutFile& file)
      : device_(device), with_source_(with_source), file_(file) {
    stack_ = "thread " + std::to_string(lane);
  }

  void slice(const Slice& s, std::span<const ArgShape>) override {
    close(static_cast<std::size_t>(s.depth));
    if (!open_.empty()) open_.back().self -= s.duration();
    open_.push_back({stack_.size(), s.duration(), s.is_kernel()});
    stack_ += ';' + frame_name(s, with_source_);
  }

  void finish() {
    close(0);
    flush();
  }

 private:
  struct Open {
    std::size_t length;  // of the stack around it
    std::int64_t self;
    bool is_kernel;
  };
  static constexpr std::size_t kMostBytes = std::size_t{8} << 20, kNodeBytes = 96;

  void close(std::size_t depth) {
    for (; open_.size() > depth; open_.pop_back()) {
      const Open& o = open_.back();
      if (o.is_kernel == device_ && o.self > 0) add(o.self);
      stack_.resize(o.length);
    }
  }

  void add(std::int64_t ns) {
    auto [found, is_new] = totals_.try_emplace(stack_);
    found->second += ns;
    if (!is_new) return;
    bytes_ += stack_.size() + kNodeBytes;
    if (bytes_ > kMostBytes) flush();
  }

  void flush() {
    for (const auto& [stack, ns] : totals_) file_.write(stack + ' ' + std::to_string(ns) + '\n');
    totals_.clear();
    bytes_ = 0;
  }

  bool device_, with_source_;
  OutFile& file_;
  std::string stack_;
  std::vector<Open> open_;
  std::map<std::string, std::int64_t> totals_;
  std::size_t bytes_ = 0;
};

}  // namespace

void write_stacks(const LaneSource& source, bool device, bool with_source,
                  const std::string& path) {
  OutFile file("export_stacks", path);
  for (std::size_t lane = 0; lane < source.outline().lanes.size(); ++lane) {
    StackTimes times(source.outline().lanes[lane].number, device, with_source, file);
    source.read(lane, times);
    times.finish();
  }
  file.commit();
}

}  // namespace ingot::profiler
