// Steps among the slices of the thread that made them.
// Owns: whether they nest with those, and where they come. Takes a lane's slices one by one, in the
// order of their begins. Must not know: where slices come from, where they go.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include <ingot/profiler/timeline.h>

namespace ingot::profiler {

// The lane of the thread that made the steps, with a new one where that recorded nothing; nullptr
// without steps.
Lane* step_lane(Timeline& timeline, int tid);

// Whether each step lies in a slice, holds it or is apart from it.
class StepsNest {
 public:
  explicit StepsNest(const std::vector<StepTime>& steps) : steps_(steps) {}
  void add(const Slice& s);
  bool nest();  // after the last one

 private:
  struct Open {
    std::int64_t begin, end;
  };
  void check_until(std::int64_t t);  // the edges of steps up to t, with the slices so far
  const Open* innermost(std::int64_t t);

  const std::vector<StepTime>& steps_;
  std::vector<Open> open_;
  std::size_t next_ = 0;
  bool began_ = false;  // of the next step the begin was seen
  bool nest_ = true;
};

// Gives on the slices, deeper by one within a step, and the steps.
class StepMerger {
 public:
  // The steps' names are added to `texts`.
  StepMerger(const std::vector<StepTime>& steps, std::deque<std::string>& texts)
      : steps_(steps), texts_(texts) {}

  template <class F>
  void add(Slice s, F&& emit) {
    while (next_ < steps_.size() && comes_first(steps_[next_], s)) emit_step(emit);
    if (s.end <= step_end_) ++s.depth;
    open(s);
    emit(static_cast<const Slice&>(s));
  }
  template <class F>
  void finish(F&& emit) {
    while (next_ < steps_.size()) emit_step(emit);
  }

 private:
  // A slice that begins with the step but lasts longer holds it.
  static bool comes_first(const StepTime& step, const Slice& s) {
    return s.begin > step.begin || (s.begin == step.begin && s.end <= step.end);
  }
  void open(const Slice& s) {
    open_ends_.resize(static_cast<std::size_t>(s.depth));
    open_ends_.push_back(s.end);
  }
  template <class F>
  void emit_step(F&& emit) {
    const StepTime& step = steps_[next_++];
    while (!open_ends_.empty() && open_ends_.back() < step.end) open_ends_.pop_back();
    Slice s;
    s.kind = SliceKind::step;
    s.name = texts_.emplace_back("ProfilerStep#" + std::to_string(step.number));
    s.begin = step.begin;
    s.end = step_end_ = step.end;
    s.depth = static_cast<int>(open_ends_.size());
    open(s);
    emit(static_cast<const Slice&>(s));
  }

  const std::vector<StepTime>& steps_;
  std::deque<std::string>& texts_;
  std::vector<std::int64_t> open_ends_;  // of the open slices and steps, by depth
  std::size_t next_ = 0;
  std::int64_t step_end_ = -1;
};

}  // namespace ingot::profiler
