// A window for those who go through it once, lane by lane: a timeline, or the records themselves,
// of which never more than one slice is in memory. Owns: LaneSource and its two kinds. Must not
// know: what readers make of the slices.
#pragma once

#include <ingot/profiler/decode.h>
#include <ingot/profiler/timeline.h>

namespace ingot::profiler {

class LaneSource {
 public:
  virtual ~LaneSource() = default;
  // All but slices and memory, which its lanes need not hold.
  virtual const Timeline& outline() const = 0;
  virtual std::size_t slices(std::size_t lane) const = 0;  // how many nest,
  virtual std::size_t beside(std::size_t lane) const = 0;  // and how many do not
  // Tells of the slices in the order of their begins, the steps among them.
  virtual void read(std::size_t lane, SliceReader& reader) const = 0;
};

class TimelineSource final : public LaneSource {
 public:
  explicit TimelineSource(const Timeline& timeline) : timeline_(timeline) {}
  const Timeline& outline() const override { return timeline_; }
  std::size_t slices(std::size_t lane) const override {
    return timeline_.lanes[lane].slices.size();
  }
  std::size_t beside(std::size_t lane) const override {
    return timeline_.lanes[lane].across.size();
  }
  void read(std::size_t lane, SliceReader& reader) const override;

 private:
  const Timeline& timeline_;
};

// Of a window without a GPU's records. `outline` is outline(window), with the steps placed.
class RecordSource final : public LaneSource {
 public:
  RecordSource(const LinkedWindow& window, const Timeline& outline, const DecodeOptions& options)
      : window_(window), outline_(outline), options_(options) {}
  const Timeline& outline() const override { return outline_; }
  std::size_t slices(std::size_t lane) const override;
  std::size_t beside(std::size_t lane) const override;
  void read(std::size_t lane, SliceReader& reader) const override;

 private:
  const LinkedWindow& window_;
  const Timeline& outline_;
  DecodeOptions options_;
};

// Puts steps into an outline as place_steps() puts them into a timeline.
void place_steps(Timeline& outline, const LinkedWindow& window, const DecodeOptions& options,
                 int tid);

}  // namespace ingot::profiler
