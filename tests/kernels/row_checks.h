// What the tests of the elementwise rows share: calls with operands as doubles, distance in units
// in the last place, and the checks themselves, which return sentences so that a test can also show
// them a row that is wrong.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <ingot/kernels/ops/rows.h>

namespace ingot::row_checks {

template <class F, class... R>
void each(RowList<R...>, F f) {
  (f.template operator()<R>(), ...);
}
template <class F>
void each_row(F f) {
  each(rows::UnaryRows{}, f);
  each(rows::BinaryRows{}, f);
  each(rows::TernaryRows{}, f);
}
// f<Row, K>() for every operand K that Row is differentiable in.
template <class R, class F>
void each_gradient(F f) {
  [&]<int... K>(row_detail::Indices<K...>) {
    (
        [&] {
          if constexpr (is_differentiable_in<R, K>) f.template operator()<R, K>();
        }(),
        ...);
  }
  (row_detail::IndicesTo<arity_of<R>>{});
}

// Operand I of a row as S; a condition as bool.
template <class R, class S, int I>
auto operand(double x) {
  if constexpr (I == 0 && has_condition<R>) {
    return Num<bool>(x != 0);
  } else {
    return S(x);
  }
}
template <class R, class S>
double call(const double* x) {
  return [&]<int... I>(row_detail::Indices<I...>) {
    return double(R::value(operand<R, S, I>(x[I])...).v);
  }
  (row_detail::IndicesTo<arity_of<R>>{});
}
// The rule for operand K at inputs x with the result y and incoming gradient dy.
template <class R, int K, class S>
double call_gradient(const double* x, double dy) {
  const double y = call<R, S>(x);
  return [&]<int... I>(row_detail::Indices<I...>) {
    return double(row_detail::call_rule<R, K>(operand<R, S, I>(x[I])..., S(y), S(dy)).v);
  }
  (row_detail::IndicesTo<arity_of<R>>{});
}

// The exact derivative of the row's value in operand K.
template <class R, int K>
double dual_derivative(const double* x) {
  using D = Dual<Num<double>>;
  const auto lift = [&]<int I>() {
    if constexpr (I == 0 && has_condition<R>) {
      return Num<bool>(x[0] != 0);
    } else {
      return I == K ? D::variable(Num<double>(x[I])) : D::constant(Num<double>(x[I]));
    }
  };
  return [&]<int... I>(row_detail::Indices<I...>) {
    return R::value(lift.template operator()<I>()...).d.v;
  }
  (row_detail::IndicesTo<arity_of<R>>{});
}

// The distance between floats near x.
inline double unit_of(double x) {
  int exponent;
  std::frexp(x, &exponent);
  return std::ldexp(1.0, std::max(exponent - 24, -149));
}

// |got - want| in units in the last place of a float near want; huge where only one is NaN. An
// infinite result is right where want rounds to it, else it counts as 2^128.
inline double ulps(float got, double want) {
  constexpr double kFar = 1e9;
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) == std::isnan(got) ? 0 : kFar;
  if (got == float(want)) return std::isinf(got) ? 0 : std::fabs(got - want) / unit_of(want);
  if (std::isinf(want)) return kFar;
  const double finite = std::isinf(got) ? std::copysign(0x1p128, got) : double(got);
  return std::fabs(finite - want) / unit_of(want);
}

template <class R>
std::string at(const double* x) {
  std::string text = std::string(R::name) + "(";
  for (int i = 0; i < arity_of<R>; ++i) text += (i ? ", " : "") + std::to_string(x[i]);
  return text + ")";
}

// Random operands from the row's domain, exact in float.
template <class R>
void sample(std::mt19937& random, double* x) {
  [&]<int... I>(row_detail::Indices<I...>) {
    ((x[I] = float(std::uniform_real_distribution<double>(domain_of<R, I>().low,
                                                          domain_of<R, I>().high)(random))),
     ...);
  }
  (row_detail::IndicesTo<arity_of<R>>{});
  if (has_condition<R>) x[0] = random() % 2;
}

