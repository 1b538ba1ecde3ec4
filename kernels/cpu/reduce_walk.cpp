#include <ingot/kernels/cpu/reduce_walk.h>

namespace ingot {

void AxisList::push_back(const LoopAxis& axis) {
  if (axis.size == 1) return;
  bool joins = n_ > 0;
  for (int k = 0; k < kWalkOperands && joins; ++k) {
    joins = axis_[n_ - 1].stride[k] == axis.stride[k] * axis.size;
  }
  if (!joins) {
    axis_[n_++] = axis;
    return;
  }
  const i64 outer = axis_[n_ - 1].size;
  axis_[n_ - 1] = axis;
  axis_[n_ - 1].size *= outer;
}

void AxisList::erase(int at) {
  for (int i = at; i + 1 < n_; ++i) axis_[i] = axis_[i + 1];
  --n_;
}

const void* RowReader::read(const char* row, i64 begin, i64 n, char* buffer) const {
  if (in_place()) return row + begin * item_;
  if (n == 0) return buffer;
  AxisWalk walk(axes_, begin);
  const i64 step = axes_.empty() ? 1 : axes_.back().stride[0];
  const char* raw = row + walk.offset() * item_;
  // The converted elements come first in the buffer: they are what stays aligned.
  char* gathered = cast_ == nullptr ? buffer : buffer + (n * compute_item_ + 63) / 64 * 64;
  if (step != 1 || walk.run() < n) {
    for (i64 done = 0; done < n;) {
      const i64 run = walk.run() < n - done ? walk.run() : n - done;
      move_(run, gathered + done * item_, 1, row + walk.offset() * item_, step);
      done += run;
      walk.advance(run);
    }
    raw = gathered;
  }
  if (cast_ == nullptr) return raw;
  cast_(n, buffer, raw);
  return buffer;
}

}  // namespace ingot
