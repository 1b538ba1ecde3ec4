// One case run eagerly and compiled, where it may also end in an error.
// Owns: the comparison of outcomes. Must not know: single cases.
#pragma once

#include <limits>
#include <string>

#include "support/eager_and_compiled.h"

namespace ingot::testing_support {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Outcome {
  Tensor value;
  std::string error;
};

// What f(args...) gives or throws, after checking that each of three compiled calls does the same.
template <class F, class... A>
Outcome same_outcome(F f, const A&... args) {
  Outcome eager;
  eager.error = error_of([&] { eager.value = f(args...); });
  for (const CompileOptions& options : {verified(), interpreted()}) {
    auto compiled = compile(f, options);
    for (int call = 0; call < 3; ++call) {
      Outcome now;
      now.error = error_of([&] { now.value = compiled(args...); });
      EXPECT_EQ(eager.error, now.error) << "call " << call;
      EXPECT_TRUE(same_bits(eager.value, now.value)) << "call " << call;
    }
  }
  return eager;
}

}  // namespace ingot::testing_support