// Known points: at least two, each met by float within the row's bound and by double.
template <class R>
std::vector<std::string> golden_failures() {
  if constexpr (!requires { R::golden; }) {
    return {std::string(R::name) + ": no golden points"};
  } else {
    std::vector<std::string> out;
    if (std::size(R::golden) < 2) out.push_back(std::string(R::name) + ": too few golden points");
    for (const Golden& point : R::golden) {
      const double single = ulps(float(call<R, Num<float>>(point.x)), point.y);
      const double wide = std::fabs(call<R, Num<double>>(point.x) - point.y);
      if (single > std::max(R::ulp, 0)) out.push_back(at<R>(point.x) + ": float is off");
      if (wide > 1e-13 * std::fabs(point.y)) out.push_back(at<R>(point.x) + ": double is off");
    }
    return out;
  }
}

// Float against double over the domain.
template <class R>
std::vector<std::string> bound_failures(int samples) {
  std::vector<std::string> out;
  std::mt19937 random(1);
  double x[kMaxRowInputs], worst = R::ulp;
  for (int i = 0; i < samples; ++i) {
    sample<R>(random, x);
    const double distance = ulps(float(call<R, Num<float>>(x)), call<R, Num<double>>(x));
    if (distance > worst) {
      worst = distance;
      out.push_back(at<R>(x) + ": " + std::to_string(distance) + " ulp");
    }
  }
  return out;
}

// The gradient rule against the exact derivative of the value, in double.
template <class R, int K>
std::vector<std::string> gradient_failures(int samples) {
  std::vector<std::string> out;
  std::mt19937 random(2);
  double x[kMaxRowInputs];
  for (int i = 0; i < samples; ++i) {
    sample<R>(random, x);
    const double dy = 0.75, want = dy * dual_derivative<R, K>(x);
    const double got = call_gradient<R, K, Num<double>>(x, dy);
    if (!(std::fabs(got - want) <= 1e-10 * std::max(1.0, std::fabs(want)))) {
      out.push_back(at<R>(x) + ": gradient " + std::to_string(got) + ", derivative " +
                    std::to_string(want));
    }
  }
  return out;
}

// The derivative of Dual against central differences; samples whose one-sided differences disagree
// lie on a kink and are left out, but not more than a tenth of all.
template <class R, int K>
std::vector<std::string> dual_failures(int samples) {
  std::vector<std::string> out;
  std::mt19937 random(3);
  double x[kMaxRowInputs];
  int kinks = 0;
  for (int i = 0; i < samples; ++i) {
    sample<R>(random, x);
    const double middle = x[K], y = call<R, Num<double>>(x);
    const double h = 1e-6 * std::max(std::fabs(middle), 1e-3);
    x[K] = middle + h;
    const double above = call<R, Num<double>>(x);
    x[K] = middle - h;
    const double below = call<R, Num<double>>(x);
    x[K] = middle;
    const double right = (above - y) / h, left = (y - below) / h, slope = (right + left) / 2;
    const double noise = 1e-4 * std::max(1.0, std::fabs(slope)) + 1e-15 * std::fabs(y) / h;
    if (!(std::fabs(right - left) <= 10 * noise)) {
      ++kinks;
    } else if (!(std::fabs(dual_derivative<R, K>(x) - slope) <= noise)) {
      out.push_back(at<R>(x) + ": Dual " + std::to_string(dual_derivative<R, K>(x)) +
                    ", difference " + std::to_string(slope));
    }
  }
  if (kinks > samples / 10) out.push_back(std::string(R::name) + ": too many kinks to judge");
  return out;
}

inline std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (std::size_t i = 0; i < lines.size() && i < 5; ++i) text += lines[i] + "\n";
  return text;
}

}  // namespace ingot::row_checks
