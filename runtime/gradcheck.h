// gradcheck: the gradients of a callable against differences of its values, in f64.
// Owns: the comparison and its report. Must not know: ops.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include <ingot/runtime/tensor.h>

namespace ingot {

struct GradcheckOptions {
  double eps = 1e-3;        // step; the differences are of fourth order
  double tolerance = 1e-6;  // of |numeric - analytic| / max(1, |numeric|, |analytic|)
  int directions = 4;       // random ones, for each input
  std::uint64_t seed = 0;   // of the directions; the generator of tensors is not touched
};

struct GradcheckResult {
  bool passed = true;
  double largest_error = 0;  // relative, of all inputs and directions
  std::string text;          // one line; of a failure: input, direction, both derivatives
  operator bool() const { return passed; }
};
std::ostream& operator<<(std::ostream& out, const GradcheckResult& result);

using GradcheckFunction = std::function<Tensor(const std::vector<Tensor>&)>;
GradcheckResult run_gradcheck(const GradcheckFunction& fn, const std::vector<Tensor>& inputs,
                              const GradcheckOptions& options, Loc loc);

// Checks d(w . fn(inputs)) along random directions, w random. Floating inputs are converted to f64;
// those that require a gradient are checked, all floating ones when none does. fn must give the
// same result each time and be smooth around the inputs. It runs a few dozen times; leaves that it
// reads beside its arguments receive gradients as by backward(). Error: when nothing is to be
// checked, or fn's result has no history.
template <class F>
GradcheckResult gradcheck(const F& fn, const Tensor& x, GradcheckOptions options = {},
                          Loc loc = Loc::here()) {
  return run_gradcheck([&](const std::vector<Tensor>& in) { return std::invoke(fn, in[0]); }, {x},
                       options, loc);
}
template <class F>
GradcheckResult gradcheck(const F& fn, const Tensor& x, const Tensor& y,
                          GradcheckOptions options = {}, Loc loc = Loc::here()) {
  return run_gradcheck([&](const std::vector<Tensor>& in) { return std::invoke(fn, in[0], in[1]); },
                       {x, y}, options, loc);
}
template <class F>
GradcheckResult gradcheck(const F& fn, const Tensor& x, const Tensor& y, const Tensor& z,
                          GradcheckOptions options = {}, Loc loc = Loc::here()) {
  return run_gradcheck(
      [&](const std::vector<Tensor>& in) { return std::invoke(fn, in[0], in[1], in[2]); },
      {x, y, z}, options, loc);
}
// Any number of inputs: fn takes the vector.
template <class F>
GradcheckResult gradcheck(const F& fn, const std::vector<Tensor>& inputs,
                          GradcheckOptions options = {}, Loc loc = Loc::here()) {
  return run_gradcheck([&](const std::vector<Tensor>& in) { return std::invoke(fn, in); }, inputs,
                       options, loc);
}

}  // namespace ingot
