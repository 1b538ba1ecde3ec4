#include <algorithm>

#include <ingot/kernels/core/check.h>
#include <ingot/profiler/attach_gpu.h>
#include <ingot/profiler/step_lane.h>
#include <ingot/profiler/timeline.h>

namespace ingot::profiler {
void place_steps(Timeline& timeline, int tid) {
  Lane* lane = step_lane(timeline, tid);
  if (lane == nullptr) return;
  StepsNest check(timeline.steps);
  for (const Slice& s : lane->slices) check.add(s);
  if (!check.nest()) return;
  timeline.step_lane = static_cast<int>(lane - timeline.lanes.data());
  std::vector<Slice> merged;
  merged.reserve(lane->slices.size() + timeline.steps.size());
  StepMerger merger(timeline.steps, *timeline.texts);
  const auto emit = [&](const Slice& s) { merged.push_back(s); };
  for (const Slice& s : lane->slices) merger.add(s, emit);
  merger.finish(emit);
  lane->slices = std::move(merged);
}

void nest(Lane& lane) {
  std::vector<int> open;
  std::vector<Slice>& slices = lane.slices;
  for (int i = 0; i < static_cast<int>(slices.size()); ++i) {
    Slice& s = slices[i];
    INGOT_BUG(s.depth <= static_cast<int>(open.size()), "slice {} has no parent", s.name);
    open.resize(static_cast<std::size_t>(s.depth));
    s.parent = open.empty() ? -1 : open.back();
    s.self = s.duration();
    s.memory = s.self_memory;
    s.gpu_memory = s.self_gpu_memory;
    s.device = 0;
    if (s.parent >= 0) {
      INGOT_BUG(s.begin >= slices[s.parent].begin && s.end <= slices[s.parent].end,
                "slice {} does not lie in {}", s.name, slices[s.parent].name);
      slices[s.parent].self -= s.duration();
    }
    open.push_back(i);
  }
  // Children come after their parents, so one pass from the back sums whole subtrees.
  for (auto s = slices.rbegin(); s != slices.rend(); ++s) {
    if (s->is_kernel()) s->device += s->self;
    if (s->parent < 0) continue;
    slices[s->parent].device += s->device;
    slices[s->parent].memory += s->memory;
    slices[s->parent].gpu_memory += s->gpu_memory;
  }
}

namespace {

// Beside a GPU a kernel body on the CPU is the host's time.
void keep_host_bodies(Timeline& timeline) {
  for (Lane& lane : timeline.lanes) {
    for (Slice& s : lane.slices) {
      if (s.is_kernel()) s.kind = SliceKind::launch;
    }
  }
}

}  // namespace

bool launches_unseen(const Timeline& timeline) {
  if (timeline.gpu.recorded()) return false;
  for (const Lane& lane : timeline.lanes) {
    for (const Slice& s : lane.slices) {
      if (s.kind == SliceKind::launch) return true;
    }
  }
  return false;
}

void finish(Timeline& timeline, int step_tid) {
  place_steps(timeline, step_tid);
  timeline.self_host = timeline.self_device = 0;
  if (timeline.on_gpu()) keep_host_bodies(timeline);
  for (Lane& lane : timeline.lanes) {
    nest(lane);
    for (const Slice& s : lane.slices) {
      (s.is_kernel() ? timeline.self_device : timeline.self_host) += s.self;
    }
  }
  if (timeline.on_gpu()) link_gpu(timeline);
}

namespace {

std::vector<std::pair<std::int64_t, std::int64_t>> device_spans(const Timeline& timeline) {
  std::vector<std::pair<std::int64_t, std::int64_t>> spans;
  for (const GpuWork& w : timeline.gpu.work) spans.emplace_back(w.begin, w.end);
  if (timeline.on_gpu()) return spans;
  for (const Lane& lane : timeline.lanes) {
    for (const Slice& s : lane.slices) {
      if (s.is_kernel()) spans.emplace_back(s.begin, s.end);
    }
  }
  return spans;
}

}  // namespace

BusyTime::BusyTime(const Timeline& timeline) : BusyTime(device_spans(timeline)) {}

BusyTime::BusyTime(std::vector<std::pair<std::int64_t, std::int64_t>> spans) {
  for (auto [begin, end] : spans) {
    if (end > begin) spans_.push_back({begin, end, 0});
  }
  std::sort(spans_.begin(), spans_.end(),
            [](const Span& a, const Span& b) { return a.begin < b.begin; });
  std::size_t n = 0;
  for (const Span& s : spans_) {
    if (n > 0 && s.begin <= spans_[n - 1].end) {
      spans_[n - 1].end = std::max(spans_[n - 1].end, s.end);
    } else {
      spans_[n++] = s;
    }
  }
  spans_.resize(n);
  for (std::size_t i = 1; i < n; ++i) {
    spans_[i].before = spans_[i - 1].before + spans_[i - 1].end - spans_[i - 1].begin;
  }
}

std::int64_t BusyTime::until(std::int64_t t) const {
  auto after = std::upper_bound(spans_.begin(), spans_.end(), t,
                                [](std::int64_t at, const Span& s) { return at < s.begin; });
  if (after == spans_.begin()) return 0;
  const Span& s = *std::prev(after);
  return s.before + std::min(t, s.end) - s.begin;
}

}  // namespace ingot::profiler
