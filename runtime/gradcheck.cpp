#include <algorithm>
#include <cmath>
#include <ostream>
#include <random>

#include <ingot/runtime/arguments.h>
#include <ingot/runtime/grad_mode.h>
#include <ingot/runtime/gradcheck.h>
#include <ingot/runtime/ops.h>

namespace ingot {

namespace {

using Values = std::vector<double>;

Values random_values(std::mt19937_64& random, i64 n) {
  std::normal_distribution<double> normal;
  Values values(static_cast<std::size_t>(n));
  for (double& v : values) v = normal(random);
  return values;
}

double dot(const Values& a, const Values& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

class Gradcheck {
 public:
  Gradcheck(const GradcheckFunction& fn, const std::vector<Tensor>& inputs,
            const GradcheckOptions& options, Loc loc)
      : fn_(fn), options_(options), loc_(loc), random_(options.seed) {
    bool any_requires = false;
    for (const Tensor& t : inputs) any_requires |= given(t, "gradcheck", loc).requires_grad();
    for (const Tensor& t : inputs) {
      checked_.push_back(t.is_floating_point() && (t.requires_grad() || !any_requires));
      inputs_.push_back(t.is_floating_point() ? t.detach(loc).to(DType::f64, loc).clone(loc)
                                              : t.detach(loc));
    }
    INGOT_CHECK_AT("gradcheck", loc,
                   std::find(checked_.begin(), checked_.end(), true) != checked_.end(),
                   "no floating input to check");
  }

  GradcheckResult run() {
    const std::vector<Values> gradients = analytic();
    GradcheckResult result;
    int inputs = 0;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (!checked_[i]) continue;
      ++inputs;
      const Values at = inputs_[i].to_vector<double>(loc_);
      for (int d = 0; d < options_.directions; ++d) {
        const Values direction = random_values(random_, inputs_[i].numel());
        const double expected = numeric(i, at, direction);
        const double got = gradients[i].empty() ? 0 : dot(gradients[i], direction);
        const double scale = std::max({1.0, std::abs(expected), std::abs(got)});
        const double error = std::abs(expected - got) / scale;
        // NaN is an error too.
        if (!(error <= options_.tolerance)) {
          result.passed = false;
          result.largest_error = error;
          result.text = fmt::format(
              "gradcheck: failed for input {} ({}), direction {}: numeric derivative {:.9g}, "
              "analytic {:.9g}{}, relative error {:.3g} above {:.3g}; at {}",
              i, describe(inputs_[i].meta()), d, expected, got,
              gradients[i].empty() ? " (no gradient reached it)" : "", error, options_.tolerance,
              to_string(loc_));
          return result;
        }
        result.largest_error = std::max(result.largest_error, error);
      }
    }
    result.text = fmt::format(
        "gradcheck: passed, {} input{} along {} directions, largest relative error {:.2g}", inputs,
        inputs == 1 ? "" : "s", options_.directions, result.largest_error);
    return result;
  }

 private:
  // Gradients by input; empty where none arrived. Chooses the weights of the result.
  std::vector<Values> analytic() {
    std::vector<Tensor> leaves = inputs_;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      if (!checked_[i]) continue;
      leaves[i] = inputs_[i].clone(loc_);
      leaves[i].requires_grad_();
    }
    const Tensor y = fn_(leaves);
    INGOT_CHECK_AT("gradcheck", loc_, given(y, "gradcheck", loc_).is_floating_point(),
                   "the result is {}, not floating", describe(y.meta()));
    INGOT_CHECK_AT("gradcheck", loc_, y.requires_grad(),
                   "the result has no history: an op between the inputs and it has no gradient (a "
                   "row without grad), or the function detaches");
    weights_ = random_values(random_, y.numel());
    const double again = weighted(inputs_), first = dot(y.to_vector<double>(loc_), weights_);
    INGOT_CHECK_AT("gradcheck", loc_, again == first || (std::isnan(again) && std::isnan(first)),
                   "the function gives another result for the same inputs");
    y.backward(from_vector(weights_, y.sizes(), y.dtype(), loc_), false, loc_);
    std::vector<Values> gradients(leaves.size());
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      if (checked_[i] && leaves[i].grad().defined()) {
        gradients[i] = leaves[i].grad().to_vector<double>(loc_);
      }
    }
    return gradients;
  }

  double weighted(const std::vector<Tensor>& inputs) const {
    const NoGradGuard no_grad;
    return dot(fn_(inputs).to_vector<double>(loc_), weights_);
  }

  // Central differences of fourth order.
  double numeric(std::size_t i, const Values& at, const Values& direction) const {
    const double h = options_.eps;
    const auto moved = [&](double step) {
      Values x = at;
      for (std::size_t k = 0; k < x.size(); ++k) x[k] += step * direction[k];
      std::vector<Tensor> inputs = inputs_;
      inputs[i] = from_vector(x, inputs_[i].sizes(), DType::f64, loc_);
      return weighted(inputs);
    };
    return (8 * (moved(h) - moved(-h)) - (moved(2 * h) - moved(-2 * h))) / (12 * h);
  }

  const GradcheckFunction& fn_;
  GradcheckOptions options_;
  Loc loc_;
  std::mt19937_64 random_;
  std::vector<Tensor> inputs_;  // f64 where floating
  std::vector<bool> checked_;
  Values weights_;
};

}  // namespace

GradcheckResult run_gradcheck(const GradcheckFunction& fn, const std::vector<Tensor>& inputs,
                              const GradcheckOptions& options, Loc loc) {
  return Gradcheck(fn, inputs, options, loc).run();
}

std::ostream& operator<<(std::ostream& out, const GradcheckResult& result) {
  return out << result.text << '\n';
}

}  // namespace ingot
