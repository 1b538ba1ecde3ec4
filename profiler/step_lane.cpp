#include <algorithm>

#include <ingot/profiler/step_lane.h>

namespace ingot::profiler {

Lane* step_lane(Timeline& timeline, int tid) {
  if (timeline.steps.empty()) return nullptr;
  auto lane = std::find_if(timeline.lanes.begin(), timeline.lanes.end(),
                           [&](const Lane& l) { return l.tid == tid; });
  if (lane == timeline.lanes.end()) {
    Lane own;
    own.tid = tid;
    lane = timeline.lanes.insert(timeline.lanes.begin(), std::move(own));
  }
  return &*lane;
}

void StepsNest::add(const Slice& s) {
  check_until(s.begin);
  open_.resize(std::min(static_cast<std::size_t>(s.depth), open_.size()));
  open_.push_back({s.begin, s.end});
}

bool StepsNest::nest() {
  check_until(INT64_MAX);
  return nest_;
}

// The innermost slice that began before t and ends after it; nullptr: none.
const StepsNest::Open* StepsNest::innermost(std::int64_t t) {
  while (!open_.empty() && open_.back().end <= t) open_.pop_back();
  return open_.empty() ? nullptr : &open_.back();
}

void StepsNest::check_until(std::int64_t t) {
  while (nest_ && next_ < steps_.size()) {
    const StepTime& step = steps_[next_];
    if (!began_) {
      if (step.begin > t) return;
      const Open* around = innermost(step.begin);
      nest_ = around == nullptr || around->end >= step.end;
      began_ = true;
    }
    if (step.end > t) return;
    const Open* last = innermost(step.end);
    nest_ = nest_ && (last == nullptr || last->begin <= step.begin);
    began_ = false;
    ++next_;
  }
}

}  // namespace ingot::profiler
