// Statements of random programs: pointers and accessors taken inside the function, used at once and
// after later ops; borrowed memory that is refilled inside.
#include "compiler/fuzz_run.h"

namespace ingot::fuzz {

void Run::pointer() {
  // One that was taken before, so that ops stand between.
  if (!pointers_.empty() && shape_.chance(55)) {
    const Pointer& p =
        pointers_[static_cast<std::size_t>(shape_.below(static_cast<int>(pointers_.size())))];
    if (p.n == 0) return;
    const i64 at = value_.below(static_cast<int>(p.n));
    if (shape_.chance(50)) {
      name(" read through an earlier one");
      log(static_cast<double>(p.data[at]));
    } else {
      name(" write through an earlier one");
      p.data[at] = static_cast<float>(scalar());
    }
    return;
  }
  const i64 rows = world_.now.rows, cols = world_.now.cols;
  switch (choose(4)) {
    case 0: {
      name(" from_blob");
      for (float& v : world_.staging) v = static_cast<float>(value_.real());
      const Tensor t = from_blob(world_.staging.data(), {rows, cols}, kFloat32);
      pointers_.push_back({t, world_.staging.data(), rows * cols});
      return push(t);
    }
    case 1: {
      Tensor x = any();
      if (x.dtype() != kFloat32 || x.dim() != 2 || x.numel() == 0) return;
      name(" accessor");
      auto a = x.accessor<float, 2>();
      log(static_cast<double>(a[a.size(0) - 1][0]));
      if (shape_.chance(50)) a[0][a.size(1) - 1] = static_cast<float>(scalar());
      return;
    }
    default: {
      Tensor x = any();
      if (x.dtype() != kFloat32 || x.numel() == 0 || !x.is_contiguous()) return;
      name(" data_ptr");
      float* data = x.data_ptr<float>();
      log(static_cast<double>(data[0]));
      if (shape_.chance(50)) data[x.numel() - 1] = static_cast<float>(scalar());
      // Held for the rest of the call, with its tensor or without: the storage has another owner.
      pointers_.push_back({x, data, x.numel()});
      return;
    }
  }
}

}  // namespace ingot::fuzz
