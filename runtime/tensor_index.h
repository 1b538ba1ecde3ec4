// What stands in the brackets of x[...], index tensors apart.
// Owns: Slice, None, Ellipsis, ViewIndex. Must not know: tensors.
#pragma once

#include <initializer_list>
#include <iosfwd>
#include <optional>

#include <ingot/kernels/core/dims.h>

namespace ingot {

struct None_t {};
struct Ellipsis_t {};
inline constexpr None_t None, NewAxis;
inline constexpr Ellipsis_t Ellipsis;

// start:stop:step as in Python: negative ends count from the back, missing ones mean "to the end".
// step must be positive.
struct Slice {
  std::optional<i64> start, stop;
  i64 step = 1;
  Slice() = default;
  Slice(std::optional<i64> a, std::optional<i64> b = {}, i64 s = 1) : start(a), stop(b), step(s) {}
  friend std::ostream& operator<<(std::ostream& out, const Slice& s);  // 0:2:1
};
inline const Slice All;

// One entry of x[{...}], or all of x[...]: an index (drops the axis), a Slice, NewAxis or Ellipsis,
// with the line it stands on (operators cannot have default arguments).
class ViewIndex {
 public:
  enum class Kind : std::uint8_t { index, slice, new_axis, ellipsis };
  template <Integer I>
  ViewIndex(I i, Loc l = Loc::here()) : kind(Kind::index), index(saturated(i)), loc(l) {}
  ViewIndex(Slice s, Loc l = Loc::here()) : kind(Kind::slice), slice(s), loc(l) {}
  ViewIndex(None_t, Loc l = Loc::here()) : kind(Kind::new_axis), loc(l) {}
  ViewIndex(Ellipsis_t, Loc l = Loc::here()) : kind(Kind::ellipsis), loc(l) {}
  Kind kind;
  i64 index = 0;
  Slice slice;
  Loc loc;
};
using Views = std::initializer_list<ViewIndex>;

}  // namespace ingot
