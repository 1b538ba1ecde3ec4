// Drives the same function eagerly and compiled on two equal worlds, call after call.
// Header only: it belongs to the folders that link the compiler.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ingot/compiler/compile.h>
#include <ingot/runtime/dispatch.h>
#include <ingot/runtime/generator.h>

#include "support/tensor_checks.h"

namespace ingot::testing_support {

// Fusion runs through the tile interpreter: no test waits for the host compiler.
inline CompileOptions interpreted() { return {.disable = {"codegen"}}; }
inline CompileOptions verified() { return {.disable = {"codegen"}, .verify = true}; }

// make() gives a world: a callable of the call's number that returns tensors. One world runs
// eagerly, its twin compiled; results, errors and the random state must agree bit for bit.
template <class Make>
Ledger same_as_eager(Make make, int calls = 4, CompileOptions options = verified()) {
  manual_seed(17);
  auto eager = make();
  manual_seed(17);
  auto twin = make();
  auto compiled = compile([&twin](int call) { return twin(call); }, std::move(options));
  for (int call = 0; call < calls; ++call) {
    SCOPED_TRACE("call " + std::to_string(call));
    std::vector<Tensor> a, b;
    manual_seed(100 + static_cast<std::uint64_t>(call));
    std::string eager_error = error_of([&] { a = eager(call); });
    std::uint64_t drawn = generator_state(default_device()).offset;
    manual_seed(100 + static_cast<std::uint64_t>(call));
    std::string compiled_error = error_of([&] { b = compiled(call); });
    EXPECT_EQ(eager_error, compiled_error);
    EXPECT_EQ(drawn, generator_state(default_device()).offset);
    EXPECT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
      EXPECT_TRUE(same_bits(a[i], b[i])) << "result " << i;
    }
  }
  return compiled.ledger();
}

// The result of f(args...), after checking that three compiled calls give its bits: recorded,
// replayed and verified, replayed with a guard that has seen a hit.
template <class F, class... A>
Tensor in_both_modes(F f, const A&... args) {
  Tensor eager = f(args...);
  for (const CompileOptions& options :
       {verified(), CompileOptions{.disable = {"fusion"}}, interpreted()}) {
    auto compiled = compile(f, options);
    for (int call = 0; call < 3; ++call) {
      EXPECT_TRUE(same_bits(eager, compiled(args...))) << "compiled, call " << call;
    }
    // Where something else sees every op already, compiled functions run eagerly.
    if (t_interceptor != nullptr) continue;
    EXPECT_EQ(compiled.ledger().hits, 2) << compiled.ledger().table();
  }
  return eager;
}

}  // namespace ingot::testing_support
