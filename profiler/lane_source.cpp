#include <algorithm>

#include <ingot/profiler/lane_source.h>
#include <ingot/profiler/step_lane.h>

namespace ingot::profiler {
namespace {

constexpr std::size_t kNoThread = ~std::size_t{0};

// The lane of steps alone has no thread's records.
std::size_t thread_of(const LinkedWindow& window, const Lane& lane) {
  for (std::size_t i = 0; i < window.raw.threads.size(); ++i) {
    if (window.raw.threads[i].number == lane.number) return i;
  }
  return kNoThread;
}

class StepsReader final : public SliceReader {
 public:
  explicit StepsReader(StepsNest& check) : check_(check) {}
  void slice(const Slice& s, std::span<const ArgShape>) override { check_.add(s); }

 private:
  StepsNest& check_;
};

class WithSteps final : public SliceReader {
 public:
  WithSteps(const Timeline& outline, SliceReader& reader)
      : merger_(outline.steps, names_), reader_(reader) {}
  void slice(const Slice& slice, std::span<const ArgShape> shapes) override {
    merger_.add(slice, [&](const Slice& s) {
      reader_.slice(s, s.kind == SliceKind::step ? std::span<const ArgShape>() : shapes);
      if (s.kind == SliceKind::step) names_.clear();
    });
  }
  void beside(const Slice& s) override { reader_.beside(s); }
  void memory(const MemoryChange& m, int depth) override { reader_.memory(m, depth); }
  void finish() {
    merger_.finish([&](const Slice& s) { reader_.slice(s, {}); });
  }

 private:
  std::deque<std::string> names_;
  StepMerger merger_;
  SliceReader& reader_;
};

}  // namespace

void TimelineSource::read(std::size_t index, SliceReader& reader) const {
  const Lane& lane = timeline_.lanes[index];
  for (const Slice& s : lane.slices) {
    std::span<const ArgShape> shapes;
    if (s.shapes >= 0) shapes = lane.shapes[static_cast<std::size_t>(s.shapes)];
    reader.slice(s, shapes);
  }
  for (const Slice& s : lane.across) reader.beside(s);
  for (const MemoryChange& m : lane.memory) reader.memory(m, 0);
}

std::size_t RecordSource::slices(std::size_t lane) const {
  const std::size_t thread = thread_of(window_, outline_.lanes[lane]);
  const std::size_t own = thread == kNoThread ? 0 : slices_of(window_.threads[thread], options_);
  return own + (outline_.step_lane == static_cast<int>(lane) ? outline_.steps.size() : 0);
}

std::size_t RecordSource::beside(std::size_t lane) const {
  const std::size_t thread = thread_of(window_, outline_.lanes[lane]);
  return thread == kNoThread ? 0 : window_.threads[thread].beside;
}

void RecordSource::read(std::size_t lane, SliceReader& reader) const {
  const std::size_t thread = thread_of(window_, outline_.lanes[lane]);
  if (outline_.step_lane != static_cast<int>(lane)) {
    if (thread != kNoThread) read_thread(window_, thread, options_, reader);
    return;
  }
  WithSteps with_steps(outline_, reader);
  if (thread != kNoThread) read_thread(window_, thread, options_, with_steps);
  with_steps.finish();
}

void place_steps(Timeline& outline, const LinkedWindow& window, const DecodeOptions& options,
                 int tid) {
  const Lane* lane = step_lane(outline, tid);
  if (lane == nullptr) return;
  StepsNest check(outline.steps);
  if (const std::size_t thread = thread_of(window, *lane); thread != kNoThread) {
    StepsReader reader(check);
    read_thread(window, thread, options, reader);
  }
  if (check.nest()) outline.step_lane = static_cast<int>(lane - outline.lanes.data());
}

}  // namespace ingot::profiler
